package executor_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/executor"
)

// upper is a Stream that holds its last byte back.
type upper struct{ held []byte }

func (u *upper) Write(piece []byte) []byte {
	all := append(u.held, bytes.ToUpper(piece)...)
	u.held = all[len(all)-1:]
	return all[:len(all)-1]
}

func (u *upper) Flush() []byte { return u.held }

func TestCapture(t *testing.T) {
	run := executor.Run{MaxBytes: 6, Redactor: func() executor.Stream { return &upper{} }}
	for in, want := range map[string]string{"abc": "ABC|", "abcdef": "ABCDEF|", "abcdefgh": "ABC|FGH", "abéééé": "AB|É"} {
		got := run.Capture([]byte(in))
		if text := string(got.Head) + "|" + string(got.Tail); text != want || got.Total != int64(len(in)) {
			t.Errorf("Capture(%q) = %s of %d, want %s", in, text, got.Total, want)
		}
	}
	long := strings.Repeat("x", 100)
	if got := (executor.Run{}).Capture([]byte(long)); string(got.Head) != long || got.Truncated() {
		t.Errorf("without a limit %d bytes are kept", len(got.Head))
	}
}

func TestEnded(t *testing.T) {
	late, cancel := context.WithTimeout(t.Context(), -time.Second)
	defer cancel()
	if got := executor.Ended(late).Status; got != call.TimedOut {
		t.Errorf("late: %s", got)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if got := executor.Ended(stopped).Status; got != call.Cancelled {
		t.Errorf("stopped: %s", got)
	}
}
