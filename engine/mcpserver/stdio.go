package mcpserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/writ-dev/writ/engine/call"
)

// ServeStdio speaks MCP over a pair of streams, one message a line, until the
// input or the context ends; calls that still run are then cancelled and have
// settled when it returns. Nothing but protocol is written to out.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer, principal call.Principal) error {
	writer := &lockedWriter{w: out}
	lines := &lineReader{in: bufio.NewReader(in), out: writer, limit: s.options.Limits.MaxMessage}
	if closer, ok := in.(io.Closer); ok {
		lines.close = closer.Close
	}
	// The session's context carries who is at the other end; it must outlive
	// ctx, so that what runs is ended by closing the session.
	who := peer{principal, call.EntryStdio, s.options.NewID()}
	session, err := s.sdk.Connect(context.WithValue(context.WithoutCancel(ctx), peerKey{}, who),
		&mcp.IOTransport{Reader: lines, Writer: writer, MaxLineLength: -1}, nil)
	if err != nil {
		return fmt.Errorf("open mcp session: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		// A read of standard input cannot be interrupted everywhere, closing
		// it wakes up what can be.
		_ = lines.Close()
		_ = session.Close()
		err = nil
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) && !errors.Is(err, net.ErrClosed) && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("serve mcp on standard input: %w", err)
	}
	return nil
}

// ServeConnection speaks MCP over a private connection, on whose other end
// Relay stands for a client of standard input and output. The connection is
// closed when it returns.
func (s *Server) ServeConnection(ctx context.Context, conn net.Conn, principal call.Principal) error {
	defer conn.Close()
	return s.ServeStdio(ctx, conn, conn, principal)
}

// Relay copies between a client's streams and a connection that another
// process serves with ServeConnection. It returns when either side or the
// context ends; what the server still has to say after the input ended is
// passed on.
func Relay(ctx context.Context, in io.Reader, out io.Writer, conn net.Conn) error {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	go func() {
		_, _ = io.Copy(conn, in)
		if half, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
			return
		}
		_ = conn.Close()
	}()
	_, err := io.Copy(out, conn)
	if err != nil && ctx.Err() == nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, io.ErrClosedPipe) {
		return fmt.Errorf("relay mcp: %w", err)
	}
	return nil
}

// lockedWriter lets the session and the line reader answer on one stream.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// Close leaves the stream open: it belongs to who gave it.
func (l *lockedWriter) Close() error { return nil }

// lineReader passes on the lines that hold one good message each, and answers
// the others itself: one bad or huge line does not end the session.
type lineReader struct {
	in    *bufio.Reader
	out   io.Writer
	limit int
	close func() error
	rest  []byte // of the line that is being passed on
}

func (l *lineReader) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, whole, err := l.line()
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

// check returns the line when it may be passed on.
func (l *lineReader) check(line []byte, whole bool) ([]byte, error) {
	var f *fault
	switch {
	case !whole:
		f = &fault{code: jsonrpc.CodeInvalidRequest, text: fmt.Sprintf("a message has at most %d bytes", l.limit)}
	case blank(line):
		return nil, nil
	default:
		f = checkMessage(line)
	}
	if f == nil {
		return append(line, '\n'), nil
	}
	_, err := l.out.Write(append(f.response(), '\n'))
	return nil, err
}

// line reads to the end of a line but keeps no more than the limit.
func (l *lineReader) line() (line []byte, whole bool, err error) {
	whole = true
	for {
		piece, err := l.in.ReadSlice('\n')
		if room := l.limit + 1 - len(line); whole && len(piece) <= room {
			line = append(line, piece...)
		} else {
			line, whole = nil, false
		}
		switch {
		case err == nil:
			return trimEnd(line), whole, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && (len(line) > 0 || !whole):
			return line, whole, nil // the last line needs no newline
		default:
			return nil, false, err
		}
	}
}

func trimEnd(line []byte) []byte {
	for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
		line = line[:len(line)-1]
	}
	return line
}

func blank(line []byte) bool {
	for _, c := range line {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return false
		}
	}
	return true
}

// Close ends the session's input.
func (l *lineReader) Close() error {
	if l.close == nil {
		return nil
	}
	return l.close()
}
