package output

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/writ-dev/writ/engine/call"
)

// text is cleaned output: all of it in head, or head and tail with a number
// of bytes between them that are not there.
type text struct {
	head, tail string
	dropped    int64
}

// plain makes a text that is whole.
func plain(s string) text { return text{head: clean(s)} }

// newText cleans captured output. A character that the capture cut in two
// counts as left out.
func newText(c call.Capture) text {
	if !c.Truncated() {
		return text{head: clean(string(c.Head) + string(c.Tail))}
	}
	head, tail := c.Head, c.Tail
	for n := 1; n <= min(utf8.UTFMax, len(head)); n++ {
		if last := head[len(head)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				head = head[:len(head)-n]
			}
			break
		}
	}
	for n := 0; n < utf8.UTFMax && len(tail) > 0 && !utf8.RuneStart(tail[0]); n++ {
		tail = tail[1:]
	}
	return text{clean(string(head)), clean(string(tail)), c.Total - int64(len(head)+len(tail))}
}

func (t text) empty() bool { return t.head == "" && t.tail == "" && t.dropped == 0 }

// bound returns at most limit bytes: the beginning and the end, whole
// characters and, where a line break is near, whole lines, with a line between
// them that says how much is not there.
func (t text) bound(limit int) (out string, cut bool) {
	if t.dropped == 0 && len(t.head)+len(t.tail) <= limit {
		return t.head + t.tail, false
	}
	const reserve = len("\n[…  bytes left out …]\n") + 19
	room := max(0, limit-reserve)
	head, tail := t.head, t.tail
	if t.dropped == 0 {
		head, tail = t.head+t.tail, t.head+t.tail
	}
	head = firstBytes(head, max(room-room/2, room-len(tail)))
	if t.dropped == 0 {
		tail = tail[len(head):]
	}
	tail = lastBytes(tail, room-len(head))
	left := t.dropped + int64(len(t.head)+len(t.tail)-len(head)-len(tail))
	if head != "" && !strings.HasSuffix(head, "\n") {
		head += "\n"
	}
	return head + "[… " + strconv.FormatInt(left, 10) + " bytes left out …]\n" + tail, true
}

// near is how far from the cut a line break may be to be preferred.
const near = 256

func firstBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	if line := strings.LastIndexByte(s[:n], '\n'); line >= 0 && n-line <= near {
		return s[:line+1]
	}
	return s[:n]
}

func lastBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	at := len(s) - n
	for at < len(s) && !utf8.RuneStart(s[at]) {
		at++
	}
	if line := strings.IndexByte(s[at:], '\n'); line >= 0 && line < near && at+line+1 < len(s) {
		return s[at+line+1:]
	}
	return s[at:]
}

// clean makes text safe to print: invalid UTF-8 is replaced, terminal
// sequences and control characters other than line feed and tab are removed,
// and a carriage return ends a line.
func clean(s string) string {
	i := 0
	for i < len(s) && (s[i] >= 0x20 && s[i] < 0x7f || s[i] == '\n' || s[i] == '\t') {
		i++
	}
	if i == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	b.WriteString(s[:i])
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\r':
			if i+1 >= len(s) || s[i+1] != '\n' {
				b.WriteByte('\n')
			}
		case r == 0x1b:
			size = sequence(s[i:])
		case r == 0x9b: // the one-character form of ESC [
			size += parameters(s[i+size:])
		case r < 0x20 && r != '\n' && r != '\t', r >= 0x7f && r < 0xa0:
		default:
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

// sequence is the length of the terminal sequence at the start of s, which
// begins with ESC.
func sequence(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	switch c := s[1]; {
	case c == '[':
		return 2 + parameters(s[2:])
	case c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_':
		// a string: up to BEL or ESC \, within the line so that a lost end
		// does not swallow the rest
		for i := 2; i < len(s) && s[i] != '\n'; i++ {
			if s[i] == 0x07 {
				return i + 1
			}
			if s[i] == 0x1b {
				return i + min(2, len(s)-i)
			}
		}
		return 2
	case c >= 0x20 && c <= 0x2f && len(s) > 2 && s[2] >= 0x30 && s[2] < 0x7f:
		return 3
	case c >= 0x30 && c < 0x7f:
		return 2
	}
	return 1
}

func parameters(s string) int {
	i := 0
	for i < len(s) && s[i] >= 0x20 && s[i] <= 0x3f {
		i++
	}
	if i < len(s) && s[i] >= 0x40 && s[i] < 0x7f {
		i++
	}
	return i
}
