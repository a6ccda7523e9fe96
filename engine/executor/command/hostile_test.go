//go:build linux || darwin || freebsd || netbsd || openbsd

package command

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/executor"
)

// TestNoRelativeFolderInPath: what a program starts by name is never found in
// the folder that it works in.
func TestNoRelativeFolderInPath(t *testing.T) {
	for path, want := range map[string]string{
		":/bin::/usr/bin:.:bin:": "PATH=/bin:/usr/bin\n",
		".:":                     "",
		"":                       "",
	} {
		t.Setenv("PATH", path)
		t.Setenv("HOME", "")
		t.Setenv("LANG", "")
		got := execute(t, context.Background(), block(t, "", "env"), nil, executor.Run{})
		if text := strings.ReplaceAll(string(got.Body.Head), "HOME=\nLANG=\n", ""); text != want {
			t.Errorf("%q: %q", path, text)
		}
	}
}

// TestEscapeIsTold: what left the group cannot hold the call, and nobody is
// told that it was ended.
func TestEscapeIsTold(t *testing.T) {
	got := execute(t, context.Background(), block(t, "", "escape"), nil, executor.Run{Grace: 30 * time.Millisecond})
	if got.Status != call.Complete || !strings.Contains(got.Reason, "may still be running") {
		t.Errorf("%+v", got)
	}
	pids := numbersIn(t, got)
	if len(pids) != 2 {
		t.Fatalf("processes %v", pids)
	}
	if err := syscall.Kill(pids[1], syscall.SIGKILL); err != nil {
		t.Errorf("what escaped was not there: %v", err)
	}
}
