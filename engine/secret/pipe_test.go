//go:build unix

package secret

import (
	"path/filepath"
	"syscall"
	"testing"
)

// Opening a pipe would hold the reload until somebody writes to it.
func TestPipeIsNoSecretFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ReadFile(path); err == nil {
		t.Error("a pipe was read")
	}
}
