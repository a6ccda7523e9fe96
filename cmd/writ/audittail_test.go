package main

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/writ-dev/writ/engine/audit"
	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/store"
)

// TestTailShowsEachRecordOnce follows a call that runs while another ends.
func TestTailShowsEachRecordOnce(t *testing.T) {
	ctx := context.Background()
	s, err := store.Open(ctx, t.TempDir(), store.Options{Log: slog.New(slog.DiscardHandler), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(ctx)
	trail, err := store.OpenTrail(ctx, s.Dir())
	if err != nil {
		t.Fatal(err)
	}
	defer trail.Close()
	shown := ""
	f := follower{trail: trail, show: func(r audit.Record) error {
		shown += fmt.Sprintln(r.RequestID, r.Phase)
		return nil
	}}
	slot := func() audit.Slot {
		slot, err := s.Reserve(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return slot
	}
	slow := slot()
	steps := []func() error{
		func() error { return slow.Intent(ctx, audit.Record{RequestID: "slow", Risk: call.Mutating}) },
		func() error { return slot().Outcome(ctx, audit.Record{RequestID: "quick", Risk: call.Mutating}) },
		func() error { return slow.Outcome(ctx, audit.Record{RequestID: "slow", Risk: call.Mutating}) },
		func() error { return nil },
	}
	for i, want := range []string{"", "quick outcome\n", "quick outcome\nslow outcome\n", "quick outcome\nslow outcome\n"} {
		if err := steps[i](); err != nil {
			t.Fatal(err)
		}
		if err := f.look(ctx); err != nil {
			t.Fatal(err)
		}
		if shown != want {
			t.Errorf("after step %d: %q, want %q", i, shown, want)
		}
	}
}
