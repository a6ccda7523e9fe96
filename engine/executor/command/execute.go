package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/executor"
)

// start is what a system needs to start a program.
type start struct {
	path    string
	argv    []string
	environ []string
	cwd     string
	input   string
	grace   time.Duration
	visible []string // behind a mask
	body    *capture
	errors  *capture
	// redactor and lines may be nil.
	redactor func() executor.Stream
	lines    func(int64)
}

func (s start) stream() executor.Stream {
	if s.redactor == nil {
		return nil
	}
	return s.redactor()
}

// end is how a program ended.
type end struct {
	code     int // exit code, when signal is ""
	signal   string
	stopped  bool // it was ended because the context was
	lingered bool // something that it started was still there, or held its pipes
	escaped  bool // and still held them after the group was ended
}

// Execute starts what was prepared, once, and waits for its end.
func (c *command) Execute(ctx context.Context, effect call.Effect, run executor.Run) call.Outcome {
	p, ok := effect.Pinned.(*pinned)
	if !ok || p.program.path == "" {
		return executor.Fail("the call was not prepared to be executed")
	}
	if ctx.Err() != nil {
		return executor.Ended(ctx)
	}
	now, err := identify(p.program.path)
	if err != nil || now != p.program {
		return executor.Fail("the program changed since the call was prepared; call again")
	}
	environ, input, err := p.owner.reveal(p)
	if err != nil {
		return executor.Fail(err.Error())
	}
	s := start{
		path: p.program.path, argv: p.argv, environ: environ, cwd: p.cwd, input: input, grace: run.Grace, visible: c.visible,
		body: newCapture(run.MaxBytes), errors: newCapture(run.MaxBytes), redactor: run.Redactor, lines: run.Line,
	}
	if s.grace <= 0 {
		s.grace = DefaultGrace
	}
	ended, err := c.kind.spawner.run(ctx, s)
	if err != nil {
		c.kind.Log.Warn("a program could not be started", "tool", c.tool, "program", p.program.path, "error", err)
		return executor.Fail(reasonOf(err))
	}
	outcome := call.Outcome{Body: s.body.result(), Errors: s.errors.result()}
	c.judge(ctx, &outcome, ended)
	return outcome
}

// judge gives the status (P-19): a success code is complete, any other is
// partial when there is output and failed when there is none.
func (c *command) judge(ctx context.Context, outcome *call.Outcome, e end) {
	if e.signal == "" {
		outcome.ExitCode = &e.code
	}
	switch {
	case e.stopped:
		stopped := executor.Ended(ctx)
		outcome.Status, outcome.Reason = stopped.Status, stopped.Reason
	case e.signal == "" && slices.Contains(c.success, e.code):
		outcome.Status = call.Complete
	default:
		outcome.Status = call.Failed
		if outcome.Body.Total > 0 {
			outcome.Status = call.Partial
		}
		outcome.Reason = fmt.Sprintf("the program ended with exit code %d", e.code)
		if e.signal != "" {
			outcome.Reason = "the program was ended by signal " + e.signal
		}
	}
	if e.lingered {
		note := "what it left running was ended"
		if e.escaped {
			note = "something that it started left its group and may still be running"
		}
		if outcome.Reason != "" {
			outcome.Reason += "; "
		}
		outcome.Reason += note
	}
}

// errTooMany stands for every shortage of the system.
var errTooMany = errors.New("the server has no room for another program at present, try again")
