package main

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"sync"

	"github.com/writ-dev/writ/engine/control"
	"github.com/writ-dev/writ/engine/mcpserver"
)

// desk is where the owner of a state folder takes questions of commands.
type desk struct {
	listener net.Listener // nil where there are no private sockets

	mu      sync.Mutex
	relayed int           // clients that are connected
	idle    chan struct{} // closed when the last of them leaves, if anybody waits
}

// openDesk opens the socket. It comes before the first load, because the
// folder of the socket is out of reach of tools like all of Writ's own.
func (e *engine) openDesk(context.Context) (*desk, error) {
	listener, err := control.Listen(e.place.state, e.app.getenv)
	if errors.Is(err, control.ErrUnavailable) {
		e.log.Warn("commands cannot speak to this server", "reason", err)
		return &desk{}, nil
	}
	if err != nil {
		return nil, err
	}
	if folder := filepath.Dir(listener.Addr().String()); folder != e.place.state {
		e.protected = append(e.protected, folder)
	}
	return &desk{listener: listener}, nil
}

// serve answers until the context ends.
func (d *desk) serve(ctx context.Context, e *engine, mcp *mcpserver.Server) (ended <-chan error) {
	done := make(chan error, 1)
	if d.listener == nil {
		done <- nil
		return done
	}
	go func() {
		done <- control.Serve(ctx, d.listener, control.Options{
			Verbs: e.verbs(), Log: e.log,
			MCP: func(ctx context.Context, conn net.Conn) error {
				defer d.enter()()
				return mcp.ServeConnection(ctx, conn, e.callers.Load().Local(e.app.user()))
			},
		})
	}()
	return done
}

// abandon closes a desk that never served.
func (d *desk) abandon() error {
	if d.listener == nil {
		return nil
	}
	return d.listener.Close()
}

// enter counts a client until the function that it returns is called.
func (d *desk) enter() (leave func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.relayed++
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.relayed--
		if d.relayed == 0 && d.idle != nil {
			close(d.idle)
			d.idle = nil
		}
	}
}

// wait returns when no client is connected any more, or the context ends.
func (d *desk) wait(ctx context.Context) {
	d.mu.Lock()
	if d.relayed == 0 {
		d.mu.Unlock()
		return
	}
	idle := make(chan struct{})
	d.idle = idle
	d.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}
