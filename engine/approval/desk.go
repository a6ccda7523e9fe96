// Package approval answers one question: who must say yes, and did they?
//
// A call that needs a person becomes a ticket. The desk keeps the open
// tickets, in memory alone and few of them, and takes verdicts from approvers
// whom their channel authenticated. A yes becomes an Authorization: it
// contains the prepared call, is used once and expires. Only this room can
// make one. The desk neither executes nor decides what needs a person; it
// never shows a ticket to who asks, and has no verb that a caller could use to
// answer.
package approval

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/writ-dev/writ/engine/approval/internal/seal"
	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/policy"
	"github.com/writ-dev/writ/engine/risk"
)

// Lifetime is how long an authorization may wait before it is spent. It covers
// the way from deciding to executing.
const Lifetime = 30 * time.Second

// Bounds of the desk. The first two of contract S-48; the others keep one
// caller from wearing approvers down.
const (
	MaxPerPrincipal   = 4        // pending tickets of one principal
	MaxPreview        = 64 << 10 // bytes of a preview
	TicketsPerHour    = 20       // of one principal
	RejectionMemory   = 10 * time.Minute
	RememberFor       = 15 * time.Minute
	RememberUses      = 20
	settledKept       = 64 // settled tickets that can still be looked at
	rejectionsKept    = 1024
	rememberedKept    = 1024
	principalsCounted = 1024
)

// Authorization allows one execution of exactly one prepared call.
type Authorization = seal.Authorization

// The reasons why an authorization cannot be spent.
var (
	ErrNone    = seal.ErrNone
	ErrSpent   = seal.ErrSpent
	ErrExpired = seal.ErrExpired
)

// Values of the approval field of a record (contract P-83).
const (
	NotRequired        = "not_required"
	NotRequested       = "not_requested"
	ApprovedOnce       = "approved_once"
	ApprovedForSession = "approved_for_session"
	ApprovedByGrant    = "approved_by_grant"
)

// Desk keeps tickets. It is safe for concurrent use.
type Desk struct {
	now   func() time.Time
	newID func() string

	mu          sync.Mutex
	tickets     map[string]*ticket // open ones and the last settled
	settled     []string           // ids, oldest first
	byKey       map[call.Digest]*ticket
	rejections  *memory[call.Digest, string]
	remembered  *memory[rememberKey, *int]
	asked       *memory[string, *[]time.Time]
	subscribers map[chan struct{}]struct{}
	closed      string // why no ticket is taken any more, or ""
}

// ticket is a Ticket with what only the desk needs.
type ticket struct {
	Ticket
	key      call.Digest
	voters   []Approver
	remember bool
	answered chan struct{} // closed when the ticket is no longer pending
}

// NewDesk makes a desk. NewID returns a random text that was never used before.
func NewDesk(now func() time.Time, newID func() string) *Desk {
	return &Desk{
		now: now, newID: newID,
		tickets: map[string]*ticket{}, byKey: map[call.Digest]*ticket{}, subscribers: map[chan struct{}]struct{}{},
		rejections: newMemory[call.Digest, string](rejectionsKept),
		remembered: newMemory[rememberKey, *int](rememberedKept),
		asked:      newMemory[string, *[]time.Time](principalsCounted),
	}
}

// Authorize makes an authorization for a call that policy permits, and an
// error for any other.
func (d *Desk) Authorize(prepared call.Prepared, decision policy.Decision) (Authorization, error) {
	if decision.Effect != policy.Permit {
		return Authorization{}, fmt.Errorf("authorize %s: the decision is %s", prepared.Request.Tool, decision.Effect)
	}
	return seal.Make(prepared, NotRequired, false, d.now().Add(Lifetime)), nil
}

// AuthorizeByGrant makes an authorization for a call that a grant may release
// in place of a person, and an error for any other. That a grant covers it, and
// has a use left, is counted when the authorization is spent.
func (d *Desk) AuthorizeByGrant(prepared call.Prepared, decision policy.Decision) (Authorization, error) {
	if decision.Effect != policy.RequireApproval || !decision.Grants || decision.Confirmation >= policy.Phrase {
		return Authorization{}, fmt.Errorf("authorize %s: no grant may stand in for a person here", prepared.Request.Tool)
	}
	return seal.Make(prepared, ApprovedByGrant, false, d.now().Add(Lifetime)), nil
}

// Question is a call that needs a person.
type Question struct {
	Prepared   call.Prepared
	Assessment risk.Assessment
	Decision   policy.Decision
}

// Key is equal for repetitions of one call: who asks, by which way, for what.
func (q Question) Key() call.Digest {
	r := q.Prepared.Request
	return call.DigestOf(map[string]any{
		"principal": r.Principal.Name, "entry": string(r.Entry),
		"tool": q.Prepared.ToolDigest.String(), "arguments": q.Prepared.Arguments,
	})
}

// Answer is what became of a question, as far as its caller may know.
type Answer struct {
	// Authorization is the yes, to be spent by this caller alone.
	Authorization Authorization
	// Code is a stable word when there is no authorization: approval_pending,
	// rejected, expired, void, collected, too_many_pending, cancelled.
	Code   string
	Reason string
	// Ticket is the id, when there is a ticket that a person can look at.
	Ticket string
	Open   time.Time // until when the ticket stays open
}

// Ask waits for the answer to a question. Repetitions of one call share a
// ticket, and exactly one of them gets the authorization. When the ticket's
// answer_after is over the answer says that it is pending; a repetition picks
// the decision up. When ctx ends, only this caller leaves.
func (d *Desk) Ask(ctx context.Context, q Question) Answer {
	key := q.Key()
	d.mu.Lock()
	d.sweep()
	if a, ok := d.known(key, q); ok {
		d.mu.Unlock()
		return a
	}
	t := d.byKey[key]
	if t == nil {
		var refused *Answer
		if t, refused = d.open(key, q); refused != nil {
			d.mu.Unlock()
			return *refused
		}
	}
	t.Waiting++
	answerAfter := time.NewTimer(t.Decision.Pending.AnswerAfter)
	expires := time.NewTimer(t.Expires.Sub(d.now()))
	d.mu.Unlock()
	defer answerAfter.Stop()
	defer expires.Stop()
	select {
	case <-t.answered:
	case <-answerAfter.C:
	case <-expires.C:
	case <-ctx.Done():
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sweep()
	t.Waiting--
	if ctx.Err() != nil {
		return Answer{Code: "cancelled", Reason: "the caller left; the ticket stays open", Ticket: t.ID, Open: t.Expires}
	}
	return d.answer(t)
}

// known answers what needs no new ticket: a fresh rejection, a remembered
// approval, a desk that is closed.
func (d *Desk) known(key call.Digest, q Question) (Answer, bool) {
	if d.closed != "" {
		return Answer{Code: "void", Reason: d.closed}, true
	}
	if said, ok := d.rejections.get(key, d.now()); ok {
		return Answer{Code: "rejected", Reason: said + "; an identical call is refused for a while"}, true
	}
	if d.useRemembered(q) {
		return Answer{Authorization: seal.Make(q.Prepared, ApprovedForSession, true, d.now().Add(Lifetime))}, true
	}
	return Answer{}, false
}

// open makes a ticket, within the bounds.
func (d *Desk) open(key call.Digest, q Question) (*ticket, *Answer) {
	principal := q.Prepared.Request.Principal.Name
	pending, mine := 0, 0
	for _, t := range d.tickets {
		if t.State == Pending {
			pending++
			if t.Prepared.Request.Principal.Name == principal {
				mine++
			}
		}
	}
	refuse := func(format string, args ...any) (*ticket, *Answer) {
		return nil, &Answer{Code: "too_many_pending", Reason: fmt.Sprintf(format, args...)}
	}
	switch n := len(q.Prepared.Effect.Preview); {
	case pending >= q.Decision.Pending.Max:
		return refuse("too many pending: %d calls wait for an approver", pending)
	case mine >= MaxPerPrincipal:
		return refuse("too many pending: %d of your calls wait for an approver", mine)
	case n == 0 || n > MaxPreview:
		return nil, &Answer{Code: "void", Reason: fmt.Sprintf("what the call would do takes %d bytes to show, which is not within 1 to %d", n, MaxPreview)}
	case !d.count(principal):
		return refuse("%d of your calls asked for an approver within an hour; try again later", TicketsPerHour)
	}
	now := d.now()
	t := &ticket{key: key, answered: make(chan struct{}), Ticket: Ticket{
		ID: d.newID(), State: Pending, Created: now, Expires: now.Add(q.Decision.Pending.Timeout),
		Prepared: q.Prepared, Assessment: q.Assessment, Decision: q.Decision,
	}}
	d.tickets[t.ID], d.byKey[key] = t, t
	d.changed()
	return t, nil
}

// count notes one ticket of a principal, or says that an hour's are used up.
func (d *Desk) count(principal string) bool {
	now := d.now()
	times, ok := d.asked.get(principal, now)
	if !ok {
		times = &[]time.Time{}
	}
	recent := (*times)[:0]
	for _, at := range *times {
		if now.Sub(at) < time.Hour {
			recent = append(recent, at)
		}
	}
	if len(recent) >= TicketsPerHour {
		*times = recent
		return false
	}
	*times = append(recent, now)
	d.asked.put(principal, times, now.Add(time.Hour))
	return true
}

// answer says what became of a ticket, and hands out its authorization once.
func (d *Desk) answer(t *ticket) Answer {
	a := Answer{Ticket: t.ID, Open: t.Expires}
	switch t.State {
	case Pending:
		a.Code = "approval_pending"
		a.Reason = fmt.Sprintf("a person has been asked (ticket %s, open until %s); repeat the same call to pick the decision up",
			t.ID, t.Expires.UTC().Format("15:04:05 UTC"))
	case Approved:
		a.Authorization = seal.Make(t.Prepared, ApprovedOnce, true, d.now().Add(Lifetime))
		d.settle(t, Collected, "")
	case Collected:
		a.Code, a.Reason = "collected", "the call was approved, and an identical call collected the approval"
	case Rejected, Expired, Void, Cancelled:
		a.Code, a.Reason = string(t.State), t.Reason
	}
	return a
}

// settle ends a ticket. What only an open ticket may hold goes.
func (d *Desk) settle(t *ticket, state State, reason string) {
	wasPending := t.State == Pending
	t.State, t.Reason = state, reason
	if d.byKey[t.key] == t {
		delete(d.byKey, t.key)
	}
	t.Prepared.Arguments, t.Prepared.Scope = nil, nil
	t.Prepared.Effect = call.Effect{}
	t.Prepared.Request.Arguments = nil
	if wasPending {
		close(t.answered)
	}
	d.settled = append(d.settled, t.ID)
	if len(d.settled) > settledKept {
		delete(d.tickets, d.settled[0])
		d.settled = d.settled[1:]
	}
	d.changed()
}

// sweep settles what has expired.
func (d *Desk) sweep() {
	now := d.now()
	for _, t := range d.byKey {
		if now.Before(t.Expires) {
			continue
		}
		if t.State == Approved {
			d.settle(t, Expired, "the call was approved, but its caller did not collect the approval in time")
		} else {
			d.settle(t, Expired, "nobody answered in time")
		}
	}
}

// Void settles every open ticket, for example before a shutdown or while
// calls are frozen, and returns how many there were.
func (d *Desk) Void(reason string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := len(d.byKey)
	for _, t := range d.byKey {
		d.settle(t, Void, reason)
	}
	return n
}

// Close voids every open ticket and takes no more.
func (d *Desk) Close(reason string) {
	d.mu.Lock()
	d.closed = reason
	d.mu.Unlock()
	d.Void(reason)
}

// Cancel ends a ticket for the side that asked, such as a cancelled task.
func (d *Desk) Cancel(id, reason string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.tickets[id]
	if t == nil || t.State != Pending && t.State != Approved {
		return false
	}
	d.settle(t, Cancelled, reason)
	return true
}
