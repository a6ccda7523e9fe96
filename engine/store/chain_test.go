package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/writ-dev/writ/engine/audit"
	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/store"
)

// verified follows the chain of a folder.
func verified(t testing.TB, path string, anchor audit.Head) audit.Report {
	t.Helper()
	dir, err := store.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	trail, err := store.OpenTrail(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer trail.Close()
	report, err := trail.Verify(context.Background(), anchor)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// filled is a folder with n records of both kinds, and its head.
func filled(t testing.TB, n int) (string, audit.Head) {
	t.Helper()
	ctx := context.Background()
	path := t.TempDir()
	s := open(t, path)
	for i := range n {
		r := example(fmt.Sprint("r", i+1), call.Level(i%2))
		slot := reserve(t, s)
		if r.Risk > call.ReadOnly {
			if err := slot.Intent(ctx, r); err != nil {
				t.Fatal(err)
			}
		}
		if err := slot.Outcome(ctx, done(r)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
	return path, s.Head()
}

func alter(t testing.TB, path string, statements ...string) {
	t.Helper()
	db, err := database(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range statements {
		result, err := db.Exec(statement)
		if err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			t.Fatalf("%s changed nothing: %v", statement, err)
		}
	}
}

func TestChainHolds(t *testing.T) {
	path, head := filled(t, 30)
	// 30 outcomes, 15 intents, a start and a stop.
	report := verified(t, path, audit.Head{})
	if report.Problems != nil || report.Anchored || report.First != 1 || report.Head != head || head.Count != 47 || report.Marks != 2 {
		t.Errorf("without a head: %+v, head %v", report, head)
	}
	s := open(t, path) // writes nothing by itself
	if s.Head() != head {
		t.Errorf("opened at %v, closed at %v", s.Head(), head)
	}
	if err := reserve(t, s).Outcome(context.Background(), done(example("x", call.Mutating))); err != nil {
		t.Fatal(err)
	}
	for _, anchor := range []audit.Head{head, s.Head()} {
		if report := verified(t, path, anchor); report.Problems != nil || !report.Anchored || report.Head.Count != 49 {
			t.Errorf("with head %v of a running store: %+v", anchor, report)
		}
	}
}

// TestEveryBit flips one bit of every column of a record in the middle, and of
// a mark.
func TestEveryBit(t *testing.T) {
	path, head := filled(t, 30)
	for _, tt := range []struct{ table, where, name string }{
		{"records", "sequence = 12", "record 12"}, {"records", "sequence = 13", "record 13"}, {"marks", "kind = 'stop'", "stop mark at position"},
	} {
		db, err := database(path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		rows, err := db.Query("SELECT name, type FROM pragma_table_info('" + tt.table + "')")
		if err != nil {
			t.Fatal(err)
		}
		types := map[string]string{}
		for rows.Next() {
			var name, kind string
			if err := rows.Scan(&name, &kind); err != nil {
				t.Fatal(err)
			}
			types[name] = kind
		}
		if err := rows.Close(); err != nil || len(types) < 7 {
			t.Fatal(types, err)
		}
		for column, kind := range types {
			var before any
			if err := db.QueryRow("SELECT " + column + " FROM " + tt.table + " WHERE " + tt.where).Scan(&before); err != nil {
				t.Fatal(err)
			}
			var after any
			switch v := before.(type) {
			case nil:
				continue // of a record with one entry
			case int64:
				after = v ^ 1<<20
			case string:
				b := []byte(v)
				b[len(b)/2] ^= 1
				after = string(b)
			case []byte:
				b := append([]byte(nil), v...)
				b[len(b)/2] ^= 1
				after = b
			}
			set := func(value any, where string) {
				if _, err := db.Exec("UPDATE "+tt.table+" SET "+column+" = ? WHERE "+where, value); err != nil {
					t.Fatalf("%s (%s): %v", column, kind, err)
				}
			}
			where := tt.where
			set(after, where)
			report := verified(t, path, head)
			text := fmt.Sprint(report.Problems)
			if report.Problems == nil || !strings.Contains(text, tt.name) && column != "kind" {
				t.Errorf("a bit of %s.%s of %s: %s", tt.table, column, tt.name, text)
			}
			if column == "sequence" && tt.table == "records" {
				where = fmt.Sprintf("sequence = %d", after)
			} else if column == "kind" {
				where = fmt.Sprintf("kind = '%s'", after)
			}
			set(before, where)
		}
	}
	if report := verified(t, path, head); report.Problems != nil {
		t.Errorf("the test left something behind: %+v", report)
	}
}

func TestTampering(t *testing.T) {
	whole, head := filled(t, 60)
	data, err := os.ReadFile(filepath.Join(whole, "writ.db"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(filepath.Join(whole, "audit.key"))
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		statements []string
		anchored   bool
		want       string // nothing: it cannot be seen
	}{
		"removed":       {[]string{"DELETE FROM records WHERE sequence = 12"}, false, "record 12 is missing"},
		"first removed": {[]string{"DELETE FROM records WHERE sequence = 1"}, false, "missing before record 2"},
		"beginning removed": {[]string{"DELETE FROM records WHERE sequence < 9", "DELETE FROM marks WHERE kind = 'start'"}, false,
			"everything before it is missing"},
		"exchanged": {[]string{"UPDATE records SET sequence = 9999 WHERE sequence = 20", "UPDATE records SET sequence = 20 WHERE sequence = 30",
			"UPDATE records SET sequence = 30 WHERE sequence = 9999"}, false, "record 30 stands at position 30, out of order"},
		"exchanged but for the chain": {[]string{"CREATE TEMP TABLE a AS SELECT * FROM records WHERE sequence IN (20, 22)",
			"UPDATE records SET body = (SELECT body FROM a WHERE a.sequence = 42 - records.sequence), request_id = (SELECT request_id FROM a WHERE a.sequence = 42 - records.sequence) WHERE sequence IN (20, 22)"},
			false, "record 22 was changed"},
		"added":             {[]string{"INSERT INTO records SELECT 61, phase, 'forged', started, tool, principal, result, body, NULL, NULL, NULL, NULL, NULL FROM records WHERE sequence = 3"}, false, "record 61 is not in the chain"},
		"taken out":         {[]string{"UPDATE records SET position = NULL, hash = NULL, first_position = NULL, first_hash = NULL, first_digest = NULL WHERE sequence = 12"}, false, "record 12 is not in the chain"},
		"cut off":           {[]string{"DELETE FROM records WHERE sequence > 50"}, false, "are missing before the stop mark"},
		"cut off with mark": {[]string{"DELETE FROM records WHERE sequence > 50", "DELETE FROM marks WHERE kind = 'stop'"}, false, ""},
		"cut off, anchored": {[]string{"DELETE FROM records WHERE sequence > 50", "DELETE FROM marks WHERE kind = 'stop'"}, true, "missing at the end: it was cut off"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state")
			if err := errors.Join(os.Mkdir(path, 0o700), os.WriteFile(filepath.Join(path, "writ.db"), data, 0o600), os.WriteFile(filepath.Join(path, "audit.key"), key, 0o600)); err != nil {
				t.Fatal(err)
			}
			if tt.statements[0][:6] == "CREATE" {
				db, err := database(path)
				if err != nil {
					t.Fatal(err)
				}
				defer db.Close()
				for _, s := range tt.statements {
					if _, err := db.Exec(s); err != nil {
						t.Fatal(err)
					}
				}
			} else {
				alter(t, path, tt.statements...)
			}
			anchor := audit.Head{}
			if tt.anchored {
				anchor = head
			}
			report := verified(t, path, anchor)
			if text := fmt.Sprint(report.Problems); tt.want == "" && report.Problems != nil || !strings.Contains(text, tt.want) {
				t.Errorf("%s, want %q", text, tt.want)
			}
		})
	}
}

// TestCutAndGoneOn cuts the end off and lets the store go on writing.
func TestCutAndGoneOn(t *testing.T) {
	path, head := filled(t, 20)
	alter(t, path, "DELETE FROM records WHERE sequence > 10", "DELETE FROM marks WHERE kind = 'stop'")
	s := open(t, path)
	for i := range 30 {
		if err := reserve(t, s).Outcome(context.Background(), done(example(fmt.Sprint("new", i), call.Mutating))); err != nil {
			t.Fatal(err)
		}
	}
	if report := verified(t, path, head); !strings.Contains(fmt.Sprint(report.Problems), "the chain was written anew") {
		t.Errorf("%+v", report)
	}
}

func TestChainOfManyWriters(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := t.TempDir()
	s := open(t, path)
	slow := reserve(t, s) // ends after several marks
	if err := slow.Intent(ctx, example("slow", call.Critical)); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for caller := range 32 {
		group.Go(func() {
			for i := range 60 {
				r := example(fmt.Sprintf("%d-%d", caller, i), call.Level(i%2))
				slot, err := s.Reserve(ctx)
				if err != nil {
					t.Error(err)
					return
				}
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
	if err := slow.Outcome(ctx, done(example("slow", call.Critical))); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
	report := verified(t, path, s.Head())
	if report.Problems != nil || !report.Anchored || report.Marks < 4 || report.Head.Count != int64(32*90+2+report.Marks) {
		t.Errorf("%+v", report)
	}
	again := open(t, path)
	if again.Head() != s.Head() {
		t.Errorf("the end was found at %v, not %v", again.Head(), s.Head())
	}
}

// TestChainAfterKill kills a process that writes, twice. It does not run beside
// others, whose new processes may hold a lock for a moment that was given back.
func TestChainAfterKill(t *testing.T) {
	path := t.TempDir()
	for round := range 2 {
		cmd := command("run", path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; n < 40 && lines.Scan(); n++ {
			continue
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		if report := verified(t, path, audit.Head{}); report.Problems != nil || report.Head.Count < 40 {
			t.Fatalf("round %d, as it was left: %+v", round, report)
		}
		s := open(t, path)
		head := s.Head()
		if err := s.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		if report := verified(t, path, head); report.Problems != nil || !report.Anchored {
			t.Fatalf("round %d, started again: %+v", round, report)
		}
	}
}

// TestMigrationBeginsTheChain takes a database of the first schema.
func TestMigrationBeginsTheChain(t *testing.T) {
	ctx := context.Background()
	path, _ := filled(t, 6)
	alterSchema(t, path, "UPDATE records SET phase = 'intent', result = '' WHERE sequence = 6", "DROP TABLE marks",
		"ALTER TABLE records DROP COLUMN position", "ALTER TABLE records DROP COLUMN hash", "ALTER TABLE records DROP COLUMN first_position",
		"ALTER TABLE records DROP COLUMN first_digest", "ALTER TABLE records DROP COLUMN first_hash", "PRAGMA user_version = SCHEMA")
	s := open(t, path)
	if err := reserve(t, s).Outcome(ctx, done(example("new", call.Mutating))); err != nil {
		t.Fatal(err)
	}
	// A start, the record that was interrupted, and the new one.
	if report := verified(t, path, s.Head()); report.Problems != nil || report.Unchained != 5 || report.Head.Count != 3 {
		t.Errorf("%+v", report)
	}
	if n, err := s.Count(ctx); err != nil || n != 7 {
		t.Errorf("%d records, %v", n, err)
	}
}

// alterSchema runs statements; SCHEMA stands for the schema before the chain.
func alterSchema(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := database(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var version int
	if err := db.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
		t.Fatal(err)
	}
	for _, statement := range statements {
		if _, err := db.Exec(strings.ReplaceAll(statement, "SCHEMA", fmt.Sprint(version-1))); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}
