package command

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/executor"
	"github.com/writ-dev/writ/engine/mask"
)

// behind makes a mask for the programs of a test, or says why there is none.
func behind(t testing.TB) *mask.Mask {
	t.Helper()
	state := t.TempDir()
	if err := os.WriteFile(filepath.Join(state, "key"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := mask.Start(mask.Options{State: state, Homes: []string{t.TempDir()}})
	t.Cleanup(m.Close)
	return m
}

func compileMasked(t testing.TB, m *mask.Mask, block string) executor.Executor {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	k := New(Options{
		Env: os.LookupEnv, Key: []byte("key"), Masked: m,
		Visible: func(tool *document.Tool) []string { return []string{exe} }, // it is a program of these tests
	})
	compiled, mistakes := k.Compile(declaration(t, block))
	if mistakes.HasErrors() {
		t.Fatal(mistakes)
	}
	return compiled
}

func runMasked(t testing.TB, ctx context.Context, m *mask.Mask, block string, run executor.Run) call.Outcome {
	t.Helper()
	compiled := compileMasked(t, m, block)
	effect, err := compiled.Prepare(ctx, executor.Input{})
	if err != nil {
		t.Fatal(err)
	}
	return compiled.Execute(ctx, effect, run)
}

// TestMasked: a program behind the mask ends, prints and is ended as any other.
// Without namespaces it does so where the server is, and the mask says why.
func TestMasked(t *testing.T) {
	m := behind(t)
	if ok, why := m.Status(); ok != m.Available() || !ok && !strings.Contains(why, "namespaces") {
		t.Fatal(ok, why)
	}
	ctx := context.Background()
	got := runMasked(t, ctx, m, block(t, "", "exit", "3", "out", "err"), executor.Run{})
	if got.Status != call.Partial || got.ExitCode == nil || *got.ExitCode != 3 || string(got.Body.Head) != "out" || string(got.Errors.Head) != "err" {
		t.Errorf("%+v", got)
	}
	got = runMasked(t, ctx, m, `{"argv":["cat"],"stdin":"`+strings.Repeat("line ", 30<<10)+`"}`, executor.Run{MaxBytes: 1 << 20})
	if got.Status != call.Complete || got.Body.Total != 5*30<<10 {
		t.Errorf("%v %d", got.Status, got.Body.Total)
	}
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	got = runMasked(t, short, m, `{"argv":["sh","-c","trap '' TERM; sleep 600 & wait; sleep 600"]}`, executor.Run{Grace: 50 * time.Millisecond})
	if got.Status != call.TimedOut || got.ExitCode != nil {
		t.Errorf("%+v", got)
	}
	got = runMasked(t, ctx, m, `{"argv":["sh","-c","sleep 600 & echo left"]}`, executor.Run{Grace: 50 * time.Millisecond})
	if got.Status != call.Complete || !strings.Contains(got.Reason, "what it left running was ended") {
		t.Errorf("%+v", got)
	}
}

// TestMaskedHidden: a folder of the private /tmp is no place to work in.
func TestMaskedHidden(t *testing.T) {
	m := behind(t)
	got := runMasked(t, context.Background(), m, `{"argv":["pwd"],"cwd":"`+t.TempDir()+`"}`, executor.Run{})
	if m.Available() != (got.Status == call.Failed && strings.Contains(got.Reason, "hidden from programs")) {
		t.Errorf("%+v", got)
	}
}

// BenchmarkMasked compares a masked `true` with one that is not; ratio is the
// median of the other's time by the masked one's.
func BenchmarkMasked(b *testing.B) {
	m := behind(b)
	if ok, why := m.Status(); !ok {
		b.Fatal(why)
	}
	if _, err := exec.LookPath("true"); err != nil {
		b.Fatal(err)
	}
	way := func(compiled executor.Executor) func() error {
		return func() error {
			effect, err := compiled.Prepare(context.Background(), executor.Input{})
			if err != nil {
				return err
			}
			if got := compiled.Execute(context.Background(), effect, executor.Run{MaxBytes: 64 << 10}); got.Status != call.Complete {
				return fmt.Errorf("%+v", got)
			}
			return nil
		}
	}
	plain, masked := way(compileBlock(b, `{"argv":["true"]}`)), way(compileMasked(b, m, `{"argv":["true"]}`))
	for _, callers := range []int{1, 2, 8, 32} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			var ratios []float64
			for b.Loop() {
				mine, floor := turn(b, callers, masked), turn(b, callers, plain)
				ratios = append(ratios, float64(floor)/float64(mine))
			}
			slices.Sort(ratios)
			b.ReportMetric(ratios[len(ratios)/2], "ratio")
		})
	}
}
