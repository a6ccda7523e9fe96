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

	reads []condition.Read
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
	if parsed != nil {
		r.reads = parsed.Reads()
	}
	return &r, problems
}

// Bind fits the rule to a tool. It returns nil with a reason when the rule
// does not apply there, and nil with problems when it should but cannot.
func (r *Rule) Bind(t Target) (bound *Bound, skipped string, problems diag.List) {
	coverage := r.Selector.Covers(t.Target)
	if coverage == match.Outside {
		return nil, "not selected", nil
	}
	lenient := false
	for _, missing := range r.Expression.Missing(t.Environment) {
		switch {
		case !ofTool(missing.Path[0]): // wrong for every tool, which Bind says best
		case missing.Guarded:
			lenient = true
		case coverage == match.ByName:
			r.lacks(&problems, t, missing)
		default:
			return nil, "it has no " + strings.Join(missing.Path, "."), nil
		}
	}
	if problems != nil {
		return nil, "", problems
	}
	key := r.key(t.Environment)
	known, ok := r.bound[key]
	if !ok {
		bind := r.Expression.Bind
		if lenient {
			bind = r.Expression.BindLenient
		}
		known.condition, known.problems = bind(t.Environment)
		r.bound[key] = known
	}
	if known.problems.HasErrors() {
		return nil, "", forTool(known.problems, t)
	}
	return &Bound{Rule: r, Condition: known.condition}, "", known.problems
}

// key is equal for environments in which the expression means the same.
func (r *Rule) key(environment value.Type) string {
	var key strings.Builder
	for _, read := range r.reads {
		found, optional, ok := environment.Lookup(read.Path)
		fmt.Fprintf(&key, "%q%t%t%s\n", read.Path, ok, optional, found.Signature())
	}
	return key.String()
}

// lacks reports a field that a tool named exactly does not have.
func (r *Rule) lacks(problems *diag.List, t Target, missing condition.Read) {
	last := len(missing.Path) - 1
	parent, _, _ := t.Environment.Lookup(missing.Path[:last])
	problems.Errorf(missing.At, "unknown-field", "rule %s reads %s, which tool %s does not have",
		r.ID, strings.Join(missing.Path, "."), t.Name).
		Hinted("%s", diag.DidYouMean(missing.Path[last], value.Keys(parent.Fields))).
		Also(t.At, "tool %s is declared here", t.Name)
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
