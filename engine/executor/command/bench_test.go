package command

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"testing"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/executor"
)

// BenchmarkTrue compares a prepared and executed call with os/exec and
// drained pipes, at 1, 2 and 8 callers.
func BenchmarkTrue(b *testing.B) {
	compiled := compileBlock(b, `{"argv":["true"]}`)
	path, err := exec.LookPath("true")
	if err != nil {
		b.Fatal(err)
	}
	ways := map[string]func() error{
		"command": func() error {
			effect, err := compiled.Prepare(context.Background(), executor.Input{})
			if err != nil {
				return err
			}
			if got := compiled.Execute(context.Background(), effect, executor.Run{MaxBytes: 64 << 10}); got.Status != call.Complete {
				return fmt.Errorf("%+v", got)
			}
			return nil
		},
		"os-exec": func() error {
			var out, errors bytes.Buffer
			cmd := exec.Command(path)
			cmd.Stdout, cmd.Stderr = &out, &errors
			return cmd.Run()
		},
	}
	for _, callers := range []int{1, 2, 8} {
		for _, name := range []string{"command", "os-exec"} {
			b.Run(fmt.Sprintf("%s/%d", name, callers), func(b *testing.B) {
				left := make(chan struct{}, b.N)
				for range b.N {
					left <- struct{}{}
				}
				close(left)
				done := make(chan error, callers)
				b.ResetTimer()
				for range callers {
					go func() {
						var err error
						for range left {
							if e := ways[name](); e != nil {
								err = e
							}
						}
						done <- err
					}()
				}
				for range callers {
					if err := <-done; err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
