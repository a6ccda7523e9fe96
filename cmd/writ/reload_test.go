package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/engine/call"
)

// newEngine assembles the rooms for a starter configuration of its own.
func newEngine(t *testing.T) (e *engine, folder string) {
	t.Helper()
	base := t.TempDir()
	a := &app{
		out: io.Discard, errors: io.Discard, config: filepath.Join(base, "c"), stateDir: filepath.Join(base, "state"),
		environ: []string{"PATH=" + os.Getenv("PATH")}, folder: func() (string, error) { return base, nil },
		now: time.Now, user: func() string { return "ann" }, terminal: func(any) bool { return false },
	}
	if _, err := a.initialise(a.config); err != nil {
		t.Fatal(err)
	}
	c := &cobra.Command{}
	c.Flags().StringVar(&a.stateDir, "state-dir", a.stateDir, "")
	if err := c.Flags().Set("state-dir", a.stateDir); err != nil {
		t.Fatal(err)
	}
	p, err := a.place(c, true)
	if err != nil {
		t.Fatal(err)
	}
	e, err = a.open(t.Context(), p, assembly{state: true, log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if _, err := e.load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return e, a.config
}

// TestThousandReloads edits files under load: no call fails, every edit comes
// into force, and nothing is left behind.
func TestThousandReloads(t *testing.T) {
	e, folder := newEngine(t)
	ctx, cancel := context.WithCancel(t.Context())
	var load sync.WaitGroup
	var calls, failed atomic.Int64
	for range 2 {
		load.Go(func() {
			for ctx.Err() == nil {
				result := e.pipeline.Call(context.Background(), call.Request{
					Tool: "read_note", Arguments: []byte(`{"path": "welcome.md"}`), Entry: call.EntryCLI, Local: true,
					Principal: call.Principal{Name: "local:ann"},
				})
				calls.Add(1)
				if !result.Success {
					failed.Add(1)
					t.Errorf("a call failed: %s %s", result.Code, result.Reason)
					return
				}
				time.Sleep(2 * time.Millisecond)
			}
		})
	}
	tools, err := os.ReadFile(filepath.Join(folder, "tools.d", "notes.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var memory uint64
	goroutines := 0
	const reloads = 1000
	for i := range reloads {
		if i == 100 {
			memory, goroutines = inUse(), runtime.NumGoroutine()
		}
		title := fmt.Sprintf("title: Count words %d", i)
		edited := strings.Replace(string(tools), "title: Count words", title, 1)
		if err := os.WriteFile(filepath.Join(folder, "tools.d", "notes.yaml"), []byte(edited), 0o644); err != nil {
			t.Fatal(err)
		}
		outcome := e.reloader.Reload(t.Context())
		if !outcome.Published || e.live.Current().Tool("count_words").Title != title[len("title: "):] {
			t.Fatalf("reload %d: %+v", i, outcome)
		}
	}
	if now := runtime.NumGoroutine(); now > goroutines+2 {
		t.Errorf("%d goroutines, %d before", now, goroutines)
	}
	if now := inUse(); now > memory+memory/20+1<<20 {
		t.Errorf("%d bytes in use, %d before", now, memory)
	}
	if generation := e.live.Current().Generation; generation != reloads+1 {
		t.Errorf("generation %d after %d reloads", generation, reloads)
	}
	cancel()
	load.Wait()
	if calls.Load() == 0 {
		t.Error("nothing was called meanwhile")
	}
}

func inUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// What a person sees is in force must not depend on the order of edits.
func TestBuildTellsWhatChanged(t *testing.T) {
	e, folder := newEngine(t)
	if c := e.build(t.Context()); !c.Unchanged || len(c.Loosens) > 0 || c.Problems.HasErrors() {
		t.Fatalf("nothing changed: %+v", c)
	}
	policies := filepath.Join(folder, "policies", "notes.yaml")
	text, err := os.ReadFile(policies)
	if err != nil {
		t.Fatal(err)
	}
	risky, _, _ := strings.Cut(string(text), "---\n")
	if err := os.WriteFile(policies, []byte(risky), 0o644); err != nil {
		t.Fatal(err)
	}
	c := e.build(t.Context())
	if got := strings.Join(c.Loosens, ", "); got != "deny rule no-secrets, policy default" {
		t.Fatalf("loosens %q, problems %v", got, c.Problems)
	}
	settings := filepath.Join(folder, "writ.yaml")
	for text, want := range map[string]string{
		"version: 1\nroots: {work: ./work}\nlisten: 127.0.0.1:9000\n":                                                                              "needs-restart",
		"version: 1\nroots: {work: ./work}\ncallers: [{name: a, token_sha256: " + sumOf("x") + "}, {name: b, token_sha256: " + sumOf("x") + "}]\n": "token of another",
		"version: 1\nroots: {work: ./tools.d}\n":                                                                                                   "roots",
	} {
		if err := os.WriteFile(settings, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		c := e.build(t.Context())
		found := false
		for _, d := range c.Problems {
			found = found || d.Code == want || strings.Contains(d.Message, want)
		}
		if !found {
			t.Errorf("%s gave %v, want %s", text, c.Problems, want)
		}
	}
}

// A caller that is added or taken away is known or unknown at once.
func TestCallersFollowTheFile(t *testing.T) {
	e, folder := newEngine(t)
	token := strings.Repeat("ab", 20)
	if _, ok := e.Authenticate(token); ok {
		t.Fatal("nobody has this token yet")
	}
	text := "version: 1\nroots: {work: ./work}\ncallers:\n  - {name: bot, token_sha256: " + sumOf(token) + "}\n"
	if err := os.WriteFile(filepath.Join(folder, "writ.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if outcome := e.reloader.Reload(t.Context()); !outcome.Published {
		t.Fatal(outcome.Problems)
	}
	if who, ok := e.Authenticate(token); !ok || who.Name != "bot" {
		t.Fatalf("%v, %v", who, ok)
	}
}

func sumOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
