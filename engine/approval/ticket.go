package approval

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/policy"
	"github.com/writ-dev/writ/engine/risk"
)

// State is how far a ticket has come.
type State string

// The states. A ticket is open while it is Pending or Approved: approved, but
// not yet collected by its caller.
const (
	Pending   State = "pending"
	Approved  State = "approved"
	Collected State = "collected"
	Rejected  State = "rejected"
	Expired   State = "expired"
	Void      State = "void"
	Cancelled State = "cancelled"
)

// Ticket is one question to people: may exactly this call be executed? It is a
// copy; changing it changes nothing.
type Ticket struct {
	ID         string
	State      State
	Created    time.Time
	Expires    time.Time // of the question; once approved, of the collection
	Prepared   call.Prepared
	Assessment risk.Assessment
	Decision   policy.Decision
	Votes      []Vote
	// Reason says why a ticket was rejected or is void.
	Reason string
	// Waiting counts the callers that wait for the answer at present.
	Waiting int
}

// Phrase is the exact text that a strong confirmation demands (contract P-48).
func (t Ticket) Phrase() string { return "APPROVE " + t.ID }

// Vote is one approver's yes.
type Vote struct {
	Approver string
	At       time.Time
	Reason   string
}

// Approver is a person who decides, as the channel authenticated them. A
// credential that can call a tool never makes an Approver.
type Approver struct {
	Name  string
	Roles []string
	// Terminal says that the person sits at a terminal of the machine as the
	// operating-system user who runs Writ.
	Terminal bool
}

// Verdict is what an approver says to a ticket.
type Verdict struct {
	Approve bool
	// Effect is the digest of the effect that the approver was shown. A verdict
	// on anything else is refused.
	Effect call.Digest
	// Phrase is what was typed when the ticket demands a phrase.
	Phrase string
	Reason string
	// Remember also approves identical calls of the same session for a while.
	Remember bool
}

// Why a verdict is not taken.
var (
	ErrNoTicket = errors.New("there is no such ticket; it may have expired")
	ErrSettled  = errors.New("the ticket is settled already")
	ErrStale    = errors.New("the ticket does not show what you decided on; look at it again")
	ErrPhrase   = errors.New("the phrase does not match")
	ErrSelf     = errors.New("who asks may not approve")
	ErrNotAsked = errors.New("you are not among the approvers of this call")
	ErrTwice    = errors.New("you have approved this call already; another person has to")
	ErrReason   = errors.New("this call needs a reason")
	ErrRemember = errors.New("only a call that one person approves with a plain yes can be remembered")
)

// Decide takes a verdict. The error says why it was not taken.
func (d *Desk) Decide(id string, by Approver, v Verdict) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sweep()
	t := d.tickets[id]
	switch {
	case t == nil:
		return ErrNoTicket
	case t.State != Pending:
		return ErrSettled
	case v.Effect != t.Prepared.Effect.Digest():
		return ErrStale
	}
	if err := t.mayDecide(by); err != nil {
		return err
	}
	if !v.Approve {
		d.reject(t, by, v.Reason)
		return nil
	}
	return d.approve(t, by, v)
}

func (d *Desk) reject(t *ticket, by Approver, reason string) {
	said := "rejected by " + by.Name
	if reason != "" {
		said += ": " + reason
	}
	d.rejections.put(t.key, said, d.now().Add(RejectionMemory))
	d.settle(t, Rejected, said)
}

func (d *Desk) approve(t *ticket, by Approver, v Verdict) error {
	switch {
	case t.Decision.Confirmation == policy.Phrase && v.Phrase != t.Phrase():
		return ErrPhrase
	case v.Remember && !t.rememberable():
		return ErrRemember
	case v.Reason == "" && t.wantsReason():
		return ErrReason
	case slices.ContainsFunc(t.Votes, func(vote Vote) bool { return vote.Approver == by.Name }):
		return ErrTwice
	}
	t.Votes = append(t.Votes, Vote{Approver: by.Name, At: d.now(), Reason: v.Reason})
	t.voters = append(t.voters, by)
	if v.Remember {
		t.remember = true
	}
	if !t.satisfied() {
		d.changed()
		return nil
	}
	t.State = Approved
	t.Expires = d.now().Add(t.Decision.Pending.Collect)
	if t.remember {
		d.rememberCall(t)
	}
	close(t.answered)
	d.changed()
	return nil
}

// rememberable reports whether identical calls may be approved along with
// this one (contract P-53).
func (t *ticket) rememberable() bool {
	if t.Prepared.Request.Session == "" || t.Assessment.Level > call.Mutating || t.Decision.Confirmation != policy.Confirm {
		return false
	}
	for _, set := range t.Decision.Approvers {
		if set.Count > 1 {
			return false
		}
	}
	return true
}

func (t *ticket) wantsReason() bool {
	return slices.ContainsFunc(t.Decision.Approvers, func(set policy.Approvers) bool { return set.Reason })
}

// mayDecide checks who decides. Without any set of approvers everybody who has
// an approver's credential may, but the one who asks.
func (t *ticket) mayDecide(by Approver) error {
	requester := t.Prepared.Request.Principal.Name
	sets := t.Decision.Approvers
	if len(sets) == 0 {
		sets = []policy.Approvers{{Count: 1}}
	}
	asked := false
	for _, set := range sets {
		if by.Name == requester && !set.AllowsSelf(by.Terminal) {
			return ErrSelf
		}
		asked = asked || set.Includes(by.Name, by.Roles)
	}
	if !asked {
		return ErrNotAsked
	}
	return nil
}

// satisfied reports whether every set of approvers has its count of distinct
// people.
func (t *ticket) satisfied() bool {
	for _, set := range t.Decision.Approvers {
		n := 0
		for _, voter := range t.voters {
			if set.Includes(voter.Name, voter.Roles) {
				n++
			}
		}
		if n < max(1, set.Count) {
			return false
		}
	}
	return len(t.voters) > 0
}

// Missing says in a few words which yeses a ticket still needs.
func (t Ticket) Missing() string {
	for _, set := range t.Decision.Approvers {
		if set.Count > 1 {
			return fmt.Sprintf("%d of %d have approved", len(t.Votes), set.Count)
		}
	}
	return ""
}
