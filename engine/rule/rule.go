// Package rule answers one question: does this rule speak of this tool, and
// can it be evaluated there?
//
// A rule is a selector and an expression with an id and a message. It is
// parsed once and bound to each tool that it applies to: a tool named exactly
// must have every field that the rule reads; of tools selected by pattern,
// group or label it applies to those that have every field which it reads
// outside a has() guard. What a true rule means is for risk, policy and tool
// to say. Rules are built and bound by one goroutine; bound conditions are
// immutable.
package rule

import (
	"fmt"
	"strings"

	"github.com/writ-dev/writ/engine/condition"
	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/match"
	"github.com/writ-dev/writ/engine/value"
)

// Rule is one parsed rule.
type Rule struct {
	ID, Message string
	At          diag.Position // of the rule
	When        diag.Position // of its expression
	Selector    match.Selector
	Expression  *condition.Expression

	bound map[string]binding
}

type binding struct {
	condition *condition.Condition
	problems  diag.List
}

// Target is a tool as a rule sees it.
type Target struct {
	match.Target
	At diag.Position
	// Environment is a Struct of the roots args, scope, principal, entry, tool
	// and facts.
	Environment value.Type
}

// Bound is a rule whose expression fits one tool.
type Bound struct {
	*Rule
	Condition *condition.Condition
}

// Parse makes a rule. Problems point at the expression.
func Parse(r Rule, expression string) (*Rule, diag.List) {
	parsed, problems := condition.Parse(expression, r.When)
	r.Expression = parsed
	r.bound = map[string]binding{}
	return &r, problems
}

// Bind fits the rule to a tool. It returns nil with a reason when the rule
// does not apply there, and nil with problems when it should but cannot.
func (r *Rule) Bind(t Target) (bound *Bound, skipped string, problems diag.List) {
	coverage := r.Selector.Covers(t.Target)
	if coverage == match.Outside {
		return nil, "not selected", nil
	}
	environment := t.Environment
	var key strings.Builder
	for _, read := range r.Expression.Reads() {
		found, optional, ok := environment.Lookup(read.Path)
		if !ok && ofTool(read.Path[0]) {
			switch {
			case read.Guarded:
				environment = withAbsent(environment, read.Path)
				found, optional = value.Type{}, true
			case coverage == match.ByName:
				r.lacks(&problems, t, read.Path)
				continue
			default:
				return nil, fmt.Sprintf("it has no %s", strings.Join(read.Path, ".")), nil
			}
		}
		fmt.Fprintf(&key, "%q%t%t%s\n", read.Path, ok, optional, found.Signature())
	}
	if problems != nil {
		return nil, "", problems
	}
	known, ok := r.bound[key.String()]
	if !ok {
		known.condition, known.problems = r.Expression.Bind(environment)
		r.bound[key.String()] = known
	}
	if known.problems.HasErrors() {
		return nil, "", forTool(known.problems, t)
	}
	return &Bound{Rule: r, Condition: known.condition}, "", known.problems
}

// lacks reports a field that a tool named exactly does not have.
func (r *Rule) lacks(problems *diag.List, t Target, path []string) {
	parent, _, _ := t.Environment.Lookup(path[:len(path)-1])
	d := problems.Errorf(r.When, "unknown-field", "rule %s reads %s, which tool %s does not have",
		r.ID, strings.Join(path, "."), t.Name)
	d.Hint = diag.DidYouMean(path[len(path)-1], value.Keys(parent.Fields))
	d.Also(t.At, "tool %s is declared here", t.Name)
}

// forTool names the tool for which an expression does not fit, since the same
// expression may fit others.
func forTool(problems diag.List, t Target) diag.List {
	named := make(diag.List, len(problems))
	for i, d := range problems {
		d.Related = append([]diag.Related{{At: t.At, Message: "checked against tool " + t.Name}}, d.Related...)
		named[i] = d
	}
	return named
}

func ofTool(root string) bool { return root == "args" || root == "scope" || root == "facts" }

// withAbsent returns a copy of the environment in which a path that the tool
// does not have exists and may be absent, so that has() answers false.
func withAbsent(t value.Type, path []string) value.Type {
	if len(path) == 0 {
		return value.Type{}
	}
	fields := make(map[string]value.Field, len(t.Fields)+1)
	for name, field := range t.Fields {
		fields[name] = field
	}
	field, ok := fields[path[0]]
	if !ok {
		field = value.Field{Optional: true}
		if len(path) > 1 {
			field.Type = value.Struct(nil)
		}
	}
	field.Type = withAbsent(field.Type, path[1:])
	fields[path[0]] = field
	return value.Struct(fields)
}
