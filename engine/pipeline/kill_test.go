//go:build unix

package pipeline_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/writ-dev/writ/engine/approval"
	"github.com/writ-dev/writ/engine/approval/approvaltest"
	"github.com/writ-dev/writ/engine/audit"
	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/pipeline"
	"github.com/writ-dev/writ/engine/store"
)

// killedIn names the folder in which a process of this test executes a call
// until it is killed.
const killedIn = "WRIT_TEST_KILLED_IN"

// executeUntilKilled makes one approved mutating call on a real store. The
// executor says that it runs, and never ends.
func executeUntilKilled(t *testing.T, folder string) {
	s, err := store.Open(context.Background(), filepath.Join(folder, "state"), store.Options{Log: slog.New(slog.DiscardHandler), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, oneTool("mutating"))
	b.kind.run = func(context.Context) call.Outcome {
		if err := os.WriteFile(filepath.Join(folder, "running"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		select {}
	}
	key, err := s.Dir().Key()
	if err != nil {
		t.Fatal(err)
	}
	p := pipeline.New(pipeline.Options{
		Live: b.live, Desk: approval.NewDesk(time.Now, rand.Text), Journal: s, Key: key,
		Limits: pipeline.DefaultLimits(), Now: time.Now, NewID: rand.Text, Log: slog.New(slog.DiscardHandler),
	})
	prepared, err := p.Prepare(context.Background(), request("t", `{"n": 5}`))
	if err != nil {
		t.Fatal(err)
	}
	p.Execute(context.Background(), approvaltest.Approve(prepared, time.Now().Add(time.Hour)))
}

// A process that is killed between intent and outcome leaves a record that
// tells the truth: the call was about to run, and what came of it is unknown.
func TestKilledDuringExecution(t *testing.T) {
	if folder := os.Getenv(killedIn); folder != "" {
		executeUntilKilled(t, folder)
		return
	}
	folder := t.TempDir()
	child := exec.Command(os.Args[0], "-test.run=^TestKilledDuringExecution$")
	child.Env = append(os.Environ(), killedIn+"="+folder)
	child.Stderr = os.Stderr
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "running")); err == nil {
			break
		}
		if child.ProcessState != nil {
			t.Fatal("the process ended by itself")
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	s, err := store.Open(t.Context(), filepath.Join(folder, "state"), store.Options{Log: slog.New(slog.DiscardHandler), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.Background())
	if recovery := s.Recovery(); recovery.Interrupted != 1 || !recovery.Unclean {
		t.Errorf("recovery is %+v", recovery)
	}
	records, err := s.Records(t.Context(), audit.Filter{})
	if err != nil || len(records) != 1 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	if r := records[0]; r.Phase != audit.Interrupted || r.Tool != "t" || r.Approval != approval.ApprovedOnce || r.Result != audit.Cancelled {
		t.Errorf("the record says %+v", r)
	}
}
