// Package grant answers one question: is this call allowed already?
//
// A grant is a document by which people say beforehand what they would approve.
// It may lift a required approval, never a denial, and lowers no risk. What no
// grant releases is decided first and in this file: critical calls, calls that
// need a phrase, calls for which several people are asked, and whatever a
// policy excepts. A grant covers a call only when every part of it says so; a
// condition that cannot be evaluated does not match. The package is pure: the
// time comes in as a value, and how often a grant was used is counted by room
// store together with the intent of the call.
package grant

import (
	"fmt"
	"slices"
	"time"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/condition"
	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/match"
	"github.com/writ-dev/writ/engine/policy"
	"github.com/writ-dev/writ/engine/rule"
)

// Grant is one compiled document.
type Grant struct {
	Name, Reason string
	At           diag.Position
	Selector     match.Selector
	MaxRisk      call.Level
	Expires      time.Time
	Uses         int64  // 0 means any number
	Reviewed     string // a day, or ""

	when *rule.Rule // nil when there is no condition
}

// Bound is a grant as it holds for one tool. ByName says that the grant names
// the tool exactly.
type Bound struct {
	*Grant
	ByName    bool
	Condition *condition.Condition // nil when there is none
}

// Call is one assessed and decided call. Subject has the assessed level.
type Call struct {
	Subject     match.Subject
	Decision    policy.Decision
	Environment *condition.Environment
	Now         time.Time
	// Dangerous says that the configuration and this process both let grants
	// release dangerous calls (contract P-59).
	Dangerous bool
}

// Excluded says why no grant at all can release a call, or "". It comes before
// every grant (contract P-58).
func Excluded(c Call) string {
	level, decision := c.Subject.Risk, c.Decision
	switch {
	case decision.Effect != policy.RequireApproval:
		return "the decision is " + decision.Effect.String() + ", and a grant only stands in for a person"
	case level >= call.Critical:
		return "no grant releases a critical call"
	case decision.Confirmation >= policy.Phrase:
		return "no grant releases a call that needs a phrase"
	case !decision.Grants:
		return "a policy that matches lets no grant stand in for its approvers"
	case several(decision.Approvers):
		return "more than one approver is asked"
	case level >= call.Dangerous && !c.Dangerous:
		return "dangerous calls need allow_dangerous_grants in writ.yaml and --allow-dangerous-grants"
	}
	return ""
}

// several reports whether more than one person may be needed.
func several(sets []policy.Approvers) bool {
	for _, set := range sets {
		if set.Count > 1 || !slices.Equal(set.People, sets[0].People) || !slices.Equal(set.Roles, sets[0].Roles) {
			return true
		}
	}
	return false
}

// Covers says why the grant does not cover a call, or "" when it does. It is
// asked only for a call that is not Excluded.
func (b *Bound) Covers(c Call) string {
	if reason := Excluded(c); reason != "" {
		return reason
	}
	switch {
	case !c.Now.Before(b.Expires):
		return "it expired at " + b.Expires.UTC().Format(time.RFC3339)
	case c.Subject.Risk > b.MaxRisk:
		return fmt.Sprintf("the call is %s, and it covers %s at most", c.Subject.Risk, b.MaxRisk)
	case !b.Selector.Matches(c.Subject):
		return "its match leaves out this caller, entry or scope"
	}
	for key := range c.Subject.Scope {
		if _, named := b.Selector.Scope()[key]; !named {
			return "the call has scope " + key + ", which it does not name"
		}
	}
	if b.Condition == nil {
		return ""
	}
	holds, err := b.Condition.Evaluate(c.Environment)
	switch {
	case err != nil:
		return "its condition cannot be evaluated: " + err.Error()
	case !holds:
		return "its condition does not hold"
	}
	return ""
}
