package store

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/writ-dev/writ/engine/audit"
	"github.com/writ-dev/writ/engine/call"
)

func openGrants(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(context.Background(), path, Options{Log: slog.New(slog.DiscardHandler), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	return s
}

func noted(t *testing.T, s *Store, grants ...InForce) {
	t.Helper()
	if err := s.EnterGrants(grants); err != nil {
		t.Fatal(err)
	}
}

// try uses a grant once, for a call of its own.
func try(t *testing.T, s *Store, use audit.Use) error {
	t.Helper()
	slot, err := s.Reserve(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer slot.Release()
	record := audit.Record{RequestID: "r", Risk: call.Mutating, Grant: use.Grant}
	err = slot.(audit.Spender).IntentUsing(context.Background(), record, use)
	if err == nil {
		err = slot.Outcome(context.Background(), record)
	}
	return err
}

// uses spends a grant until it releases nothing any more.
func uses(t *testing.T, s *Store, use audit.Use) int {
	t.Helper()
	for n := range 100 {
		switch err := try(t, s, use); {
		case errors.Is(err, audit.ErrNotReleased):
			return n
		case err != nil:
			t.Fatal(err)
		}
	}
	return 100
}

// TestLastUse lets many callers race for few uses, across a reopening.
func TestLastUse(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	released := 0
	for range 2 {
		s := openGrants(t, path)
		noted(t, s, InForce{Name: "g", Uses: 20})
		var group sync.WaitGroup
		var mu sync.Mutex
		for range 12 {
			group.Go(func() {
				err := try(t, s, audit.Use{Grant: "g", Uses: 20})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					released++
				} else if !errors.Is(err, audit.ErrNotReleased) {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if err := s.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if released != 20 {
		t.Errorf("%d releases, want 20", released)
	}
	s := openGrants(t, path)
	if n, err := s.Count(context.Background()); err != nil || n != 20 {
		t.Errorf("%d records, %v; a use and its intent are one", n, err)
	}
	grants, err := s.Grants(context.Background())
	if g := grants["g"]; err != nil || g.Used != 20 || *g.Remaining != 0 || g.FirstUsed.IsZero() {
		t.Errorf("kept %+v, %v", grants["g"], err)
	}
}

// TestLimitsOnlyTighten changes what the configuration allows (contract P-65).
func TestLimitsOnlyTighten(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before int64
		spent  int
		after  []int64 // limits of the generations that follow
		left   int
	}{
		"same":              {5, 2, []int64{5}, 3},
		"removed, added":    {5, 2, []int64{5, 5}, 3},
		"lowered":           {9, 2, []int64{3}, 3},
		"lowered to spent":  {9, 7, []int64{4}, 2},
		"raised":            {3, 2, []int64{50}, 1},
		"raised when spent": {3, 3, []int64{50}, 0},
		"lowered, raised":   {9, 0, []int64{2, 9}, 2},
		"made unlimited":    {3, 1, []int64{0}, 2},
		"made limited":      {0, 4, []int64{3}, 3},
	} {
		s := openGrants(t, t.TempDir())
		noted(t, s, InForce{Name: "g", Uses: c.before})
		for range c.spent {
			if err := try(t, s, audit.Use{Grant: "g", Uses: c.before}); err != nil {
				t.Fatal(name, err)
			}
		}
		for _, limit := range c.after {
			noted(t, s, InForce{Name: "g", Uses: limit})
		}
		last := c.after[len(c.after)-1]
		kept, err := s.Grants(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if left, _ := kept["g"].Left(last); left != int64(c.left) {
			t.Errorf("%s: says that %d are left, want %d", name, left, c.left)
		}
		if n := uses(t, s, audit.Use{Grant: "g", Uses: last}); n != c.left {
			t.Errorf("%s: %d uses left, want %d", name, n, c.left)
		}
	}
}

func TestRevocationIsForGood(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	s := openGrants(t, path)
	noted(t, s, InForce{Name: "g"})
	if err := s.RevokeGrant("other", "bob"); !errors.Is(err, ErrNoGrant) {
		t.Errorf("an unknown grant was revoked: %v", err)
	}
	if err := s.RevokeGrant("g", "bob"); err != nil {
		t.Fatal(err)
	}
	if err := s.RevokeGrant("g", "eve"); err != nil {
		t.Fatal(err)
	}
	_ = s.Close(context.Background())
	s = openGrants(t, path)
	noted(t, s, InForce{Name: "g", Uses: 9, Reviewed: "2030-01-01"})
	if n := uses(t, s, audit.Use{Grant: "g", Uses: 9}); n != 0 {
		t.Errorf("a revoked grant released %d calls", n)
	}
	if g, err := s.Grants(context.Background()); err != nil || g["g"].RevokedBy != "bob" || g["g"].Revoked.IsZero() {
		t.Errorf("kept %+v, %v", g["g"], err)
	}
}

// TestPatternsCoverWhatWasThere adds and changes tools under a pattern.
func TestPatternsCoverWhatWasThere(t *testing.T) {
	t.Parallel()
	s := openGrants(t, t.TempDir())
	noted(t, s, InForce{Name: "g", Tools: map[string]string{"a": "1"}})
	covers := func(tool, digest string) bool {
		err := try(t, s, audit.Use{Grant: "g", Tool: tool, Digest: digest})
		if err != nil && !errors.Is(err, audit.ErrNotReleased) {
			t.Fatal(err)
		}
		return err == nil
	}
	noted(t, s, InForce{Name: "g", Tools: map[string]string{"a": "2", "b": "1"}})
	if !covers("a", "1") || covers("a", "2") || covers("b", "1") {
		t.Error("a tool that is new or has changed is covered without a review")
	}
	noted(t, s, InForce{Name: "g", Reviewed: "2026-12-01", Tools: map[string]string{"a": "2", "b": "1"}})
	if covers("a", "1") || !covers("a", "2") || !covers("b", "1") {
		t.Error("a review did not cover what is there")
	}
	noted(t, s, InForce{Name: "g", Reviewed: "2026-11-01", Tools: map[string]string{"c": "1"}})
	if covers("c", "1") {
		t.Error("an earlier day counts as a review")
	}
}

// TestDamagedCount refuses the calls that need a grant and no others.
func TestDamagedCount(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]string{
		"negative": "PRAGMA ignore_check_constraints = 1; UPDATE grants SET remaining = -1",
		"gone":     "DELETE FROM grants",
		"no table": "DROP TABLE grants",
	} {
		s := openGrants(t, t.TempDir())
		noted(t, s, InForce{Name: "g", Uses: 3})
		if err := s.writer.exclusively(func(c *conn) error { return c.exec(damage) }); err != nil {
			t.Fatal(name, err)
		}
		var wrong *GrantError
		if err := try(t, s, audit.Use{Grant: "g", Uses: 3}); !errors.As(err, &wrong) {
			t.Errorf("%s: %v", name, err)
		}
		slot, err := s.Reserve(context.Background())
		if err != nil {
			t.Fatal(name, err)
		}
		if err := slot.Intent(context.Background(), audit.Record{Risk: call.Mutating}); err != nil {
			t.Errorf("%s: a call without a grant: %v", name, err)
		}
		slot.Release()
	}
}
