package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"time"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/executor"
)

// commandGoal is of the calls of os/exec in the same time.
const commandGoal = 0.85

func spawning(b *bench) error {
	path, err := exec.LookPath("true")
	if err != nil {
		b.note("a command tool", "unavailable: there is no program `true` here")
		return nil
	}
	compiler, inputs, err := b.compiler()
	if err != nil {
		return err
	}
	live, problems := compiler.Compile(&document.Set{Tools: []*document.Tool{{
		Header: document.Header{Kind: "Tool", Name: "nothing"}, Description: "Does nothing.", Risk: "read_only",
		Command: &document.Command{Argv: []string{"true"}},
	}}}, inputs)
	if live == nil {
		return fmt.Errorf("compile the tool: %w", problems.Err())
	}
	t := live.Tool("nothing")
	if t.Unavailable != "" {
		b.note("a command tool", "unavailable: %s", t.Unavailable)
		return nil
	}
	ours := func() error {
		effect, err := t.Executor.Prepare(b, executor.Input{Arguments: map[string]any{}})
		if err != nil {
			return err
		}
		run := executor.Run{MaxBytes: t.Output.CaptureBytes(), Redactor: live.Secrets.Stream}
		if got := t.Executor.Execute(b, effect, run); got.Status != call.Complete {
			return fmt.Errorf("the command ended as %s: %s", got.Status, got.Reason)
		}
		return nil
	}
	theirs := func() error {
		var out, errors bytes.Buffer
		c := exec.Command(path)
		c.Stdout, c.Stderr = &out, &errors
		return c.Run()
	}
	for _, callers := range []int{1, 2, 8} {
		figures, err := turns(4*b.rounds(), together(callers, ours), together(callers, theirs))
		if err != nil {
			return err
		}
		b.atLeast(fmt.Sprintf("calls by os/exec, %d at once", callers), ratio(figures[1], figures[0]), commandGoal)
		b.note("", "%s and %s a call", show(median(figures[0])), show(median(figures[1])))
	}
	return nil
}

// together is a turn of 64 calls by several callers at once.
func together(callers int, operation func() error) way {
	const calls = 64
	return func() (time.Duration, error) {
		begin := time.Now()
		ends := make(chan error, callers)
		for range callers {
			go func() {
				for range calls / callers {
					if err := operation(); err != nil {
						ends <- err
						return
					}
				}
				ends <- nil
			}()
		}
		var failed error
		for range callers {
			if err := <-ends; err != nil {
				failed = err
			}
		}
		return time.Since(begin) / calls, failed
	}
}
