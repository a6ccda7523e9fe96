package command

import (
	"io"

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

// drain reads a stream to its end, redacts it and captures it. Lines, when
// not nil, hears how many line ends there were so far.
func drain(from io.Reader, to *capture, redactor executor.Stream, lines func(int64)) {
	buffer := make([]byte, 16<<10)
	var count int64
	keep := func(piece []byte) {
		to.write(piece)
		if lines == nil {
			return
		}
		before := count
		for _, c := range piece {
			if c == '\n' {
				count++
			}
		}
		if count != before {
			lines(count)
		}
	}
	for {
		n, err := from.Read(buffer)
		if n > 0 && redactor != nil {
			keep(redactor.Write(buffer[:n]))
		} else if n > 0 {
			keep(buffer[:n])
		}
		if err != nil {
			break
		}
	}
	if redactor != nil {
		keep(redactor.Flush())
	}
}
