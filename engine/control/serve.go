package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"syscall"
	"time"
)

// Verb answers one kind of request. Its context ends when the client goes
// away. Progress may be called any number of times before it returns, from one
// goroutine at a time.
type Verb func(ctx context.Context, with json.RawMessage, progress func(any)) (any, error)

// Options configure Serve.
type Options struct {
	Verbs map[string]Verb
	// MCP speaks MCP over a connection until it ends.
	MCP func(ctx context.Context, conn net.Conn) error
	// Grace is how long requests that run may take when the server stops;
	// 0 means 10 s.
	Grace time.Duration
	Log   *slog.Logger
}

// Serve answers until the context ends. It returns after the last request has
// been answered or, when the grace is over, cancelled.
func Serve(ctx context.Context, listener net.Listener, o Options) error {
	if o.Grace <= 0 {
		o.Grace = 10 * time.Second
	}
	requests, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	s := &server{Options: o, slots: make(chan struct{}, MaxConnections)}
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	err := s.accept(requests, listener)
	_ = listener.Close()
	done := make(chan struct{})
	go func() { s.running.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(o.Grace):
		cancel()
		<-done
	}
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("listen for commands: %w", err)
}

type server struct {
	Options
	slots   chan struct{}
	running sync.WaitGroup
}

func (s *server) accept(ctx context.Context, listener net.Listener) error {
	for {
		conn, err := listener.Accept()
		if short(err) {
			s.Log.Warn("a command cannot be heard at present", "reason", err)
			select {
			case <-time.After(oneBreath):
			case <-ctx.Done():
			}
			continue
		}
		if err != nil {
			return err
		}
		select {
		case s.slots <- struct{}{}:
			s.running.Go(func() {
				defer func() { <-s.slots }()
				s.connection(ctx, conn)
			})
		default:
			_ = conn.Close()
			s.Log.Warn("a command was turned away: too many connections", "limit", MaxConnections)
		}
	}
}

// oneBreath is the pause after a shortage of the system.
const oneBreath = 100 * time.Millisecond

// short reports a shortage that passes, such as of descriptors, which clients
// of other listeners can bring about: it must not end the socket.
func short(err error) bool {
	for _, shortage := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS, syscall.ECONNABORTED} {
		if errors.Is(err, shortage) {
			return true
		}
	}
	return false
}

func (s *server) connection(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })()
	if err := samePeer(conn); err != nil {
		s.Log.Warn("a connection was refused", "reason", err)
		return
	}
	_ = conn.SetReadDeadline(time.Now().Add(firstLine))
	reader := bufio.NewReader(conn)
	var r request
	if err := readLine(reader, &r); err != nil {
		s.Log.Debug("a request could not be read", "reason", err)
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	send := func(a answer) error {
		_ = conn.SetWriteDeadline(time.Now().Add(oneWrite))
		return writeLine(conn, a)
	}
	switch verb := s.Verbs[r.Do]; {
	case r.Version != version:
		_ = send(failure(fmt.Errorf("the running server speaks another version of this protocol (%d, not %d): restart it with this build", version, r.Version)))
	case r.Do == upgrade && s.MCP != nil:
		s.stream(ctx, conn, reader, send)
	case verb == nil:
		_ = send(failure(fmt.Errorf("the running server does not know the request %q: restart it with this build", r.Do)))
	default:
		go func() { // nothing more is expected: what ends the read is that the client goes away
			_, _ = reader.ReadByte()
			cancel()
		}()
		if err := send(s.answer(ctx, verb, r, send)); err != nil && ctx.Err() == nil {
			_ = send(failure(err))
		}
	}
}

// answer runs a verb; a panic ends this request only.
func (s *server) answer(ctx context.Context, verb Verb, r request, send func(answer) error) (a answer) {
	defer func() {
		if fault := recover(); fault != nil {
			s.Log.Error("a command panicked", "do", r.Do, "panic", fmt.Sprint(fault), "stack", string(debug.Stack()))
			a = failure(errors.New("internal error; the log of the server has the details"))
		}
	}()
	result, err := verb(ctx, r.With, func(v any) {
		if data, err := json.Marshal(v); err == nil {
			_ = send(answer{Progress: data}) // who does not read is found out at the result
		}
	})
	if err != nil {
		return failure(err)
	}
	data, err := json.Marshal(result)
	if err != nil {
		return failure(fmt.Errorf("write result: %w", err))
	}
	return answer{Result: data}
}

func failure(err error) answer {
	text := err.Error()
	return answer{Error: &text}
}

func (s *server) stream(ctx context.Context, conn net.Conn, reader *bufio.Reader, send func(answer) error) {
	if err := send(answer{Result: json.RawMessage("{}")}); err != nil {
		return
	}
	_ = conn.SetWriteDeadline(time.Time{})
	if err := s.MCP(ctx, buffered{conn, reader}); err != nil {
		s.Log.Warn("a relayed client ended", "reason", err)
	}
}

// buffered is a connection of which something has been read ahead.
type buffered struct {
	net.Conn
	reader *bufio.Reader
}

func (b buffered) Read(p []byte) (int, error) { return b.reader.Read(p) }

// CloseWrite tells the other side that nothing more will come.
func (b buffered) CloseWrite() error {
	if half, ok := b.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return b.Close()
}
