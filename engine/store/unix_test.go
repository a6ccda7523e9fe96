//go:build unix

package store_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-dev/writ/engine/store"
)

func TestPrivateFilesOnly(t *testing.T) {
	run := func(err error) func(t *testing.T) {
		return func(t *testing.T) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, tt := range map[string]struct {
		damage func(dir string) error
		want   string
	}{
		"open folder": {func(dir string) error {
			if err := os.WriteFile(filepath.Join(dir, "token"), nil, 0o600); err != nil {
				return err
			}
			return os.Chmod(dir, 0o750)
		}, "run chmod 0700"},
		"linked folder": {func(dir string) error {
			if err := os.Rename(dir, dir+"x"); err != nil {
				return err
			}
			return os.Symlink(dir+"x", dir)
		}, "is a symbolic link"},
		"open database": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "writ.db"), nil, 0o644)
		}, "run chmod 0600"},
		"linked database": {func(dir string) error {
			return os.Symlink("/dev/null", filepath.Join(dir, "writ.db"))
		}, "is a symbolic link, not a plain file"},
		"linked log": {func(dir string) error {
			return os.Symlink("elsewhere", filepath.Join(dir, "writ.db-wal"))
		}, "is a symbolic link, not a plain file"},
		"linked lock": {func(dir string) error {
			return os.Symlink("elsewhere", filepath.Join(dir, "lock"))
		}, "is a symbolic link, not a plain file"},
		"two names": {func(dir string) error {
			if err := os.WriteFile(filepath.Join(dir, "writ.db"), nil, 0o600); err != nil {
				return err
			}
			return os.Link(filepath.Join(dir, "writ.db"), dir+"-second")
		}, "has 2 names"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "state")
			run(os.Mkdir(dir, 0o700))(t)
			run(tt.damage(dir))(t)
			_, err := store.Open(context.Background(), dir, store.Options{Log: quiet(), Now: time.Now})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Open gave %v, want %q", err, tt.want)
			}
		})
	}
}

func TestModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := open(t, dir)
	if _, err := s.Dir().Key(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) < 4 {
		t.Fatalf("%v, %v", entries, err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %04o", entry.Name(), info.Mode().Perm())
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v", info.Mode(), err)
	}
}

func TestSecrets(t *testing.T) {
	dir, err := store.OpenDir(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	make := func(s string) func() ([]byte, error) { return func() ([]byte, error) { return []byte(s), nil } }
	for range 2 {
		if got, err := dir.Secret("token", make("first")); err != nil || string(got) != "first" {
			t.Errorf("Secret = %q, %v", got, err)
		}
	}
	if err := dir.ReplaceSecret("token", []byte("second")); err != nil {
		t.Fatal(err)
	}
	if got, err := dir.Secret("token", make("third")); err != nil || string(got) != "second" {
		t.Errorf("after replacing: %q, %v", got, err)
	}
	if err := os.Chmod(filepath.Join(dir.Path(), "token"), 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := dir.Secret("token", make("fourth")); err == nil || !strings.Contains(err.Error(), "run chmod 0600") {
		t.Errorf("a secret that others can read: %v", err)
	}
	one, err := dir.Key()
	if err != nil {
		t.Fatal(err)
	}
	two, err := dir.Key()
	if err != nil || one.Session("x") != two.Session("x") {
		t.Errorf("the key changed: %v", err)
	}
	left, err := os.ReadDir(dir.Path())
	if err != nil || len(left) != 2 {
		t.Errorf("temporary files are left: %v, %v", left, err)
	}
}
