package store_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/engine/audit"
	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/store"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func open(t testing.TB, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(context.Background(), dir, store.Options{Log: quiet(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(context.Background()) })
	return s
}

func reserve(t testing.TB, s *store.Store) audit.Slot {
	t.Helper()
	slot, err := s.Reserve(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return slot
}

func example(id string, level call.Level) audit.Record {
	return audit.Record{
		RequestID: id, Tool: "git_log", Principal: "bot", Entry: call.EntryMCP, Started: time.UnixMicro(1_800_000_000_000_000).UTC(),
		Generation: 7, ToolDigest: strings.Repeat("a", 64), Risk: level, Rules: []string{"one", "two"}, RulesFired: 2,
		Decision: "permit", Confirmation: "none", Approval: "not_required", UID: 1000,
	}
}

func done(r audit.Record) audit.Record {
	r.Result, r.Status, r.DurationMS, r.Stages = audit.Success, call.Complete, 12, audit.Stages{Prepare: 1, Execute: 4}
	return r
}

func TestIntentAndOutcomeAreOneRecord(t *testing.T) {
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "state")
	s := open(t, dir)
	slot := reserve(t, s)
	if err := slot.Intent(ctx, example("w", call.Mutating)); err != nil {
		t.Fatal(err)
	}
	got, err := s.Record(ctx, "w")
	if err != nil || got.Phase != audit.Intent {
		t.Fatalf("after the intent: %+v, %v", got, err)
	}
	if err := slot.Intent(ctx, example("w", call.Mutating)); err == nil {
		t.Error("a second intent was accepted")
	}
	if err := slot.Outcome(ctx, done(example("w", call.Mutating))); err != nil {
		t.Fatal(err)
	}
	if err := slot.Outcome(ctx, done(example("w", call.Mutating))); err == nil {
		t.Error("a second outcome was accepted")
	}
	slot.Release()
	if err := reserve(t, s).Outcome(ctx, done(example("r", call.ReadOnly))); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}

	s = open(t, dir)
	if r := s.Recovery(); r != (store.Recovery{}) {
		t.Errorf("after a proper end: %+v", r)
	}
	records, err := s.Records(ctx, audit.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	want := []audit.Record{done(example("w", call.Mutating)), done(example("r", call.ReadOnly))}
	for i := range want {
		want[i].Sequence, want[i].Phase = int64(i+1), audit.Outcome
	}
	if diff := cmp.Diff(want, records); diff != "" {
		t.Error(diff)
	}
}

func TestReadOnlyOutcomeIsCommittedByItself(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	if err := reserve(t, s).Outcome(context.Background(), done(example("r", call.ReadOnly))); err != nil {
		t.Fatal(err)
	}
	// A database connection of another process sees it without any flush.
	deadline := time.Now().Add(10 * time.Second)
	for {
		out, err := command("count", dir).Output()
		if err != nil {
			t.Fatal(err)
		}
		if strings.TrimSpace(string(out)) == "1" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the record was never committed")
		}
	}
}

func TestFilters(t *testing.T) {
	ctx := context.Background()
	s := open(t, t.TempDir())
	base := time.UnixMicro(1_800_000_000_000_000).UTC()
	for i := range 20 {
		r := done(example(fmt.Sprint("q", i+1), call.ReadOnly))
		r.Started = base.Add(time.Duration(i) * time.Minute)
		if i%2 == 1 {
			r.Tool, r.Result, r.Code = audit.UnsupportedTool, audit.Refused, fmt.Sprint("code", i) // else they are counted together
		}
		if i%5 == 0 {
			r.Principal = "ann"
		}
		if err := reserve(t, s).Outcome(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		filter audit.Filter
		want   []int64
	}{
		"newest":    {audit.Filter{Limit: 3}, []int64{18, 19, 20}},
		"after":     {audit.Filter{After: 4, Limit: 2}, []int64{5, 6}},
		"tool":      {audit.Filter{Tool: "unsupported", Limit: 2}, []int64{18, 20}},
		"principal": {audit.Filter{Principal: "ann"}, []int64{1, 6, 11, 16}},
		"result":    {audit.Filter{Result: audit.Refused, Principal: "ann"}, []int64{6, 16}},
		"since":     {audit.Filter{Since: base.Add(18 * time.Minute)}, []int64{19, 20}},
		"until":     {audit.Filter{Until: base.Add(time.Minute)}, []int64{1, 2}},
		"quoted":    {audit.Filter{Tool: "x' OR '1'='1"}, []int64{}},
	} {
		t.Run(name, func(t *testing.T) {
			records, err := s.Records(ctx, tt.filter)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]int64, 0)
			for _, r := range records {
				got = append(got, r.Sequence)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := s.Records(ctx, audit.Filter{Limit: 1_000_000}); err == nil {
		t.Error("an unbounded question was answered")
	}
	if _, err := s.Record(ctx, "nobody"); !errors.Is(err, store.ErrNoRecord) {
		t.Errorf("Record of nothing: %v", err)
	}
	if r, err := s.Numbered(ctx, 7); err != nil || r.RequestID != "q7" {
		t.Errorf("Numbered(7) = %+v, %v", r, err)
	}
}

func TestConcurrentWritersLoseNothing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := open(t, t.TempDir())
	const callers, calls = 32, 40
	var group sync.WaitGroup
	for caller := range callers {
		group.Go(func() {
			for i := range calls {
				slot, err := s.Reserve(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				r := example(fmt.Sprintf("%d-%d", caller, i), call.Level(i%2))
				if r.Risk > call.ReadOnly {
					if err := slot.Intent(ctx, r); err != nil {
						t.Error(err)
					}
				}
				if err := slot.Outcome(ctx, done(r)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if n, err := s.Count(ctx); err != nil || n != callers*calls {
		t.Errorf("%d records, %v; want exactly %d", n, err, callers*calls)
	}
	after, seen := int64(0), map[string]bool{}
	for {
		records, err := s.Records(ctx, audit.Filter{After: max(after, 1), Limit: audit.MaxLimit})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if seen[r.RequestID] || r.Phase != audit.Outcome {
				t.Errorf("record %d: %s twice or unfinished (%s)", r.Sequence, r.RequestID, r.Phase)
			}
			seen[r.RequestID], after = true, r.Sequence
		}
		if len(records) < audit.MaxLimit {
			break
		}
	}
}

func TestFullQueueRefuses(t *testing.T) {
	ctx := context.Background()
	s, err := store.Open(ctx, t.TempDir(), store.Options{Log: quiet(), Now: time.Now, Queue: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(ctx)
	one, _ := reserve(t, s), reserve(t, s)
	if _, err := s.Reserve(ctx); !errors.Is(err, store.ErrFull) {
		t.Fatalf("the third of two: %v", err)
	}
	one.Release()
	one.Release()
	three := reserve(t, s)
	if _, err := s.Reserve(ctx); !errors.Is(err, store.ErrFull) {
		t.Fatalf("releasing twice made two rooms: %v", err)
	}
	if err := three.Outcome(ctx, done(example("x", call.Dangerous))); err != nil {
		t.Fatal(err)
	}
	three.Release()
	for { // the writer gives the room back just after it has said that all is durable
		if _, err := s.Reserve(ctx); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if _, err := s.Reserve(ctx); !errors.Is(err, store.ErrFull) {
		t.Fatalf("an outcome and a release made two rooms: %v", err)
	}
}

func TestClosed(t *testing.T) {
	ctx := context.Background()
	s := open(t, t.TempDir())
	a, b, c := reserve(t, s), reserve(t, s), reserve(t, s)
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(ctx); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	_, reserved := s.Reserve(ctx)
	for what, err := range map[string]error{
		"reserve": reserved, "ready": s.Ready(), "intent": a.Intent(ctx, example("a", call.Mutating)),
		"outcome": b.Outcome(ctx, done(example("b", call.Mutating))), "queued outcome": c.Outcome(ctx, done(example("c", call.ReadOnly))),
	} {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s after close: %v", what, err)
		}
	}
}

func TestCancelledIntentIsNotExecutedButCompleted(t *testing.T) {
	s := open(t, t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	slot := reserve(t, s)
	if err := slot.Intent(ctx, example("x", call.Mutating)); !errors.Is(err, context.Canceled) {
		t.Fatalf("intent of a cancelled call: %v", err)
	}
	r := example("x", call.Mutating)
	r.Result, r.Status = audit.Cancelled, call.Cancelled
	if err := slot.Outcome(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	records, err := s.Records(context.Background(), audit.Filter{})
	if err != nil || len(records) != 1 || records[0].Result != audit.Cancelled {
		t.Errorf("%+v, %v", records, err)
	}
}
