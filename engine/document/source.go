package document

import (
	"strconv"
	"strings"

	"github.com/writ-dev/writ/engine/diag"
)

// Span is where one value of a document stands, and where its key does. The
// key of a list item is the item itself.
type Span struct {
	Key, Value diag.Position
}

// Source remembers where every value of one document was written, so that a
// check made rooms later can still point at file, line and column. The nil
// Source knows nothing and answers zero positions.
type Source struct {
	start diag.Position
	maker string
	spans map[string]Span
}

// NewSource makes a Source. Spans are keyed by JSON pointer (RFC 6901), such
// as "/args/repo/under/0". Maker names the CUE file and line that generated
// the document, or is empty for a document that stands in a file as written.
func NewSource(start diag.Position, maker string, spans map[string]Span) *Source {
	return &Source{start: start, maker: maker, spans: spans}
}

// Start is where the document begins.
func (s *Source) Start() diag.Position {
	if s == nil {
		return diag.Position{}
	}
	return s.start
}

// Maker says which CUE position generated the document, or "".
func (s *Source) Maker() string {
	if s == nil {
		return ""
	}
	return s.maker
}

// At returns the position of the value at a path of keys (string) and list
// indexes (int), or of its nearest ancestor that was written.
func (s *Source) At(path ...any) diag.Position { return s.find(path).Value }

// Key returns the position of the key at a path, or the value position of the
// nearest ancestor that was written.
func (s *Source) Key(path ...any) diag.Position {
	if s == nil {
		return diag.Position{}
	}
	if span, ok := s.spans[Pointer(path...)]; ok {
		return span.Key
	}
	return s.find(path).Value
}

func (s *Source) find(path []any) Span {
	if s == nil {
		return Span{}
	}
	for n := len(path); n > 0; n-- {
		if span, ok := s.spans[Pointer(path[:n]...)]; ok {
			return span
		}
	}
	return Span{Key: s.start, Value: s.start}
}

// Pointer renders a path as a JSON pointer.
func Pointer(path ...any) string {
	var b strings.Builder
	for _, step := range path {
		b.WriteByte('/')
		switch step := step.(type) {
		case int:
			b.WriteString(strconv.Itoa(step))
		case string:
			b.WriteString(strings.ReplaceAll(strings.ReplaceAll(step, "~", "~0"), "/", "~1"))
		}
	}
	return b.String()
}
