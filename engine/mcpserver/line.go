package mcpserver

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// pending counts the requests of one connection that are not answered yet.
type pending struct {
	calls *calls
	mu    sync.Mutex
	open  int
	idle  chan struct{} // of the last wait, or nil
}

func newPending(c *calls) *pending { return &pending{calls: c} }

func (p *pending) add(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n = max(n, -p.open)
	p.open += n
	p.calls.add(0, n)
	if p.open == 0 && p.idle != nil {
		close(p.idle)
		p.idle = nil
	}
}

// drop forgets what will not be answered any more.
func (p *pending) drop() { p.add(-1 << 30) }

// settled is closed when everything is answered.
func (p *pending) settled() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	done := make(chan struct{})
	if p.open == 0 {
		close(done)
		return done
	}
	p.idle = done
	return done
}

// lineWriter lets the session and the line reader answer on one stream. Each
// Write is one message.
type lineWriter struct {
	mu      sync.Mutex
	w       io.Writer
	pending *pending
}

// Write writes a message of the session.
func (l *lineWriter) Write(message []byte) (int, error) {
	if answers(message) {
		defer l.pending.add(-1)
	}
	return len(message), l.put(message)
}

func (l *lineWriter) put(message []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.w.Write(message)
	return err
}

// Close leaves the stream open: it belongs to who gave it.
func (l *lineWriter) Close() error { return nil }

// answers reports whether a message of ours is a response.
func answers(message []byte) bool {
	if message[0] != '{' {
		return false // a batch, whose requests were not counted
	}
	for key := range members(message) {
		switch string(key) {
		case "method":
			return false
		case "result", "error":
			return true
		}
	}
	return false
}

// lineReader passes on the lines that hold one good message each, and answers
// the others itself: one bad or huge line does not end the session.
type lineReader struct {
	in      *bufio.Reader
	refuse  func(line []byte) error
	limit   int
	pending *pending
	grace   time.Duration
	close   func()
	closed  chan struct{}
	rest    []byte // of the line that is being passed on
}

// Read passes on one line at most.
func (l *lineReader) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, whole, err := l.line()
		if errors.Is(err, io.EOF) {
			l.linger()
		}
		if err != nil {
			return 0, err
		}
		if l.rest, err = l.check(line, whole); err != nil {
			return 0, err
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// linger holds back the end of the input: the SDK drops the answers to what is
// still running then.
func (l *lineReader) linger() {
	timer := time.NewTimer(l.grace)
	defer timer.Stop()
	select {
	case <-l.pending.settled():
	case <-l.closed:
	case <-timer.C:
	}
}

// check returns the line when it may be passed on.
func (l *lineReader) check(line []byte, whole bool) ([]byte, error) {
	var f *fault
	var message envelope
	switch {
	case !whole:
		f = &fault{code: jsonrpc.CodeInvalidRequest, text: fmt.Sprintf("a message has at most %d bytes", l.limit)}
	case len(bytes.TrimSpace(line)) == 0:
		return nil, nil
	default:
		message, f = checkMessage(line)
	}
	if f != nil {
		return nil, l.refuse(append(f.response(), '\n'))
	}
	if message.id != nil && message.method != "" && message.method != listen {
		l.pending.add(1)
	}
	return append(line, '\n'), nil
}

// line reads to the end of a line but keeps no more than the limit.
func (l *lineReader) line() (line []byte, whole bool, err error) {
	whole = true
	for {
		piece, err := l.in.ReadSlice('\n')
		// Two more for the end of the line itself.
		if whole && len(piece) <= l.limit+2-len(line) {
			line = append(line, piece...)
		} else {
			line, whole = nil, false
		}
		switch {
		case err == nil, errors.Is(err, io.EOF) && (len(line) > 0 || !whole): // the last line needs no end
			line = bytes.TrimRight(line, "\r\n")
			return line, whole && len(line) <= l.limit, nil
		case errors.Is(err, bufio.ErrBufferFull):
		default:
			return nil, false, err
		}
	}
}

// Close ends the session's input.
func (l *lineReader) Close() error {
	l.close()
	return nil
}
