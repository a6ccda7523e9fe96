package pipeline_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/writ-dev/writ/engine/approval"
	"github.com/writ-dev/writ/engine/audit"
	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/catalog"
	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/executor"
	"github.com/writ-dev/writ/engine/pipeline"
	"github.com/writ-dev/writ/engine/root"
	"github.com/writ-dev/writ/engine/secret"
)

// bench is a pipeline over an executor that does nothing but note that it ran.
type bench struct {
	t        *testing.T
	pipeline *pipeline.Pipeline
	compiler *catalog.Compiler
	live     *catalog.Live
	kind     *fakeKind
	journal  *memoryJournal
	roots    *root.Set
	desk     *approval.Desk
}

func newBench(t *testing.T, set *document.Set) *bench {
	t.Helper()
	b := &bench{t: t, live: &catalog.Live{}, kind: &fakeKind{}, journal: &memoryJournal{}}
	roots, err := root.Open(nil, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	b.roots = roots
	b.compiler = catalog.NewCompiler(catalog.Options{
		Kinds: executor.Kinds{"command": b.kind},
		Secrets: func(docs []*document.Secret) (executor.Secrets, diag.List) {
			return secret.New(docs, secret.Options{})
		},
		Now: time.Now,
	})
	b.publish(set)
	key, err := audit.NewKey(make([]byte, audit.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	ids := 0
	b.desk = approval.NewDesk(time.Now, rand.Text)
	b.pipeline = pipeline.New(pipeline.Options{
		Live: b.live, Desk: b.desk, Journal: b.journal, Key: key,
		Limits: pipeline.DefaultLimits(), Now: time.Now, Log: slog.New(slog.DiscardHandler),
		NewID: func() string { mu.Lock(); defer mu.Unlock(); ids++; return strconv.Itoa(ids) },
	})
	return b
}

func (b *bench) publish(set *document.Set) {
	b.t.Helper()
	next, problems := b.compiler.Compile(set, catalog.Inputs{Roots: b.roots})
	if err := problems.Err(); err != nil {
		b.t.Fatal(err)
	}
	b.live.Publish(next)
}

func (b *bench) call(tool, arguments string) call.Result {
	return b.pipeline.Call(context.Background(), request(tool, arguments))
}

func request(tool, arguments string) call.Request {
	return call.Request{
		Tool: tool, Arguments: []byte(arguments), Entry: call.EntryMCP,
		Principal: call.Principal{Name: "ann", Roles: []string{"dev"}},
	}
}

func newTool(name, risk string) *document.Tool {
	return &document.Tool{
		Header: document.Header{Kind: "Tool", Name: name}, Description: "A tool.", Risk: risk,
		Args: document.Arguments{
			{Name: "n", Schema: []byte(`{"type":"integer","default":1}`)},
		},
		Command: &document.Command{Argv: []string{"true"}},
	}
}

func oneTool(risk string) *document.Set {
	return &document.Set{Tools: []*document.Tool{newTool("t", risk)}}
}

// fakeKind makes executors whose behaviour a test may replace.
type fakeKind struct {
	mu       sync.Mutex
	ran      int
	changed  string // part of the effect, as a live target would be
	prepare  func(context.Context, executor.Input) error
	run      func(context.Context) call.Outcome
	watch    func(executor.Run)
	previous int // preparations that were given the approved effect
}

func (k *fakeKind) Compile(executor.Declaration) (executor.Executor, diag.List) { return k, nil }

func (k *fakeKind) Prepare(ctx context.Context, in executor.Input) (call.Effect, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if in.Previous != nil {
		k.previous++
	}
	if k.prepare != nil {
		if err := k.prepare(ctx, in); err != nil {
			return call.Effect{}, err
		}
	}
	bound := map[string]any{"argv": []any{"true", fmt.Sprint(in.Arguments["n"])}, "target": k.changed}
	return call.Effect{Bound: bound, Preview: "true"}, nil
}

func (k *fakeKind) Execute(ctx context.Context, _ call.Effect, how executor.Run) call.Outcome {
	k.mu.Lock()
	k.ran++
	run, watch := k.run, k.watch
	k.mu.Unlock()
	if watch != nil {
		watch(how)
	}
	if run != nil {
		return run(ctx)
	}
	return call.Outcome{Status: call.Complete, Body: call.Capture{Head: []byte("done"), Total: 4}}
}

func (k *fakeKind) executions() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ran
}

// memoryJournal keeps records and can be told to fail.
type memoryJournal struct {
	mu                 sync.Mutex
	failReserve        bool
	failIntent         bool
	intents, outcomes  []audit.Record
	reserved, released int
}

func (j *memoryJournal) Reserve(context.Context) (audit.Slot, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failReserve {
		return nil, errors.New("the disk is full")
	}
	j.reserved++
	return &memorySlot{journal: j}, nil
}

func (j *memoryJournal) last() audit.Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.outcomes[len(j.outcomes)-1]
}

type memorySlot struct {
	journal *memoryJournal
	done    bool
}

func (s *memorySlot) Intent(_ context.Context, record audit.Record) error {
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	if s.journal.failIntent {
		return errors.New("the disk is full")
	}
	s.journal.intents = append(s.journal.intents, record)
	return nil
}

func (s *memorySlot) Outcome(_ context.Context, record audit.Record) error {
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	s.journal.outcomes = append(s.journal.outcomes, record)
	return nil
}

func (s *memorySlot) Release() {
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	if !s.done {
		s.done = true
		s.journal.released++
	}
}
