package store_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-dev/writ/engine/audit"
	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/store"
)

// child makes the test binary act as another process; see TestMain.
const child = "STORE_TEST_CHILD"

func TestMain(m *testing.M) {
	if job := os.Getenv(child); job != "" {
		if err := act(job, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func TestKilledProcess(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	cmd := command("run", dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	promised := map[string]bool{}
	lines := bufio.NewScanner(out)
	for len(promised) < 60 && lines.Scan() {
		promised[lines.Text()] = true
	}
	var inUse *store.InUseError
	if _, err := store.Open(ctx, dir, store.Options{Log: quiet(), Now: time.Now}); !errors.As(err, &inUse) || inUse.PID != cmd.Process.Pid {
		t.Errorf("opened beside process %d: %v", cmd.Process.Pid, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		promised[lines.Text()] = true
	}
	cmd.Wait()

	s := open(t, dir)
	recovery := s.Recovery()
	// Four callers run; each is inside at most one call. "held" never ends.
	if !recovery.Unclean || recovery.Interrupted < 1 || recovery.Interrupted > 5 {
		t.Errorf("recovery is %+v", recovery)
	}
	held, err := s.Record(ctx, "held")
	if err != nil || held.Phase != audit.Interrupted || held.Result != audit.Cancelled || held.Code != "interrupted" {
		t.Errorf("the call that was running: %+v, %v", held, err)
	}
	for line := range promised {
		id, phase, _ := strings.Cut(line, " ")
		got, err := s.Record(ctx, id)
		if err != nil {
			t.Errorf("%s was promised and is lost: %v", line, err)
		} else if phase == "outcome" && got.Phase != audit.Outcome {
			t.Errorf("%s was promised, found %s", line, got.Phase)
		}
	}
}

// command runs this test binary as another process.
func command(job string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), child+"="+job)
	cmd.Stderr = os.Stderr
	return cmd
}

// act is what the other process does.
func act(job string, args []string) error {
	ctx := context.Background()
	switch job {
	case "count":
		return countFrom(args[0])
	case "full":
		return fill(args[0])
	}
	s, err := store.Open(ctx, args[0], store.Options{Log: quiet(), Now: time.Now})
	if err != nil {
		return err
	}
	slot, err := s.Reserve(ctx)
	if err != nil {
		return err
	}
	if err := slot.Intent(ctx, example("held", call.Critical)); err != nil {
		return err
	}
	var group sync.WaitGroup
	for caller := range 4 {
		group.Go(func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("%d-%d", caller, i)
				slot, err := s.Reserve(ctx)
				if err != nil {
					return
				}
				if slot.Intent(ctx, example(id, call.Mutating)) == nil {
					say(id + " intent")
				}
				if slot.Outcome(ctx, done(example(id, call.Mutating))) == nil {
					say(id + " outcome")
				}
			}
		})
	}
	group.Wait()
	return nil
}

// say writes one whole line at once, so that a kill cannot cut it.
func say(line string) { os.Stdout.Write(append(bytes.TrimSpace([]byte(line)), '\n')) }
