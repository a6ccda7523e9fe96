package pipeline

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/writ-dev/writ/engine/approval"
	"github.com/writ-dev/writ/engine/audit"
	"github.com/writ-dev/writ/engine/call"
)

// outcomeWait is how long an answer waits for its outcome to be durable. The
// record is written all the same.
const outcomeWait = 5 * time.Second

// open begins the record of a call.
func (p *Pipeline) open(f *flight) {
	f.record = audit.Record{
		RequestID: f.request.ID, Tool: audit.UnsupportedTool, Principal: f.request.Principal.Name,
		Entry: f.request.Entry, Session: p.Key.Session(f.request.Session), Started: f.started,
		Approval: approval.NotRequested, UID: p.UID,
	}
}

// close completes the record of a call and returns its result. The caller
// may have left by now, so the record does not depend on its context.
func (p *Pipeline) close(ctx context.Context, f *flight, result call.Result) call.Result {
	f.record.Result = audit.ResultOf(result.Status)
	f.record.Status, f.record.Code = result.Status, result.Code
	f.record.DurationMS = p.Now().Sub(f.started).Milliseconds()
	f.digest(p.Key)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), outcomeWait)
	defer cancel()
	if err := f.slot.Outcome(ctx, f.record); err != nil {
		p.Log.Error("the outcome of a call is not yet recorded", "tool", f.record.Tool, "request", f.request.ID, "error", err)
	}
	p.observe(f.record)
	return result
}

func (p *Pipeline) observe(record audit.Record) {
	if p.Observe != nil {
		defer p.survive("observing a record")
		p.Observe(record)
	}
}

// digest tells what the call is about. An intent has it too, since nothing
// follows an intent when the process dies.
func (f *flight) digest(key audit.Key) {
	if f.prepared.Arguments != nil {
		f.record.ArgumentDigest = key.Arguments(f.prepared.Arguments)
		f.record.EffectDigest = key.Effect(f.prepared.Effect.Digest())
	}
}

// survive is deferred around what is told to others: their faults are not the
// call's.
func (p *Pipeline) survive(doing string) {
	if cause := recover(); cause != nil {
		p.Log.Error("a fault of the server beside a call", "while", doing, "fault", fmt.Sprint(cause), "stack", string(debug.Stack()))
	}
}
