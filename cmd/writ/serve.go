package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/guard"
	"github.com/writ-dev/writ/engine/identity"
	"github.com/writ-dev/writ/engine/mcpserver"
	"github.com/writ-dev/writ/engine/reload"
	"github.com/writ-dev/writ/engine/setting"
	"github.com/writ-dev/writ/engine/store"
)

type serveOptions struct {
	newToken  bool
	logFormat string
}

func (a *app) serveCommand() *cobra.Command {
	var o serveOptions
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve the tools over MCP and HTTP",
		Long: `Serves the configuration at http://127.0.0.1:8765/mcp and prints the address,
what is in force, and configuration that is ready to be pasted into clients.

Callers send a bearer token: WRIT_TOKEN, else those of writ.yaml, else one that
is generated once and kept in the state folder, so that clients survive a
restart. Files that change come into force by themselves; mistakes leave the
last good generation as it is, and writ status shows them. SIGHUP reloads,
SIGINT and SIGTERM let running calls end first.

Beyond this machine it needs tls in writ.yaml, or --insecure-http.`,
		Example: `  writ serve
  writ serve --config mytools --listen 127.0.0.1:9000
  writ serve --new-token       make the old generated token worthless`,
		Args:        positional(cobra.NoArgs),
		Annotations: map[string]string{exitCodes: "0 it was told to stop\n1 mistakes in the configuration\n2 could not run: address in use, state in use, no access"},
		RunE: func(c *cobra.Command, _ []string) error {
			log, err := a.serverLog(o.logFormat)
			if err != nil {
				return err
			}
			p, err := a.place(c, false)
			if err != nil {
				return err
			}
			return a.serve(c.Context(), p, o, log)
		},
	}
	flags := c.Flags()
	flags.String("listen", "", "listen at `HOST:PORT`; port 0 takes any free one (default 127.0.0.1:8765)")
	flags.Bool("insecure-http", false, "listen beyond this machine without TLS; tokens cross the network in the clear")
	flags.BoolVar(&o.newToken, "new-token", false, "replace the generated token")
	flags.BoolVar(&a.dangerousGrants, "allow-dangerous-grants", false, "let grants release dangerous calls, where writ.yaml allows it too")
	flags.StringVar(&o.logFormat, "log-format", "text", "format of the log on standard error: `text|json`")
	_ = c.RegisterFlagCompletionFunc("log-format", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// serverLog is the log of a process that serves.
func (a *app) serverLog(format string) (*slog.Logger, error) {
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(a.errors, nil)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(a.errors, nil)), nil
	}
	return nil, usagef("--log-format %q: use text or json", format)
}

// serve runs until the context ends.
func (a *app) serve(ctx context.Context, p *place, o serveOptions, log *slog.Logger) error {
	secure, err := certificates(p.settings)
	if err != nil {
		return err
	}
	e, err := a.open(ctx, p, assembly{state: true, environmentToken: true, log: log})
	if err != nil {
		return explainInUse(err)
	}
	if o.newToken {
		if err := replaceToken(e.store.Dir()); err != nil {
			return errors.Join(err, e.close(ctx))
		}
	}
	err = a.serveEngine(ctx, e, secure)
	return errors.Join(err, e.close(ctx))
}

func explainInUse(err error) error {
	var inUse *store.InUseError
	if errors.As(err, &inUse) {
		return fmt.Errorf("%w; writ status tells about a running server", err)
	}
	return err
}

func replaceToken(dir store.Dir) error {
	token, err := identity.NewToken(rand.Reader)
	if err == nil {
		err = dir.ReplaceSecret(tokenName, []byte(token))
	}
	if err != nil {
		return fmt.Errorf("new token: %w", err)
	}
	return nil
}

// certificates are those of the listener, or nil for plain HTTP.
func certificates(s *setting.Settings) (*tls.Config, error) {
	if s.TLS == (setting.TLS{}) {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(s.Path(s.TLS.Certificate), s.Path(s.TLS.Key))
	if err != nil {
		return nil, fmt.Errorf("tls of writ.yaml: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}, nil
}

// serveEngine listens, loads, and serves commands and clients.
func (a *app) serveEngine(ctx context.Context, e *engine, secure *tls.Config) error {
	listener, err := listen(e.place.settings.Listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	scheme := "http"
	if secure != nil {
		scheme = "https"
	}
	e.listensAt(scheme, listener.Addr())
	desk, err := e.openDesk(ctx)
	if err != nil {
		return err
	}
	outcome, err := e.load(ctx)
	if err != nil {
		return errors.Join(err, desk.abandon())
	}
	protection, err := e.guard(listener.Addr(), secure != nil)
	if err != nil {
		return errors.Join(err, desk.abandon())
	}
	mcp := e.mcpServer()
	e.endSessions = mcp.EndSessions
	handler := mcpserver.NewHandler(mcpserver.HandlerOptions{
		Guard: protection, MCP: mcp, Metrics: e.metrics.Handler(),
		Ready: func() bool { return e.store.Ready() == nil },
	})
	a.banner(e, outcome)
	running, stop := context.WithCancel(ctx)
	following := e.follow(running)
	go e.announce(running)
	go a.tuneMemory(running, e)
	commands := desk.serve(running, e, mcp)
	err = guard.Serve(running, guard.ServeOptions{Listener: listener, Handler: handler, TLS: secure, Drain: e.drain(mcp), Log: e.log})
	stop()
	err = errors.Join(err, <-commands)
	<-following
	return err
}

// drain ends what waits for people, lets running calls end, and then stops
// those that go on without their callers.
func (e *engine) drain(mcp *mcpserver.Server) func(context.Context) error {
	return func(ctx context.Context) error {
		e.desk.Close("the server stops")
		defer e.pipeline.Halt()
		return mcp.Close(ctx)
	}
}

func listen(address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is in use by another program: stop it, or choose another address with --listen", address)
	}
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return listener, nil
}

// listensAt notes where clients reach the server and what no tool may call.
func (e *engine) listensAt(scheme string, address net.Addr) {
	url := e.place.settings.AdvertisedURL
	if url == "" {
		url = scheme + "://" + address.String()
	}
	url = strings.TrimSuffix(url, "/") + mcpserver.Path
	e.address.Store(&url)
	if own, err := netip.ParseAddrPort(address.String()); err == nil {
		e.own.Store(&[]netip.AddrPort{own})
	}
}

func (e *engine) guard(bound net.Addr, secure bool) (*guard.Guard, error) {
	options := guard.HostOptions{Bound: bound, TLS: secure}
	if url := e.place.settings.AdvertisedURL; url != "" {
		options.Advertised = []string{url}
	}
	hosts, err := guard.NewHosts(options)
	if err != nil {
		return nil, err
	}
	return guard.New(guard.Options{
		Hosts: hosts, Authenticator: e, Open: mcpserver.OpenPaths(), MaxBody: e.place.settings.Limits.BodyBytes,
		Refused: e.metrics.Turned,
	}), nil
}

// Authenticate asks the callers of the generation in force.
func (e *engine) Authenticate(token string) (call.Principal, bool) {
	return e.callers.Load().Authenticate(token)
}

func (e *engine) mcpServer() *mcpserver.Server {
	limits := e.place.settings.Limits
	return mcpserver.New(mcpserver.Options{
		Caller: e.pipeline, Source: &shelf{live: &e.live}, Expose: mcpserver.Expose(e.place.settings.Expose), Version: readBuild().Version,
		Limits: mcpserver.Limits{
			MaxArguments: int(limits.ArgumentBytes), MaxMessage: int(limits.BodyBytes),
			MaxSessions: limits.Sessions, MaxSessionsEach: limits.SessionsPerPrincipal,
		},
		Log: e.log, Now: e.app.now, NewID: rand.Text,
	})
}

// follow keeps the catalog up with the files, and reloads on SIGHUP.
func (e *engine) follow(ctx context.Context) (ended <-chan struct{}) {
	done := make(chan struct{})
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, hangupSignals()...)
	go func() {
		defer close(done)
		go e.reloader.Run(ctx)
		defer signal.Stop(hangup)
		for {
			select {
			case <-hangup:
				e.reloader.Reload(ctx)
			case <-ctx.Done():
				return
			}
		}
	}()
	return done
}

// banner tells a person what is served and how to reach it.
func (a *app) banner(e *engine, outcome reload.Outcome) {
	w := a.out
	a.diagnostics(a.errors, outcome.Problems)
	current, p := e.live.Current(), e.place
	token := ""
	rows := [][]string{
		{"address", *e.address.Load()},
		{"token", "from " + string(e.callers.Load().Source())},
		{"in force", fmt.Sprintf("%s (%d can be called), %s, %s, generation %d",
			count(len(current.Tools()), "tool"), current.Callable(), count(current.RuleCount, "rule"), count(current.Documents, "document"), current.Generation)},
		{"configuration", shownDir(p.configuration) + " (" + p.configuration.Reason + ")"},
		{"state", p.state},
	}
	if e.callers.Load().Source() == identity.Generated {
		if kept, err := a.keptToken(e.store.Dir()); err == nil {
			token, rows[1][1] = kept, kept
		}
	}
	fmt.Fprintln(w, a.paint(w, bold, "Writ serves"))
	var facts strings.Builder
	table(&facts, rows)
	fmt.Fprintln(w, indent(facts.String(), "  "))
	a.printClients(w, clientForms(*e.address.Load(), token, a.stdioWords(p)))
	fmt.Fprintln(w)
}
