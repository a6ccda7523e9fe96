package command

import (
	"bytes"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/executor"
)

// capture keeps the first and the last half of a stream in bounded memory,
// and counts the rest.
type capture struct {
	head, tail []byte
	headMax    int
	tailMax    int
	next       int // where the full tail is overwritten next
	total      int64
}

func newCapture(limit int64) *capture {
	if limit <= 0 {
		limit = DefaultCapture
	}
	head := int(limit / 2)
	return &capture{headMax: head, tailMax: int(limit) - head}
}

func (c *capture) write(piece []byte) {
	c.total += int64(len(piece))
	if room := c.headMax - len(c.head); room > 0 {
		n := min(room, len(piece))
		c.head = append(c.head, piece[:n]...)
		piece = piece[n:]
	}
	if skip := len(piece) - c.tailMax; skip > 0 {
		piece = piece[skip:]
	}
	if room := c.tailMax - len(c.tail); room > 0 {
		n := min(room, len(piece))
		c.tail = append(c.tail, piece[:n]...)
		piece = piece[n:]
	}
	for len(piece) > 0 {
		n := copy(c.tail[c.next:], piece)
		piece = piece[n:]
		c.next = (c.next + n) % c.tailMax
	}
}

// result puts the tail in order. All of it is in Head when nothing was dropped.
func (c *capture) result() call.Capture {
	tail := c.tail
	if c.next > 0 {
		tail = append(append(make([]byte, 0, len(c.tail)), c.tail[c.next:]...), c.tail[:c.next]...)
	}
	if c.total == int64(len(c.head)+len(tail)) {
		return call.Capture{Head: append(c.head, tail...), Total: c.total}
	}
	return call.Capture{Head: c.head, Tail: tail, Total: c.total}
}

// sink takes one stream: it redacts, counts lines and captures, in this order.
type sink struct {
	to       *capture
	redactor executor.Stream
	lines    func(int64) // hears how many line ends there were so far; may be nil
	count    int64
}

func (s *sink) write(piece []byte) {
	if s.redactor != nil {
		piece = s.redactor.Write(piece)
	}
	s.keep(piece)
}

func (s *sink) end() {
	if s.redactor != nil {
		s.keep(s.redactor.Flush())
	}
}

func (s *sink) keep(piece []byte) {
	s.to.write(piece)
	if s.lines == nil {
		return
	}
	if n := bytes.Count(piece, []byte{'\n'}); n > 0 {
		s.count += int64(n)
		s.lines(s.count)
	}
}
