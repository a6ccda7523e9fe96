package reload

import (
	"context"
	"slices"
	"time"
)

// While the files are invalid they are read again although they look the same:
// the cause may be one that no fingerprint shows, such as a network file
// system that did not answer.
const (
	firstRetry = 5 * time.Second
	lastRetry  = 5 * time.Minute
)

// Run follows the files until the context ends. In manual mode it only waits.
func (r *Reloader) Run(ctx context.Context) {
	if r.options.Manual {
		<-ctx.Done()
		return
	}
	var n notifier = silent{}
	if !r.options.PollOnly {
		n = r.notifier()
	}
	defer n.close()
	r.follow(ctx, n)
}

func (r *Reloader) follow(ctx context.Context, n notifier) {
	poll := time.NewTicker(r.options.Poll)
	defer poll.Stop()
	retry, retryAt := firstRetry, r.options.Now().Add(firstRetry)
	n.set(r.lastSeen())
	changed := r.differs() // between the first load and now
	for {
		if changed {
			r.update(ctx, n)
			if ctx.Err() != nil {
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case path := <-n.events():
			changed = r.lastSeen().concerns(path)
		case <-poll.C:
			changed = r.differs()
			if valid := r.Status().Valid; valid {
				retry, retryAt = firstRetry, r.options.Now().Add(firstRetry)
			} else if now := r.options.Now(); !now.Before(retryAt) {
				retry = min(2*retry, lastRetry)
				changed, retryAt = true, now.Add(retry)
			}
		}
	}
}

// update waits for the end of an edit and puts in force what came of it.
func (r *Reloader) update(ctx context.Context, n notifier) {
	var waited []string
	for windows := 0; ; windows++ {
		look, draft, ok := r.settle(ctx, n)
		if !ok {
			return
		}
		again, loosens := r.attempt(ctx, look, draft, waited, windows)
		n.set(r.lastSeen())
		if !again {
			return
		}
		waited = loosens
	}
}

// attempt builds once, unless the draft was built of the same. It asks to be called again, after one more settle
// window, when the candidate takes away more than the one before did: a
// checkout or an editor may be about to write the file anew.
func (r *Reloader) attempt(ctx context.Context, look look, draft *draft, waited []string, windows int) (again bool, loosens []string) {
	r.building.Lock()
	defer r.building.Unlock()
	if !slices.Equal(look.paths, r.watch) { // a forced reload came in between
		look.found = take(r.watch)
	}
	var candidate Candidate
	if r.holds(draft, look) {
		candidate = draft.candidate
	} else {
		candidate = r.build(ctx, look.found)
	}
	if ctx.Err() != nil {
		return false, nil
	}
	if !candidate.Problems.HasErrors() && !candidate.Unchanged {
		fresh := slices.ContainsFunc(candidate.Loosens, func(name string) bool { return !slices.Contains(waited, name) })
		if fresh && time.Duration(windows)*r.options.Settle < r.options.Longest {
			r.options.Log.Info("waiting whether what is gone comes back", "gone", candidate.Loosens)
			return true, candidate.Loosens
		}
	}
	r.conclude(candidate, !candidate.Problems.HasErrors() && !candidate.Unchanged)
	return false, nil
}

func (r *Reloader) lastSeen() fingerprint {
	r.building.Lock()
	defer r.building.Unlock()
	return r.seen
}

// differs reports whether the files look different from how they were read.
func (r *Reloader) differs() bool {
	r.building.Lock()
	defer r.building.Unlock()
	return take(r.watch).sum != r.seen.sum
}
