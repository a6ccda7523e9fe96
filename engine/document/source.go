package document

import (
	"maps"
	"slices"
	"sort"
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
	start    diag.Position
	maker    string
	pointers string  // of all places, one after the other
	places   []place // by pointer
	// elsewhere holds the positions that are in another file than the start,
	// as CUE makes them: the key of the nth place at 2n, its value at 2n+1.
	elsewhere map[int]string
}

// place is a Span in a tenth of its room: a catalog keeps the places of every
// value of every document, and needs them when something is wrong.
type place struct {
	end        uint32 // of its pointer in pointers
	key, value spot
}

type spot struct{ line, column uint32 }

// NewSource makes a Source. Spans are keyed by JSON pointer (RFC 6901), such
// as "/args/repo/under/0". Maker names the CUE file and line that generated
// the document, or is empty for a document that stands in a file as written.
func NewSource(start diag.Position, maker string, spans map[string]Span) *Source {
	s := &Source{start: start, maker: maker, places: make([]place, 0, len(spans))}
	var pointers strings.Builder
	size := 0
	for pointer := range spans {
		size += len(pointer)
	}
	pointers.Grow(size)
	for _, pointer := range slices.Sorted(maps.Keys(spans)) {
		pointers.WriteString(pointer)
		span := spans[pointer]
		n := 2 * len(s.places)
		s.places = append(s.places, place{uint32(pointers.Len()), s.spot(n, span.Key), s.spot(n+1, span.Value)})
	}
	s.pointers = pointers.String()
	return s
}

func (s *Source) spot(n int, at diag.Position) spot {
	if at.File != s.start.File {
		if s.elsewhere == nil {
			s.elsewhere = map[int]string{}
		}
		s.elsewhere[n] = at.File
	}
	return spot{uint32(at.Line), uint32(at.Column)}
}

func (s *Source) position(n int, at spot) diag.Position {
	file, ok := s.elsewhere[n]
	if !ok {
		file = s.start.File
	}
	return diag.Position{File: file, Line: int(at.line), Column: int(at.column)}
}

// pointer is the pointer of the nth place.
func (s *Source) pointer(n int) string {
	begin := uint32(0)
	if n > 0 {
		begin = s.places[n-1].end
	}
	return s.pointers[begin:s.places[n].end]
}

func (s *Source) lookup(pointer string) (Span, bool) {
	n := sort.Search(len(s.places), func(n int) bool { return s.pointer(n) >= pointer })
	if n == len(s.places) || s.pointer(n) != pointer {
		return Span{}, false
	}
	return Span{Key: s.position(2*n, s.places[n].key), Value: s.position(2*n+1, s.places[n].value)}, true
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
	if span, ok := s.lookup(Pointer(path...)); ok {
		return span.Key
	}
	return s.find(path).Value
}

func (s *Source) find(path []any) Span {
	if s == nil {
		return Span{}
	}
	for n := len(path); n > 0; n-- {
		if span, ok := s.lookup(Pointer(path[:n]...)); ok {
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
