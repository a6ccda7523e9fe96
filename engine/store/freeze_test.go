package store_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/writ-dev/writ/engine/store"
)

func TestFreeze(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	dir, err := store.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, frozen := dir.Frozen(); frozen {
		t.Fatal("a new folder is frozen")
	}
	if err := dir.Freeze("incident 7"); err != nil {
		t.Fatal(err)
	}
	again, err := store.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	if reason, frozen := again.Frozen(); !frozen || reason != "incident 7" {
		t.Errorf("after a restart: %q %t", reason, frozen)
	}
	if err := again.Thaw(); err != nil {
		t.Fatal(err)
	}
	if _, frozen := dir.Frozen(); frozen {
		t.Error("frozen after a thaw")
	}
	if err := os.Mkdir(filepath.Join(path, "frozen"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, frozen := dir.Frozen(); !frozen {
		t.Error("what cannot be read does not count as frozen")
	}
}
