//go:build unix

package rooted_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/writ-dev/writ/engine/executor/rooted"
)

// Opening a pipe would wait for a writer that never comes.
func TestPipeIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	folder, name, err := rooted.OpenParent(resource(dir, "pipe"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	if _, _, err := folder.Open(name); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Fatalf("Open = %v", err)
	}
}
