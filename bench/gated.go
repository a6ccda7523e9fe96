package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/writ-dev/writ/engine/approval"
	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/catalog"
	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/executor"
	"github.com/writ-dev/writ/engine/guard"
	"github.com/writ-dev/writ/engine/load"
	"github.com/writ-dev/writ/engine/mcpserver"
	"github.com/writ-dev/writ/engine/metric"
	"github.com/writ-dev/writ/engine/pipeline"
	"github.com/writ-dev/writ/engine/root"
	"github.com/writ-dev/writ/engine/secret"
	"github.com/writ-dev/writ/engine/store"
)

// gated serves a configuration with the rooms of the binary, in which every
// command does nothing: the binary itself has no tool without any effect, and
// the goal is the cost of the gate and the record.
func gated(configuration, state string) (err error) {
	debug.SetGCPercent(400) // as writ serve does
	ctx := context.Background()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	live, err := idleCatalog(ctx, configuration)
	if err != nil {
		return err
	}
	kept, err := store.Open(ctx, state, store.Options{Log: log, Now: time.Now})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kept.Close(ctx)) }()
	key, err := kept.Dir().Key()
	if err != nil {
		return err
	}
	metrics := metric.New()
	limits := pipeline.DefaultLimits()
	limits.PerPrincipal = limits.Calls
	pipe := pipeline.New(pipeline.Options{
		Live: live, Desk: approval.NewDesk(time.Now, rand.Text), Journal: kept, Key: key, Limits: limits,
		Now: time.Now, NewID: rand.Text, UID: os.Getuid(), Log: log, Observe: metrics.Observe,
	})
	mcp := mcpserver.New(mcpserver.Options{Caller: pipe, Source: shelf{live.Current(), live}, Log: log})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	hosts, err := guard.NewHosts(guard.HostOptions{Bound: listener.Addr()})
	if err != nil {
		return err
	}
	handler := mcpserver.NewHandler(mcpserver.HandlerOptions{
		Guard: guard.New(guard.Options{Hosts: hosts, Authenticator: holder{}}), MCP: mcp, Metrics: metrics.Handler(),
	})
	fmt.Printf("http://%s/mcp\n", listener.Addr())
	running, stop := context.WithCancel(ctx)
	go func() {
		untilEnd()
		stop()
	}()
	return guard.Serve(running, guard.ServeOptions{Listener: listener, Handler: handler, Drain: mcp.Close, Log: log})
}

// holder knows the one caller of the bench.
type holder struct{}

func (holder) Authenticate(token string) (call.Principal, bool) {
	return caller(), token == benchToken
}

// idleCatalog loads a configuration with commands that do nothing.
func idleCatalog(ctx context.Context, configuration string) (*catalog.Live, error) {
	roots, err := root.Open(nil, configuration, nil)
	if err != nil {
		return nil, err
	}
	loader, err := load.New()
	if err != nil {
		return nil, err
	}
	read := loader.Load(ctx, load.Options{Paths: []string{filepath.Join(configuration, "tools.d"), filepath.Join(configuration, "policies")}})
	if read.Problems.HasErrors() {
		return nil, read.Problems.Err()
	}
	generation, problems := catalog.NewCompiler(catalog.Options{
		Kinds: executor.Kinds{"command": idle{}},
		Secrets: func(documents []*document.Secret) (executor.Secrets, diag.List) {
			return secret.New(documents, secret.Options{Env: os.LookupEnv})
		},
		Now: time.Now,
	}).Compile(read.Set, catalog.Inputs{Roots: roots})
	if generation == nil {
		return nil, problems.Err()
	}
	live := &catalog.Live{}
	live.Publish(generation)
	return live, nil
}

// idle is a kind of tools, and the executor of each.
type idle struct{}

func (i idle) Compile(executor.Declaration) (executor.Executor, diag.List) { return i, nil }

func (idle) Prepare(_ context.Context, input executor.Input) (call.Effect, error) {
	return call.Effect{Bound: map[string]any{"arguments": input.Arguments}, Preview: "nothing"}, nil
}

func (idle) Execute(context.Context, call.Effect, executor.Run) call.Outcome {
	return call.Outcome{Status: call.Complete, Body: call.Capture{Head: []byte(noteText), Total: int64(len(noteText))}}
}

// shelf shows a catalog that does not change.
type shelf struct {
	current *catalog.Catalog
	live    *catalog.Live
}

func (s shelf) Generation() uint64 { return s.current.Generation }

func (s shelf) Subscribe() (<-chan struct{}, func()) { return s.live.Subscribe() }

func (s shelf) Tools() (uint64, []mcpserver.Tool) {
	var list []mcpserver.Tool
	for _, t := range s.current.Tools() {
		list = append(list, mcpserver.Tool{
			Name: t.Name, Description: t.ShownDescription(), Input: t.Arguments.Projection(), Risk: t.Worst.String(), Unavailable: t.Unavailable,
		})
	}
	return s.current.Generation, list
}
