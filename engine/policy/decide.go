// Package policy answers one question: permit, ask or deny?
//
// Every policy that matches a call has a say and the strictest wins, field by
// field, so their order never matters. Floors stand below all of them: they
// are in this file and no configuration lowers them. A deny rule that cannot
// be evaluated denies. The package is pure: it holds no state, reads no clock
// and does not log.
package policy

import (
	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/condition"
	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/match"
	"github.com/writ-dev/writ/engine/rule"
)

// Effect is what may happen to a call. The zero value denies; a smaller
// effect is stricter.
type Effect int

// The effects.
const (
	Deny Effect = iota
	RequireApproval
	Permit
)

var effectNames = [...]string{"deny", "require_approval", "permit"}

func (e Effect) String() string { return effectNames[e] }

// MarshalText writes the effect as tests and records spell it.
func (e Effect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// Confirmation is how strongly a person must confirm. Greater is stricter.
type Confirmation int

// The confirmations: none, one explicit yes, or an exact phrase bound to the
// request.
const (
	None Confirmation = iota
	Confirm
	Phrase
)

var confirmationNames = [...]string{"none", "confirm", "phrase"}

func (c Confirmation) String() string { return confirmationNames[c] }

// MarshalText writes the confirmation as files spell it.
func (c Confirmation) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Posture is a set of floors. Greater is stricter; the zero value is unset.
type Posture int

// The postures. Permissive holds for local entries only.
const (
	unset Posture = iota
	Permissive
	Balanced
	Strict
)

var postureNames = [...]string{"", "permissive", "balanced", "strict"}

func (p Posture) String() string { return postureNames[p] }

// floors gives the weakest confirmation of each level under each posture.
var floors = [...][4]Confirmation{
	Permissive: {None, Confirm, Confirm, Phrase},
	Balanced:   {None, Confirm, Phrase, Phrase},
	Strict:     {Confirm, Confirm, Phrase, Phrase},
}

// Floor is the weakest confirmation that a posture allows for a level.
func Floor(p Posture, level call.Level) Confirmation { return floors[p][level] }

// Decision is what may happen to a call, and what settled it.
type Decision struct {
	Effect       Effect       `json:"effect"`
	Confirmation Confirmation `json:"confirmation"`
	// SettledBy is the id of the deny rule, or the name of the policy or of
	// the posture that asked for the strongest confirmation.
	SettledBy string        `json:"settled_by"`
	Posture   string        `json:"posture"`
	Message   string        `json:"message,omitempty"`
	At        diag.Position `json:"at,omitzero"`
	// Error says why a deny rule could not be evaluated, which made it deny.
	Error string `json:"error,omitempty"`

	// What follows matters only for RequireApproval. Every set of Approvers has
	// to be satisfied. Grants says whether a grant may stand in for a person,
	// Unattended that there is nobody to ask at this entry.
	Approvers  []Approvers `json:"approvers,omitempty"`
	Pending    Pending     `json:"-"`
	Grants     bool        `json:"-"`
	Unattended bool        `json:"-"`
}

// Bound is a policy as it holds for one tool.
type Bound struct {
	*Policy
	Deny []*rule.Bound
}

// Input is one assessed call.
type Input struct {
	Subject     match.Subject // with the assessed level
	Local       bool          // the entry is local: permissive holds
	Environment *condition.Environment
}

// Decide settles one call. The policies are those bound to its tool.
func Decide(policies []Bound, in Input) Decision {
	matching := make([]*Bound, 0, 8)
	posture := unset
	for i := range policies {
		p := &policies[i]
		if !p.Selector.MayMatch(in.Subject) {
			continue
		}
		if denied, ok := deny(p, in); ok {
			return denied
		}
		posture = max(posture, p.posture(in.Subject.Entry))
		matching = append(matching, p)
	}
	if posture == unset || posture == Permissive && !in.Local {
		posture = Balanced
	}
	level := in.Subject.Risk
	decision := Decision{
		Effect: Permit, Confirmation: Floor(posture, level),
		SettledBy: "posture " + posture.String(), Posture: posture.String(),
	}
	for _, p := range matching {
		if p.confirm[level] > decision.Confirmation {
			decision.Confirmation = p.confirm[level]
			decision.SettledBy = "policy " + p.Name
			decision.At = p.At
		}
	}
	if decision.Confirmation == None {
		return decision
	}
	decision.Effect = RequireApproval
	if err := ask(matching, in, &decision); err != nil {
		return Decision{Effect: Deny, SettledBy: "approvers", Message: "who may approve this call cannot be found out", Error: err.Error()}
	}
	return decision
}

func deny(p *Bound, in Input) (Decision, bool) {
	for _, rule := range p.Deny {
		holds, err := rule.Condition.Evaluate(in.Environment)
		if !holds && err == nil {
			continue
		}
		decision := Decision{Effect: Deny, SettledBy: rule.ID, Message: rule.Message, At: rule.At}
		if err != nil {
			decision.Error = err.Error()
		}
		return decision, true
	}
	return Decision{}, false
}
