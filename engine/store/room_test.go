package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/writ-dev/writ/engine/audit"
	"github.com/writ-dev/writ/engine/call"
)

// TestNoRoom limits the database instead of the disk.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, err := Open(ctx, t.TempDir(), Options{Log: slog.New(slog.DiscardHandler), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(ctx)
	limit(t, s, 24)
	var failed *FailedError
	answered, held := 0, []audit.Slot{}
	for range 3 {
		slot, err := s.Reserve(ctx)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, slot)
	}
	for failed == nil && answered < 10_000 {
		slot, err := s.Reserve(ctx)
		if err != nil {
			t.Fatal(err)
		}
		err = slot.Outcome(ctx, audit.Record{RequestID: fmt.Sprint(answered), Risk: call.Mutating})
		if err != nil && !errors.As(err, &failed) {
			t.Fatal(err)
		}
		answered++
	}
	for _, slot := range held { // reads that ran already
		if err := slot.Outcome(ctx, audit.Record{RequestID: "held"}); err != nil {
			t.Fatal(err)
		}
		answered++
	}
	if _, err := s.Reserve(ctx); !errors.As(err, &failed) {
		t.Fatalf("a full database gave a reservation: %v", err)
	}
	limit(t, s, 10_000)
	for deadline := time.Now().Add(30 * time.Second); s.Ready() != nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never recovered: %v", s.Ready())
		}
	}
	if n, err := s.Count(ctx); err != nil || n != int64(answered) {
		t.Errorf("%d records, %v; want %d", n, err, answered)
	}
	if n := s.writer.reserved.Load(); n != 0 {
		t.Errorf("%d rooms were never given back", n)
	}
}

func limit(t *testing.T, s *Store, pages int) {
	t.Helper()
	s.writer.commit.Lock()
	defer s.writer.commit.Unlock()
	if _, err := s.writer.conn.integer(fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
		t.Fatal(err)
	}
}

// TestLogBeginsAnew writes more than the log may hold, with a checkpoint now
// and then, and expects the log to be written from its beginning again.
func TestLogBeginsAnew(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, err := Open(ctx, t.TempDir(), Options{Log: slog.New(slog.DiscardHandler), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(ctx)
	c, err := newCheckpointer(s.writer, s.dir.join(databaseName))
	if err != nil {
		t.Fatal(err)
	}
	defer c.db.Close()
	c.maxLog = 60
	const rows = 500
	for i := range rows {
		slot, err := s.Reserve(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := slot.Outcome(ctx, audit.Record{RequestID: fmt.Sprint(i), Risk: call.Mutating}); err != nil {
			t.Fatal(err)
		}
		if i%50 == 49 {
			if err := c.checkpoint(); err != nil {
				t.Fatal(err)
			}
		}
	}
	info, err := os.Stat(s.dir.join(databaseName + "-wal"))
	if err != nil {
		t.Fatal(err)
	}
	// Every commit here writes a page of 4 KiB at least.
	if all := int64(rows * 4096); info.Size() > all/2 {
		t.Errorf("the log has %d bytes after %d commits: it never began anew", info.Size(), rows)
	}
	if n, err := s.Count(ctx); err != nil || n != rows {
		t.Errorf("%d records, %v", n, err)
	}
}
