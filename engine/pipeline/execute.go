package pipeline

import (
	"context"
	"errors"
	"time"

	"github.com/writ-dev/writ/engine/approval"
	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/executor"
	"github.com/writ-dev/writ/engine/policy"
)

// Grace is how long a program gets between being asked to end and being ended.
const Grace = 500 * time.Millisecond

// execute spends an authorization and carries out what it allows.
func (p *Pipeline) execute(ctx context.Context, f *flight, authorization approval.Authorization) call.Result {
	if refused := p.commit(ctx, f, authorization, ""); refused != nil {
		return f.refuse(refused)
	}
	return p.carryOut(ctx, f)
}

// commit spends an authorization and makes the intent durable, with a use of
// the grant of this name unless that is "".
func (p *Pipeline) commit(ctx context.Context, f *flight, authorization approval.Authorization, byGrant string) *refusalError {
	if refused := p.confirm(ctx, f, authorization); refused != nil {
		return refused
	}
	if ctx.Err() != nil {
		return stopped(ctx)
	}
	if refused := p.frozen(); refused != nil {
		return refused
	}
	if err := authorization.Spend(p.Now()); err != nil {
		return refusal("void", "%v", err)
	}
	f.record.Approval = authorization.By()
	return p.intend(ctx, f, byGrant)
}

// carryOut does what was committed to.
func (p *Pipeline) carryOut(ctx context.Context, f *flight) call.Result {
	begin := p.Now()
	outcome := p.run(ctx, f)
	f.record.Stages.Execute = p.Now().Sub(begin).Microseconds()
	result := f.tool.Output.Apply(outcome, f.live.Secrets.Redact)
	result.Tool, result.RequestID, result.Generation = f.tool.Name, f.request.ID, f.live.Generation
	result.Risk, result.Ticket = f.assessment.Level.String(), f.ticket
	return result
}

// confirm makes sure that what is authorized is what would happen now. When
// nobody was asked and the generation is the same, what was prepared stands;
// when it is another, the call starts over.
func (p *Pipeline) confirm(ctx context.Context, f *flight, authorization approval.Authorization) *refusalError {
	authorized, ok := authorization.Prepared()
	if !ok {
		return refusal("void", "%v", approval.ErrNone)
	}
	if !authorization.Asked() {
		if f.live == p.Live.Current() {
			return nil
		}
		return refusal(codeMoved, "another generation came into force")
	}
	f.unlock()
	if refused := p.prepare(ctx, f, &authorized.Effect); refused != nil {
		return refused
	}
	p.assess(f)
	if f.decision.Effect == policy.Deny {
		return f.denied()
	}
	if f.binding() != authorized.Digest {
		return refusal("void", "%s since the call was decided", f.difference(authorized))
	}
	return nil
}

// difference says in a few words what is not as it was decided.
func (f *flight) difference(authorized call.Prepared) string {
	switch {
	case f.prepared.ToolDigest != authorized.ToolDigest:
		return "the definition of the tool changed"
	case call.DigestOf(f.prepared.Arguments) != call.DigestOf(authorized.Arguments):
		return "what the arguments name changed"
	case f.prepared.Effect.Digest() != authorized.Effect.Digest():
		return "what the call would do changed"
	}
	return "the rules that apply changed"
}

// run lets the executor work, within the time of the tool.
func (p *Pipeline) run(ctx context.Context, f *flight) call.Outcome {
	ctx, cancel := context.WithTimeout(ctx, f.tool.Timeout)
	defer cancel()
	run := executor.Run{MaxBytes: f.tool.Output.CaptureBytes(), Grace: Grace, Redactor: f.live.Secrets.Stream}
	if tell := f.request.Progress; tell != nil && f.tool.Output.Lines() {
		run.Line = func(lines int64) {
			defer p.survive("telling progress") // it runs in a goroutine of the executor
			tell(call.Progress{Lines: lines, HasLine: true})
		}
	}
	outcome := f.tool.Executor.Execute(ctx, f.prepared.Effect, run)
	if outcome.Status == "" {
		outcome.Status, outcome.Reason = call.Failed, "the tool did not say how it ended"
	}
	if outcome.Status != call.Complete && errors.Is(ctx.Err(), context.DeadlineExceeded) && outcome.Status != call.TimedOut {
		outcome.Status = call.TimedOut
	}
	return outcome
}
