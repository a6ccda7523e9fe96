package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/engine/control"
	"github.com/writ-dev/writ/engine/mcpserver"
	"github.com/writ-dev/writ/engine/store"
)

func (a *app) stdioCommand() *cobra.Command {
	var logFormat string
	c := &cobra.Command{
		Use:   "stdio",
		Short: "Serve the tools over MCP on standard input and output",
		Long: `Speaks MCP on standard input and output, for clients that start their servers.
The caller is local:USER; no token is needed. Nothing but protocol is written to
standard output, the log goes to standard error.

If a server runs for the same configuration, the client is connected to it:
both share the catalog, limits and records. Otherwise this process takes the
state folder, and later clients connect to it. The current folder is never
read, because clients start servers in the folders of strangers.`,
		Example: `  writ stdio --config /etc/writ
  claude mcp add writ -- writ stdio --config ~/mytools`,
		Args: positional(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			log, err := a.serverLog(logFormat)
			if err != nil {
				return err
			}
			p, err := a.place(c, true)
			if err != nil {
				return err
			}
			return a.stdio(c.Context(), p, log)
		},
	}
	c.Flags().BoolVar(&a.dangerousGrants, "allow-dangerous-grants", false, "let grants release dangerous calls, where writ.yaml allows it too")
	c.Flags().StringVar(&logFormat, "log-format", "text", "format of the log on standard error: `text|json`")
	return c
}

// patience is how long two processes may take to settle which of them owns
// the state folder.
const patience = 10 * time.Second

// stdio connects a client to the owner of the state folder, or becomes it.
func (a *app) stdio(ctx context.Context, p *place, log *slog.Logger) error {
	var inUse *store.InUseError
	for deadline := a.now().Add(patience); ; {
		conn, err := control.Attach(ctx, p.state)
		if err == nil {
			return mcpserver.Relay(ctx, a.in, a.out, conn)
		}
		if !errors.Is(err, control.ErrNobody) && !errors.Is(err, control.ErrUnavailable) {
			return err
		}
		e, err := a.open(ctx, p, assembly{state: true, environmentToken: true, log: log})
		if err == nil {
			return errors.Join(a.ownStdio(ctx, e), e.close(ctx))
		}
		if !errors.As(err, &inUse) {
			return err
		}
		if a.now().After(deadline) {
			return fmt.Errorf("%w; it does not answer either", err)
		}
		select { // the owner is about to start, or to stop
		case <-ctx.Done():
			return nil
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// ownStdio serves the client at standard input and output, and those that
// connect meanwhile for as long as any of them is there.
func (a *app) ownStdio(ctx context.Context, e *engine) error {
	desk, err := e.openDesk(ctx)
	if err != nil {
		return err
	}
	outcome, err := e.load(ctx)
	if err != nil {
		return errors.Join(err, desk.abandon())
	}
	a.diagnostics(a.errors, outcome.Problems)
	mcp := e.mcpServer()
	e.endSessions = mcp.EndSessions
	running, stop := context.WithCancel(ctx)
	following := e.follow(running)
	go a.tuneMemory(running, e)
	commands := desk.serve(running, e, mcp)
	err = mcp.ServeStdio(ctx, a.in, a.out, e.callers.Load().Local(a.user()))
	desk.wait(ctx)
	stop()
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	err = errors.Join(err, e.drain(mcp)(closing), <-commands)
	<-following
	return err
}
