// Package risk answers one question: how dangerous is this call?
//
// The level is the maximum of the tool's floor and of every rule that fires.
// Nothing lowers it. All rules are evaluated, none short-circuits another, and
// a rule that cannot be evaluated counts as fired. The package is pure: it
// holds no state, reads no clock and does not log.
package risk

import (
	"cmp"
	"slices"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/condition"
	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/match"
)

// Assessment is how dangerous a call is, and why.
type Assessment struct {
	Level call.Level
	Floor call.Level
	// Fired lists every rule that fired, the one that raised most first.
	Fired []Finding
}

// Finding is one rule that fired.
type Finding struct {
	ID      string        `json:"id"`
	Level   call.Level    `json:"risk"`
	Message string        `json:"message"`
	At      diag.Position `json:"at"`
	// Error says why the rule could not be evaluated, which made it fire.
	Error string `json:"error,omitempty"`
}

// Evaluate assesses one call. The rules are those bound to its tool.
func Evaluate(floor call.Level, rules []Bound, subject match.Subject, environment *condition.Environment) Assessment {
	assessment := Assessment{Level: floor, Floor: floor}
	for i := range rules {
		rule := &rules[i]
		if !rule.Selector.MayMatch(subject) {
			continue
		}
		holds, err := rule.Condition.Evaluate(environment)
		if !holds && err == nil {
			continue
		}
		finding := Finding{ID: rule.ID, Level: rule.Level, Message: rule.Message, At: rule.At}
		if err != nil {
			finding.Error = err.Error()
		}
		assessment.Fired = append(assessment.Fired, finding)
		assessment.Level = max(assessment.Level, rule.Level)
	}
	slices.SortStableFunc(assessment.Fired, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Level, a.Level), cmp.Compare(a.ID, b.ID))
	})
	return assessment
}

// Rules names the rules that fired.
func (a Assessment) Rules() []string {
	ids := make([]string, len(a.Fired))
	for i, finding := range a.Fired {
		ids[i] = finding.ID
	}
	return ids
}
