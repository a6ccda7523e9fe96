// Package pipeline is the enforcement point: in what order do things happen?
//
// Every entry point hands its calls to Call, and nothing else reaches an
// executor. A call is admitted, prepared, assessed, decided, authorized,
// executed and recorded, in this order; each stage accepts only what the stage
// before it produced. Whatever goes wrong, including a panic, refuses the call
// and nothing else. The package decides nothing itself: rooms risk and policy
// do, on what the prepared call says.
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/writ-dev/writ/engine/approval"
	"github.com/writ-dev/writ/engine/audit"
	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/catalog"
	"github.com/writ-dev/writ/engine/condition"
	"github.com/writ-dev/writ/engine/lock"
	"github.com/writ-dev/writ/engine/policy"
	"github.com/writ-dev/writ/engine/risk"
)

// Limits bound the calls that are in the pipeline at one time, from decoding
// to the answer, and the bytes of one call's arguments.
type Limits struct {
	Calls          int
	PerPrincipal   int
	ArgumentsBytes int
}

// DefaultLimits are 64 calls, 16 of one principal, and 16 KiB (contract S-21).
func DefaultLimits() Limits {
	return Limits{Calls: 64, PerPrincipal: 16, ArgumentsBytes: 16 << 10}
}

// Options are what a pipeline works with. Observe, when not nil, sees every
// record; it must not block.
type Options struct {
	Live    *catalog.Live
	Desk    *approval.Desk
	Journal audit.Journal
	Key     audit.Key
	Limits  Limits
	Now     func() time.Time
	NewID   func() string
	UID     int
	Log     *slog.Logger
	Observe func(audit.Record)
	// Approvers lists who can be asked. Where too few of them could approve a
	// call it is refused, and nobody is asked. Nil means nobody.
	Approvers func() []approval.Approver
	// DangerousGrants lets grants release dangerous calls where the
	// configuration does too (contract P-59).
	DangerousGrants bool
	// Frozen, when not nil, says whether all calls are refused at present, and
	// why.
	Frozen func() (reason string, frozen bool)
}

// Pipeline takes calls. It is safe for concurrent use.
type Pipeline struct {
	Options
	locks   lock.Set
	gate    gate
	replays replays
	halt    context.Context
	halted  context.CancelFunc
}

// New makes a pipeline.
func New(options Options) *Pipeline {
	p := &Pipeline{
		Options: options,
		gate:    gate{limits: options.Limits, principals: map[string]int{}},
		replays: replays{now: options.Now, entries: map[call.Digest]*replay{}},
	}
	p.halt, p.halted = context.WithCancel(context.Background())
	return p
}

// Call takes one request through every stage. It never panics and never fails
// otherwise than in its result.
func (p *Pipeline) Call(ctx context.Context, request call.Request) call.Result {
	return p.take(ctx, request, func(ctx context.Context, f *flight) call.Result {
		for range attempts {
			result := p.once(ctx, f)
			if result.Code != codeMoved {
				return result
			}
			f.unlock() // nobody was asked, so nothing is lost by starting over
		}
		return f.refuse(refusal("busy", "the configuration keeps changing; try again"))
	})
}

// codeMoved is the end of an attempt under whose feet another generation came
// into force. It never leaves the pipeline.
const codeMoved = "moved"

// once takes a call through every stage under one generation.
func (p *Pipeline) once(ctx context.Context, f *flight) call.Result {
	if refused := p.prepare(ctx, f, nil); refused != nil {
		return f.refuse(refused)
	}
	p.assess(f)
	if result := p.byGrant(ctx, f); result != nil {
		return *result
	}
	authorization, ended := p.approve(ctx, f)
	if ended != nil {
		return *ended
	}
	if !authorization.Asked() {
		return p.execute(ctx, f, authorization)
	}
	return p.executeApproved(ctx, f, authorization)
}

// executeApproved executes what a person approved. A yes is not to be lost
// because a caller loses patience: the execution goes on without its caller,
// until the pipeline is halted, and the result is kept for a repetition.
func (p *Pipeline) executeApproved(ctx context.Context, f *flight, authorization approval.Authorization) call.Result {
	if !p.replays.begin(ctx, f.key) {
		return f.refuse(refusal("collected", "an identical call was approved and is being executed"))
	}
	result := f.refuse(refusal("internal", "internal error"))
	defer func() { p.replays.end(f.key, result) }()
	detached, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(p.halt, cancel)()
	result = p.execute(detached, f, authorization)
	return result
}

// Halt ends executions that go on without their caller. It is called when a
// server has drained.
func (p *Pipeline) Halt() { p.halted() }

// Prepare prepares, assesses and decides a request that a person will be asked
// about, and executes nothing. The locks are given back, because a person
// takes time; Execute takes them again.
func (p *Pipeline) Prepare(ctx context.Context, request call.Request) (call.Prepared, error) {
	f := &flight{request: request, started: p.Now(), unlock: func() {}}
	defer func() { f.unlock() }()
	refused := refusal("internal", "internal error; the server's log has the details")
	p.guarded(ctx, f, func(ctx context.Context, f *flight) call.Result {
		because := p.prepare(ctx, f, nil)
		if because == nil {
			if p.assess(f); f.decision.Effect == policy.Deny {
				because = f.denied()
			}
			f.prepared.Digest = f.binding()
		}
		refused = because
		return call.Result{}
	})
	if refused != nil {
		return call.Prepared{}, refused
	}
	return f.prepared, nil
}

// Execute carries out what an authorization allows, after preparing, assessing
// and deciding again: whoever asked a person has let time pass.
func (p *Pipeline) Execute(ctx context.Context, authorization approval.Authorization) call.Result {
	prepared, ok := authorization.Prepared()
	if !ok {
		return call.Result{Status: call.Refused, Code: "internal", Reason: approval.ErrNone.Error()}
	}
	return p.take(ctx, prepared.Request, func(ctx context.Context, f *flight) call.Result {
		return p.execute(ctx, f, authorization)
	})
}

// flight is one call on its way. Only the goroutine of the call touches it.
type flight struct {
	request     call.Request
	started     time.Time
	slot        audit.Slot
	record      audit.Record
	live        *catalog.Catalog
	tool        *catalog.Tool
	prepared    call.Prepared
	environment condition.Environment
	assessment  risk.Assessment
	decision    policy.Decision
	unlock      func()
	ticket      string      // of the question that was asked, or ""
	key         call.Digest // of the question
}

// take admits a request, keeps its record and survives its panics.
func (p *Pipeline) take(ctx context.Context, request call.Request, work func(context.Context, *flight) call.Result) call.Result {
	f := &flight{request: request, started: p.Now(), unlock: func() {}}
	if f.request.ID == "" {
		f.request.ID = p.NewID()
	}
	if refused := p.frozen(); refused != nil {
		return f.refuse(refused)
	}
	leave, refused := p.gate.enter(request.Principal.Name)
	if refused != nil {
		return f.refuse(refused)
	}
	defer leave()
	slot, err := p.Journal.Reserve(ctx)
	if err != nil {
		p.Log.Error("a call was refused because it cannot be recorded", "request", f.request.ID, "error", err)
		return f.refuse(refusal("unrecorded", "calls cannot be recorded at present, so none is executed"))
	}
	f.slot = slot
	defer slot.Release()
	p.open(f)
	result := p.guarded(ctx, f, work)
	f.unlock()
	return p.close(ctx, f, result)
}

func (p *Pipeline) guarded(ctx context.Context, f *flight, work func(context.Context, *flight) call.Result) (result call.Result) {
	defer func() {
		if cause := recover(); cause != nil {
			p.Log.Error("a call ended in a fault of the server", "tool", f.record.Tool, "request", f.request.ID,
				"fault", fmt.Sprint(cause), "stack", string(debug.Stack()))
			result = f.refuse(refusal("internal", "internal error; the server's log has the details"))
			result.Status = call.Failed
		}
	}()
	return work(ctx, f)
}

// frozen refuses every call while the owner has frozen them.
func (p *Pipeline) frozen() *refusalError {
	if p.Frozen == nil {
		return nil
	}
	reason, frozen := p.Frozen()
	switch {
	case !frozen:
		return nil
	case reason == "":
		return refusal("frozen", "all calls are frozen")
	}
	return refusal("frozen", "all calls are frozen: %s", reason)
}

// refusalError is why a call is not executed, for its caller to read.
type refusalError struct {
	code, reason string
	status       call.Status
}

func (r *refusalError) Error() string { return r.reason }

func refusal(code, format string, args ...any) *refusalError {
	return &refusalError{code: code, reason: fmt.Sprintf(format, args...), status: call.Refused}
}

// stopped is the refusal of a call whose caller left or whose time was over.
func stopped(ctx context.Context) *refusalError {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &refusalError{code: "timed_out", reason: "the time of the call was over before it was executed", status: call.TimedOut}
	}
	return &refusalError{code: "cancelled", reason: "the call was cancelled before it was executed", status: call.Cancelled}
}

func (f *flight) refuse(r *refusalError) call.Result {
	return call.Result{
		Tool: f.request.Tool, Status: r.status, Code: r.code, Reason: r.reason, RequestID: f.request.ID, Ticket: f.ticket,
	}
}
