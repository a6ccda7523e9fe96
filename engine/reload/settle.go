package reload

import (
	"context"
	"slices"
	"time"
)

// look is what was found at some paths.
type look struct {
	paths []string
	found fingerprint
}

func (l look) same(other look) bool {
	return l.found.sum == other.found.sum && slices.Equal(l.paths, other.paths)
}

func (r *Reloader) look() look {
	r.building.Lock()
	defer r.building.Unlock()
	return look{r.watch, take(r.watch)}
}

// draft is a candidate that was built while it was not yet known whether the
// edit is over. It is put in force only when it is, and nothing was written
// since the look before it: then the end of the settle window costs a look and
// not a build.
type draft struct {
	look
	candidate Candidate
	attempts  uint64 // that were concluded before
}

// draft builds ahead.
func (r *Reloader) draft(ctx context.Context) *draft {
	r.building.Lock()
	defer r.building.Unlock()
	d := &draft{look: look{r.watch, take(r.watch)}, attempts: r.Status().Attempts}
	d.candidate = r.build(ctx, d.found)
	return d
}

// holds reports whether a draft is what a build would make now. The caller
// holds building.
func (r *Reloader) holds(d *draft, now look) bool {
	return d != nil && d.same(now) && slices.Equal(d.paths, r.watch) && d.attempts == r.Status().Attempts
}

// settle returns the last look when nothing has changed for the settle window,
// or after the longest wait. It reports false when the context ended.
func (r *Reloader) settle(ctx context.Context, n notifier) (last look, ahead *draft, ok bool) {
	quiet := time.NewTimer(r.options.Settle)
	defer quiet.Stop()
	longest := time.NewTimer(r.options.Longest)
	defer longest.Stop()
	lull := time.NewTimer(r.options.Settle / lullPart)
	defer lull.Stop()
	if n.events() == nil {
		lull.Stop() // a draft needs to hear of what is written while it is built
	}
	last = r.look()
	changed := func(path string) {
		if r.lastSeen().concerns(path) {
			ahead = nil
			quiet.Reset(r.options.Settle)
			lull.Reset(r.options.Settle / lullPart)
		}
	}
	for {
		select {
		case <-ctx.Done():
			return last, nil, false
		case <-longest.C:
			return r.look(), nil, true
		case path := <-n.events():
			changed(path)
		case <-lull.C:
			ahead = r.draft(ctx)
			last = ahead.look
		case <-quiet.C:
			// Without notifications only another look tells whether the edit
			// is over.
			now := r.look()
			select {
			case path := <-n.events():
				changed(path)
				if ahead == nil {
					last = now
					continue
				}
			default:
			}
			if now.same(last) {
				return now, ahead, true
			}
			last, ahead = now, nil
			quiet.Reset(r.options.Settle)
		}
	}
}

// lullPart of the settle window without a change makes it likely that an edit
// is over.
const lullPart = 4
