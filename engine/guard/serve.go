package guard

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Bounds of a listener. There is no write timeout: it would cut streams.
const (
	readHeaderTimeout = 5 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 16 << 10
	maxConnections    = 4096
)

// ServeOptions configure Serve.
type ServeOptions struct {
	Listener net.Listener
	Handler  http.Handler
	TLS      *tls.Config // nil means plain HTTP
	// Drain ends sessions and waits for calls. It runs while the listener is
	// already closed, and its context ends with Grace.
	Drain func(context.Context) error
	Grace time.Duration // 0 means 10 s
	Log   *slog.Logger
}

// Serve serves until the context ends, then stops accepting, drains, and
// stops. An open event stream would otherwise hold the server for ever, so
// Drain and the shutdown of connections run side by side.
func Serve(ctx context.Context, o ServeOptions) error {
	if o.Grace <= 0 {
		o.Grace = 10 * time.Second
	}
	server := &http.Server{
		Handler:           o.Handler,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		// OPTIONS * would be answered before the handler, without any check, and
		// after waiting for its body for as long as the client likes.
		DisableGeneralOptionsHandler: true,
		TLSConfig:                    o.TLS,
		ErrorLog:                     slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}
	listener := &limitedListener{Listener: o.Listener, slots: make(chan struct{}, maxConnections), done: make(chan struct{})}
	served := make(chan error, 1)
	go func() {
		if o.TLS != nil {
			served <- server.ServeTLS(listener, "", "")
			return
		}
		served <- server.Serve(listener)
	}()
	select {
	case err := <-served:
		return fmt.Errorf("serve http on %s: %w", o.Listener.Addr(), err)
	case <-ctx.Done():
	}
	return stop(context.WithoutCancel(ctx), server, o)
}

func stop(ctx context.Context, server *http.Server, o ServeOptions) error {
	grace, cancel := context.WithTimeout(ctx, o.Grace)
	defer cancel()
	closed := make(chan error, 1)
	go func() { closed <- server.Shutdown(grace) }()
	var drained error
	if o.Drain != nil {
		drained = o.Drain(grace)
	}
	err := <-closed
	if err != nil {
		_ = server.Close()
		err = fmt.Errorf("close connections: %w", err)
	}
	return errors.Join(drained, err)
}

// limitedListener accepts no more connections than it has slots.
type limitedListener struct {
	net.Listener
	slots chan struct{}
	once  sync.Once
	done  chan struct{}
}

func (l *limitedListener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.done:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &limitedConn{Conn: conn, release: sync.OnceFunc(func() { <-l.slots })}, nil
}

func (l *limitedListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}

type limitedConn struct {
	net.Conn
	release func()
}

func (c *limitedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
