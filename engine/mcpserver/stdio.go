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
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/writ-dev/writ/engine/call"
)

// ServeStdio speaks MCP over a pair of streams, one message a line, until the
// input or the context ends. After the end of the input it answers what was
// asked, for at most Limits.EndGrace; then, and at once when the context ends,
// calls that still run are cancelled. They have settled when it returns.
// Nothing but protocol is written to out.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer, principal call.Principal) error {
	pending := newPending(s.calls)
	defer pending.drop()
	writer := &lineWriter{w: out, pending: pending}
	reader := &lineReader{
		in: bufio.NewReader(in), refuse: writer.put, limit: s.options.Limits.MaxMessage,
		pending: pending, grace: s.options.Limits.EndGrace, closed: make(chan struct{}),
	}
	reader.close = sync.OnceFunc(func() {
		close(reader.closed)
		if closer, ok := in.(io.Closer); ok {
			_ = closer.Close()
		}
	})
	// The session's context carries who is at the other end.
	who := peer{principal, call.EntryStdio, s.options.NewID(), ctx}
	session, err := s.sdk.Connect(context.WithValue(context.WithoutCancel(ctx), peerKey{}, who),
		&mcp.IOTransport{Reader: reader, Writer: writer, MaxLineLength: -1}, nil)
	if err != nil {
		return fmt.Errorf("open mcp session: %w", err)
	}
	// Closing the input is not enough: not everywhere does it wake up who reads
	// standard input.
	detach := context.AfterFunc(ctx, func() {
		reader.close()
		_ = session.Close()
	})
	err = session.Wait()
	detach()
	reader.close()
	if err != nil && ctx.Err() == nil && !ended(err) {
		return fmt.Errorf("serve mcp on standard input: %w", err)
	}
	return nil
}

// ended reports whether an error says only that the other side went away.
func ended(err error) bool {
	for _, end := range []error{io.EOF, io.ErrClosedPipe, net.ErrClosed, os.ErrClosed, syscall.EPIPE, syscall.ECONNRESET} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
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
	if err != nil && ctx.Err() == nil && !ended(err) {
		return fmt.Errorf("relay mcp: %w", err)
	}
	return nil
}
