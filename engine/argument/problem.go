package argument

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/engine/value"
)

const (
	maxProblems = 10 // that one error lists; the rest is counted
	maxShown    = 60 // characters of a sent value that a message repeats
)

// Problem is one thing that is wrong with arguments. Pointer is a JSON
// pointer (RFC 6901), "" for the arguments as a whole.
type Problem struct {
	Pointer string `json:"pointer"`
	Message string `json:"message"`
}

// Error lists what is wrong with the arguments of one call, at most ten
// problems. More counts those beyond. It is for the caller to read: it repeats
// sent values only in part and knows nothing of the host.
type Error struct {
	Problems []Problem
	More     int
}

func (e *Error) Error() string {
	lines := make([]string, 0, len(e.Problems)+1)
	for _, p := range e.Problems {
		if name := strings.TrimPrefix(p.Pointer, "/"); name != "" {
			lines = append(lines, cut(name)+": "+p.Message)
		} else {
			lines = append(lines, p.Message)
		}
	}
	if e.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", e.More))
	}
	return strings.Join(lines, "; ")
}

// step is one key or, with index >= 0, one list index.
type step struct {
	key   string
	index int
}

// trail is the way from the arguments as a whole to the value at hand.
type trail []step

func (t trail) pointer() string {
	var b strings.Builder
	for _, s := range t {
		b.WriteByte('/')
		if s.index >= 0 {
			b.WriteString(strconv.Itoa(s.index))
		} else {
			b.WriteString(escapePointer(s.key))
		}
	}
	return b.String()
}

func escapePointer(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

// show prints a sent value for a message, cut to a readable length.
func show(v any) string {
	if s, ok := v.(string); ok {
		return strconv.Quote(cutRunes(s))
	}
	return cut(string(value.JSON(v)))
}

// cut shortens text and escapes what does not print.
func cut(text string) string {
	quoted := strconv.Quote(cutRunes(text))
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

func cutRunes(text string) string {
	n := 0
	for i := range text {
		if n++; n > maxShown {
			return text[:i] + "…"
		}
	}
	return text
}
