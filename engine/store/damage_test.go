package store_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-dev/writ/engine/audit"
	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/store"
)

func database(dir string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "writ.db")+"?_pragma=busy_timeout(5000)")
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

func countFrom(dir string) error {
	db, err := database(dir)
	if err != nil {
		return err
	}
	defer db.Close()
	var n int
	if err := db.QueryRow("SELECT count(*) FROM records").Scan(&n); err != nil {
		return err
	}
	fmt.Println(n)
	return nil
}

func TestOpenRefuses(t *testing.T) {
	file := func(name string, data string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	statement := func(query string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			file("writ.db", "")(t, dir)
			db, err := database(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if _, err := db.Exec(query); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, tt := range map[string]struct {
		damage func(*testing.T, string)
		want   string
	}{
		"not a database":  {file("writ.db", strings.Repeat("no database at all ", 500)), "damaged or not a database"},
		"another program": {statement("CREATE TABLE songs (title TEXT)"), "database of another program"},
		"newer":           {statement("PRAGMA application_id = 0x57726974; PRAGMA user_version = 99"), "written by a newer writ (schema 99"},
		"database is a folder": {func(t *testing.T, dir string) {
			if err := os.Mkdir(filepath.Join(dir, "writ.db"), 0o700); err != nil {
				t.Fatal(err)
			}
		}, "is a directory, not a plain file"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			tt.damage(t, dir)
			if err := os.Chmod(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			_, err := store.Open(context.Background(), dir, store.Options{Log: quiet(), Now: time.Now})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("Open gave %v, want %q", err, tt.want)
			}
			// The refusal left nothing locked.
			if _, again := store.Open(context.Background(), dir, store.Options{Log: quiet(), Now: time.Now}); errors.As(again, new(*store.InUseError)) {
				t.Errorf("the lock was kept: %v", again)
			}
		})
	}
}

func TestTruncatedDatabaseIsReported(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s := open(t, dir)
	for i := range 200 {
		if err := reserve(t, s).Outcome(ctx, done(example(fmt.Sprint(i), call.ReadOnly))); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "writ.db")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copy(data[4096:], bytes.Repeat([]byte{0xA5}, len(data)-4096))
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(ctx, dir, store.Options{Log: quiet(), Now: time.Now}); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("Open of a damaged database gave %v", err)
	}
}

func TestLockedDatabaseRefusesAndRecovers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	s := open(t, dir)
	before := reserve(t, s)
	db, err := database(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	slot := reserve(t, s)
	var failed *store.FailedError
	if err := slot.Intent(ctx, example("refused", call.Mutating)); !errors.As(err, &failed) {
		t.Fatalf("intent in a locked database: %v", err)
	}
	if _, err := s.Reserve(ctx); !errors.As(err, &failed) {
		t.Fatalf("reservation after a failed write: %v", err)
	}
	if err := before.Outcome(ctx, done(example("late", call.ReadOnly))); err != nil {
		t.Fatalf("an outcome with a reservation: %v", err)
	}
	if err := slot.Outcome(ctx, done(example("refused", call.Mutating))); !errors.As(err, &failed) {
		t.Fatalf("an outcome that cannot be durable: %v", err)
	}
	if _, err := db.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	await(t, s)
	records, err := s.Records(ctx, audit.Filter{})
	if err != nil || len(records) != 2 {
		t.Fatalf("after recovery: %d records, %v; want the two outcomes", len(records), err)
	}
	for _, r := range records {
		if r.Phase != audit.Outcome {
			t.Errorf("%s is %s", r.RequestID, r.Phase)
		}
	}
}

// await waits until the store takes reservations again.
func await(t testing.TB, s *store.Store) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for s.Ready() != nil {
		if time.Now().After(deadline) {
			t.Fatalf("never recovered: %v", s.Ready())
		}
		time.Sleep(10 * time.Millisecond)
	}
}
