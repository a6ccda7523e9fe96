package argument

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

const maxDepth = 64 // of nested lists and objects in one call or schema

// reader reads JSON strictly: what any two parsers could understand
// differently is an error. Invalid UTF-8, lone surrogates, NUL characters,
// keys that are equal after unescaping, trailing data, deep nesting and
// numbers that cannot be held exactly are refused. Reading stops at the first
// fault.
type reader struct {
	text  []byte
	at    int
	trail trail
	// ordered makes *written of objects instead of maps.
	ordered bool
}

// read reads one whole document into canonical values.
func (r *reader) read() (any, error) {
	v, err := r.value()
	if err != nil {
		return nil, err
	}
	if r.space(); r.at < len(r.text) {
		return nil, r.syntax("something follows the end of the JSON text")
	}
	return v, nil
}

func (r *reader) space() {
	for r.at < len(r.text) {
		switch r.text[r.at] {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return
		}
	}
}

// peek skips white space and returns the next byte, or 0 at the end.
func (r *reader) peek() byte {
	r.space()
	if r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

func (r *reader) value() (any, error) {
	switch c := r.peek(); {
	case c == '{':
		return r.nested(r.object)
	case c == '[':
		return r.nested(r.list)
	case c == '"':
		return r.string()
	case c == '-' || c >= '0' && c <= '9':
		return r.number()
	case c == 't' && r.word("true"):
		return true, nil
	case c == 'f' && r.word("false"):
		return false, nil
	case c == 'n' && r.word("null"):
		return nil, nil
	}
	if r.at >= len(r.text) {
		return nil, r.syntax("the JSON text ends too early")
	}
	return nil, r.syntax("a JSON value is expected")
}

func (r *reader) word(word string) bool {
	if !strings.HasPrefix(string(r.text[r.at:min(len(r.text), r.at+len(word))]), word) {
		return false
	}
	r.at += len(word)
	return true
}

func (r *reader) nested(read func() (any, error)) (any, error) {
	if len(r.trail) >= maxDepth {
		return nil, r.syntax("lists and objects are nested more than %d deep", maxDepth)
	}
	r.at++
	return read()
}

func (r *reader) list() (any, error) {
	list := []any{}
	if r.peek() == ']' {
		r.at++
		return list, nil
	}
	for {
		r.trail = append(r.trail, step{index: len(list)})
		v, err := r.value()
		if err != nil {
			return nil, err
		}
		r.trail = r.trail[:len(r.trail)-1]
		list = append(list, v)
		switch r.peek() {
		case ',':
			r.at++
		case ']':
			r.at++
			return list, nil
		default:
			return nil, r.syntax("a comma or ] is expected")
		}
	}
}

func (r *reader) object() (any, error) {
	plain, kept := map[string]any(nil), (*written)(nil)
	if r.ordered {
		kept = newWritten()
		plain = kept.values
	} else {
		plain = map[string]any{}
	}
	for first := true; ; first = false {
		if first && r.peek() == '}' {
			break
		}
		key, err := r.key()
		if err != nil {
			return nil, err
		}
		r.trail = append(r.trail, step{key: key, index: -1})
		if _, twice := plain[key]; twice {
			return nil, r.fault("is given twice")
		}
		v, err := r.value()
		if err != nil {
			return nil, err
		}
		r.trail = r.trail[:len(r.trail)-1]
		if plain[key] = v; kept != nil {
			kept.keys = append(kept.keys, key)
		}
		if c := r.peek(); c == '}' {
			break
		} else if c != ',' {
			return nil, r.syntax("a comma or } is expected")
		}
		r.at++
	}
	r.at++
	if kept != nil {
		return kept, nil
	}
	return plain, nil
}

func (r *reader) key() (string, error) {
	if r.peek() != '"' {
		return "", r.syntax("a key in double quotes is expected")
	}
	key, err := r.string()
	if err != nil {
		return "", err
	}
	if r.peek() != ':' {
		return "", r.syntax("a colon is expected")
	}
	r.at++
	return key, nil
}

// string reads a string without escapes in one copy, any other by unescape.
func (r *reader) string() (string, error) {
	start := r.at + 1
	for i := start; i < len(r.text); i++ {
		switch c := r.text[i]; {
		case c == '"':
			s := r.text[start:i]
			if !utf8.Valid(s) {
				return "", r.fault("is not valid UTF-8")
			}
			r.at = i + 1
			return string(s), nil
		case c == '\\':
			return r.unescape(start, i)
		case c < 0x20:
			r.at = i
			return "", r.syntax("a control character must be escaped in a string")
		}
	}
	r.at = len(r.text)
	return "", r.syntax("a string does not end")
}

func (r *reader) unescape(start, i int) (string, error) {
	s := append([]byte(nil), r.text[start:i]...)
	for r.at = i; r.at < len(r.text); {
		c := r.text[r.at]
		switch {
		case c == '"':
			r.at++
			if !utf8.Valid(s) {
				return "", r.fault("is not valid UTF-8")
			}
			return string(s), nil
		case c < 0x20:
			return "", r.syntax("a control character must be escaped in a string")
		case c != '\\':
			s = append(s, c)
			r.at++
			continue
		}
		escaped, err := r.escape()
		if err != nil {
			return "", err
		}
		s = utf8.AppendRune(s, escaped)
	}
	return "", r.syntax("a string does not end")
}

// escape reads one escape sequence. A surrogate is read with its other half.
func (r *reader) escape() (rune, error) {
	if r.at+1 >= len(r.text) {
		return 0, r.syntax("a string does not end")
	}
	c := r.text[r.at+1]
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		r.at += 2
		return rune("\"\\/\b\f\n\r\t"[i]), nil
	}
	high, ok := r.hex(r.at)
	switch {
	case !ok:
		return 0, r.syntax("the escape sequence is not one of JSON's")
	case high == 0:
		return 0, r.fault("holds a NUL character")
	case high < 0xd800 || high > 0xdfff:
		r.at += 6
		return high, nil
	}
	low, ok := r.hex(r.at + 6)
	if !ok || high > 0xdbff || low < 0xdc00 || low > 0xdfff {
		return 0, r.fault("holds half of a surrogate pair")
	}
	r.at += 12
	return (high-0xd800)<<10 + (low - 0xdc00) + 0x10000, nil
}

// hex reads \uXXXX at a place.
func (r *reader) hex(at int) (rune, bool) {
	if at+6 > len(r.text) || r.text[at] != '\\' || r.text[at+1] != 'u' {
		return 0, false
	}
	var n rune
	for _, c := range r.text[at+2 : at+6] {
		switch {
		case c >= '0' && c <= '9':
			n = n<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			n = n<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			n = n<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return n, true
}

func (r *reader) number() (any, error) {
	length := numberLength(r.text[r.at:])
	if length == 0 {
		return nil, r.syntax("a number is expected")
	}
	v, err := parseNumber(r.text[r.at : r.at+length])
	if err != nil {
		return nil, r.fault("%w", err)
	}
	r.at += length
	return v, nil
}

// syntax is a fault of the text as a whole, fault one of the value at hand.
func (r *reader) syntax(format string, args ...any) error {
	return &Error{Problems: []Problem{{Message: fmt.Sprintf("invalid JSON at byte %d: %s", r.at, fmt.Sprintf(format, args...))}}}
}

func (r *reader) fault(format string, args ...any) error {
	return &Error{Problems: []Problem{{Pointer: r.trail.pointer(), Message: fmt.Errorf(format, args...).Error()}}}
}

var errNotObject = errors.New("arguments must be one JSON object")
