package store

import (
	"crypto/sha256"
	"sync"
	"time"

	"github.com/writ-dev/writ/engine/audit"
)

const (
	// refusalWindow is how long identical refusals are counted in one record.
	refusalWindow = time.Minute
	// maxWindows bounds the kinds of refusals that are counted at one time.
	// Others are recorded one by one.
	maxWindows = 2048
)

// refusals counts refusals that are identical to one that was recorded. What
// was counted is written when the minute is over, or the store is closed.
type refusals struct {
	mu      sync.Mutex
	windows map[audit.Hash]*window
	over    []*window // of which another took the place
	oldest  time.Time // no window began before; zero when there is none
}

// window is one record and the refusals that it stands for.
type window struct {
	began  time.Time
	slot   *slot
	record audit.Record
	count  int64
}

// countable reports whether a refusal says nothing but what an identical one
// said: no person and no grant had a part in it.
func countable(r *audit.Record) bool {
	if r.Result != audit.Refused || r.Grant != "" {
		return false
	}
	return r.Approval == "" || r.Approval == "not_requested" || r.Approval == "not_required"
}

func sameness(r *audit.Record) audit.Hash {
	sum := sha256.New()
	for _, text := range append([]string{r.Principal, r.Tool, r.Code, string(r.Entry), r.Decision, r.SettledBy}, r.Rules...) {
		sum.Write([]byte(text))
		sum.Write([]byte{0})
	}
	return audit.Hash(sum.Sum(nil))
}

// count reports whether the refusal was counted. If not, it is to be recorded,
// and later ones may be counted in its record.
func (c *refusals) count(s *slot, r *audit.Record, now time.Time) (counted bool) {
	key := sameness(r)
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.windows[key]; w != nil {
		if now.Sub(w.began) < refusalWindow {
			w.count++
			return true
		}
		c.over = append(c.over, w)
		delete(c.windows, key)
	}
	if len(c.windows)+len(c.over) >= maxWindows {
		return false
	}
	if len(c.windows) == 0 && len(c.over) == 0 {
		c.oldest = now
	}
	s.counts = true
	c.windows[key] = &window{began: now, slot: s, record: *r, count: 1}
	return false
}

// due reports whether a window has ended.
func (c *refusals) due(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.over) > 0 || len(c.windows) > 0 && now.Sub(c.oldest) >= refusalWindow
}

// ended takes out the windows that are over, or all.
func (c *refusals) ended(now time.Time, all bool) []*window {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !all && len(c.over) == 0 && now.Sub(c.oldest) < refusalWindow {
		return nil
	}
	ended := c.over
	c.over, c.oldest = nil, now
	for key, w := range c.windows {
		switch {
		case all || now.Sub(w.began) >= refusalWindow:
			ended = append(ended, w)
			delete(c.windows, key)
		case w.began.Before(c.oldest):
			c.oldest = w.began
		}
	}
	return ended
}

// tally turns the windows that are over into entries. The caller holds commit.
func (w *writer) tally(all bool) []*entry {
	var entries []*entry
	for _, over := range w.refusals.ended(w.now(), all) {
		if over.count == 1 {
			delete(w.chain.open, over.slot.sequence)
			continue
		}
		record := over.record
		record.Count = over.count
		e := newEntry(over.slot, record)
		e.tally = true
		entries = append(entries, e)
	}
	return entries
}
