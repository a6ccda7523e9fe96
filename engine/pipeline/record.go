package pipeline

import (
	"context"
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
	if f.prepared.Arguments != nil {
		f.record.ArgumentDigest = p.Key.Arguments(f.prepared.Arguments)
		f.record.EffectDigest = p.Key.Effect(f.prepared.Effect.Digest())
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), outcomeWait)
	defer cancel()
	if err := f.slot.Outcome(ctx, f.record); err != nil {
		p.Log.Error("the outcome of a call is not yet recorded", "tool", f.record.Tool, "request", f.request.ID, "error", err)
	}
	if p.Observe != nil {
		p.Observe(f.record)
	}
	return result
}
