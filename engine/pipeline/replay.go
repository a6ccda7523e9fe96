package pipeline

import (
	"context"
	"sync"
	"time"

	"github.com/writ-dev/writ/engine/call"
)

// Bounds of the results that are kept for callers who left while an approved
// call was executed.
const (
	replayFor  = 10 * time.Minute
	replaysMax = 64
)

// replays keeps what approved calls brought, so that a repetition of a call
// whose caller left gets the result instead of a second execution.
type replays struct {
	now     func() time.Time
	mu      sync.Mutex
	entries map[call.Digest]*replay
}

// replay is one approved call that runs, or that ended without its caller.
type replay struct {
	caller context.Context
	done   chan struct{}
	result call.Result
	until  time.Time
}

// begin notes that a call is executed. It reports false when an identical one
// is.
func (r *replays) begin(ctx context.Context, key call.Digest) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sweep()
	if e := r.entries[key]; e != nil && e.until.IsZero() {
		return false
	}
	r.entries[key] = &replay{caller: ctx, done: make(chan struct{})}
	return true
}

// end keeps the result when its caller has left, and forgets it otherwise.
func (r *replays) end(key call.Digest, result call.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entries[key]
	e.result, e.until = result, r.now().Add(replayFor)
	if e.caller.Err() == nil {
		delete(r.entries, key)
	}
	close(e.done)
}

// take gives the result of an identical call whose caller has left, waiting
// for it when it still runs. Found is false when there is none.
func (r *replays) take(ctx context.Context, key call.Digest, wait time.Duration) (result call.Result, refused *refusalError, found bool) {
	r.mu.Lock()
	r.sweep()
	e := r.entries[key]
	r.mu.Unlock()
	if e == nil {
		return call.Result{}, nil, false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-e.done:
	case <-timer.C:
	case <-ctx.Done():
		return call.Result{}, stopped(ctx), true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case e.until.IsZero():
		return call.Result{}, refusal("collected", "an identical call was approved and is being executed"), true
	case r.entries[key] != e: // its own caller got it, or another repetition
		return call.Result{}, refusal("collected", "the call was approved, and an identical call collected the approval"), true
	}
	delete(r.entries, key)
	result = e.result
	result.Replayed = true
	return result, nil, true
}

// sweep forgets what is too old, and the oldest when there is too much.
func (r *replays) sweep() {
	now := r.now()
	for len(r.entries) > 0 {
		var oldest call.Digest
		var found *replay
		for key, e := range r.entries {
			if !e.until.IsZero() && (found == nil || e.until.Before(found.until)) {
				oldest, found = key, e
			}
		}
		if found == nil || now.Before(found.until) && len(r.entries) <= replaysMax {
			return
		}
		delete(r.entries, oldest)
	}
}
