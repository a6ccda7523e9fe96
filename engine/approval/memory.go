package approval

import (
	"cmp"
	"slices"
	"time"

	"github.com/writ-dev/writ/engine/call"
)

// memory is a bounded map whose entries end.
type memory[K comparable, V any] struct {
	most    int
	entries map[K]remembering[V]
}

type remembering[V any] struct {
	value V
	until time.Time
}

func newMemory[K comparable, V any](most int) *memory[K, V] {
	return &memory[K, V]{most: most, entries: map[K]remembering[V]{}}
}

func (m *memory[K, V]) get(key K, now time.Time) (V, bool) {
	e, ok := m.entries[key]
	if !ok || !now.Before(e.until) {
		delete(m.entries, key)
		var none V
		return none, false
	}
	return e.value, true
}

// put stores an entry. When there is no room, the one that ends first goes.
func (m *memory[K, V]) put(key K, v V, until time.Time) {
	m.entries[key] = remembering[V]{v, until}
	if len(m.entries) <= m.most {
		return
	}
	first := key
	for k, e := range m.entries {
		if e.until.Before(m.entries[first].until) {
			first = k
		}
	}
	delete(m.entries, first)
}

// rememberKey is equal for calls that are identical in everything that an
// approval binds, within one session.
type rememberKey struct {
	session string
	binding call.Digest
}

func (d *Desk) rememberCall(t *ticket) {
	uses := RememberUses
	key := rememberKey{t.Prepared.Request.Session, t.Prepared.Digest}
	d.remembered.put(key, &uses, d.now().Add(RememberFor))
}

// useRemembered takes one use of a remembered approval.
func (d *Desk) useRemembered(q Question) bool {
	if q.Prepared.Request.Session == "" {
		return false
	}
	uses, ok := d.remembered.get(rememberKey{q.Prepared.Request.Session, q.Prepared.Digest}, d.now())
	if !ok || *uses == 0 {
		return false
	}
	*uses--
	return true
}

// Tickets lists what the desk knows, open ones first, then the newest.
func (d *Desk) Tickets() []Ticket {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sweep()
	list := make([]Ticket, 0, len(d.tickets))
	for _, t := range d.tickets {
		list = append(list, t.copy())
	}
	slices.SortFunc(list, func(a, b Ticket) int {
		return cmp.Or(cmp.Compare(rank(a.State), rank(b.State)), b.Created.Compare(a.Created), cmp.Compare(a.ID, b.ID))
	})
	return list
}

func rank(s State) int {
	switch s {
	case Pending:
		return 0
	case Approved:
		return 1
	}
	return 2
}

// Ticket finds one by id.
func (d *Desk) Ticket(id string) (Ticket, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sweep()
	t := d.tickets[id]
	if t == nil {
		return Ticket{}, false
	}
	return t.copy(), true
}

func (t *ticket) copy() Ticket {
	c := t.Ticket
	c.Votes = slices.Clone(c.Votes)
	return c
}

// Subscribe returns a channel that receives after tickets changed, several
// changes as one, and what ends the subscription.
func (d *Desk) Subscribe() (changes <-chan struct{}, cancel func()) {
	subscriber := make(chan struct{}, 1)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.subscribers[subscriber] = struct{}{}
	return subscriber, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.subscribers, subscriber)
	}
}

// changed tells the subscribers. The caller holds the mutex.
func (d *Desk) changed() {
	for subscriber := range d.subscribers {
		select {
		case subscriber <- struct{}{}:
		default: // it will read the newest anyway
		}
	}
}
