//go:build linux || darwin || freebsd || netbsd || openbsd

package command

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/executor"
)

// BenchmarkTrue compares a prepared and executed call with os/exec and
// drained pipes, at 1, 2 and 8 callers. The two take turns, so that whatever
// else the machine does meets both; ratio is the median of os/exec's time by
// ours, and more than 1 is faster than os/exec.
func BenchmarkTrue(b *testing.B) {
	compiled := compileBlock(b, `{"argv":["true"]}`)
	path, err := exec.LookPath("true")
	if err != nil {
		b.Fatal(err)
	}
	ours := func() error {
		effect, err := compiled.Prepare(context.Background(), executor.Input{})
		if err != nil {
			return err
		}
		if got := compiled.Execute(context.Background(), effect, executor.Run{MaxBytes: 64 << 10}); got.Status != call.Complete {
			return fmt.Errorf("%+v", got)
		}
		return nil
	}
	theirs := func() error {
		var out, errors bytes.Buffer
		cmd := exec.Command(path)
		cmd.Stdout, cmd.Stderr = &out, &errors
		return cmd.Run()
	}
	for _, callers := range []int{1, 2, 8} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			var ratios []float64
			for b.Loop() {
				mine, floor := turn(b, callers, ours), turn(b, callers, theirs)
				ratios = append(ratios, float64(floor)/float64(mine))
			}
			slices.Sort(ratios)
			b.ReportMetric(ratios[len(ratios)/2], "ratio")
		})
	}
}

// turn makes 64 calls and returns how long they took.
func turn(b *testing.B, callers int, way func() error) time.Duration {
	begin := time.Now()
	done := make(chan error, callers)
	for range callers {
		go func() {
			for range 64 / callers {
				if err := way(); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range callers {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(begin)
}
