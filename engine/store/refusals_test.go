package store_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-dev/writ/engine/audit"
	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/store"
)

func refused(id string, level call.Level) audit.Record {
	r := example(id, level)
	r.Result, r.Status, r.Code, r.Decision = audit.Refused, call.Refused, "denied", "deny"
	return r
}

// TestFloodOfRefusals refuses the same call many times, in two minutes, and
// some others.
func TestFloodOfRefusals(t *testing.T) {
	ctx := context.Background()
	var minutes atomic.Int64
	path := t.TempDir()
	now := func() time.Time { return time.Unix(1_800_000_000, 0).Add(time.Duration(minutes.Load()) * time.Minute) }
	s, err := store.Open(ctx, path, store.Options{Log: quiet(), Now: now, Queue: 64})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(ctx)
	refuse := func(r audit.Record) {
		slot, err := s.Reserve(ctx)
		if err == nil {
			err = slot.Outcome(ctx, r)
		}
		if err != nil {
			t.Error(err)
		}
	}
	for minute := range 2 {
		var group sync.WaitGroup
		for caller := range 8 {
			group.Go(func() {
				for i := range 200 {
					refuse(refused(fmt.Sprint(minute, caller, i), call.Mutating))
				}
			})
		}
		group.Wait()
		minutes.Add(1)
	}
	other := refused("other rules", call.ReadOnly)
	other.Rules = []string{"two", "one"}
	rejected := refused("by a person", call.ReadOnly)
	rejected.Approval = "rejected"
	for _, r := range []audit.Record{other, rejected, rejected, done(example("success", call.ReadOnly)), done(example("success", call.ReadOnly))} {
		refuse(r)
	}
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
	head := s.Head()
	s = open(t, path)
	records, err := s.Records(ctx, audit.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range records {
		got = append(got, fmt.Sprint(r.Code, " ", r.Count, " ", r.Approval))
	}
	want := "denied 1600 not_required, denied 1600 not_required, denied 0 not_required, denied 0 rejected, denied 0 rejected,  0 not_required,  0 not_required"
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	// Seven records, two of them counted, a start and a stop.
	if report := verified(t, path, head); report.Problems != nil || !report.Anchored || report.Head.Count != 11 {
		t.Errorf("%+v", report)
	}
}

// TestCountIsWrittenByItself waits for the end of a window without another call.
func TestCountIsWrittenByItself(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var late atomic.Bool
	now := func() time.Time {
		if late.Load() {
			return time.Unix(1_800_000_061, 0)
		}
		return time.Unix(1_800_000_000, 0)
	}
	s, err := store.Open(ctx, t.TempDir(), store.Options{Log: quiet(), Now: now})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(ctx)
	for range 3 {
		if err := reserve(t, s).Outcome(ctx, refused("r", call.ReadOnly)); err != nil {
			t.Fatal(err)
		}
	}
	late.Store(true)
	trail, err := store.OpenTrail(ctx, s.Dir())
	if err != nil {
		t.Fatal(err)
	}
	defer trail.Close()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if r, err := trail.Numbered(ctx, 1); err == nil && r.Count == 3 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the count was never written")
		}
	}
}
