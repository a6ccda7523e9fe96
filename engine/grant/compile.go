package grant

import (
	"time"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/match"
	"github.com/writ-dev/writ/engine/rule"
)

// Compile parses one document.
func Compile(doc *document.Grant) (*Grant, diag.List) {
	var problems diag.List
	g := &Grant{
		Name: doc.Name, Reason: doc.Reason, At: doc.Source.Start(), Selector: match.Compile(doc.Match),
		MaxRisk: call.Mutating, Uses: doc.Uses, Reviewed: doc.Reviewed,
	}
	var err error
	if g.Expires, err = time.Parse(time.RFC3339, doc.ExpiresAt); err != nil {
		problems.Errorf(doc.Source.At("expires_at"), "wrong-value", "expires_at is no time such as 2027-01-01T00:00:00Z")
	}
	if doc.MaxRisk != "" {
		if g.MaxRisk, err = call.ParseLevel(doc.MaxRisk); err != nil || g.MaxRisk >= call.Critical {
			problems.Errorf(doc.Source.At("max_risk"), "unknown-risk", "no grant covers %s calls", doc.MaxRisk)
		}
	}
	if doc.Match == nil || len(doc.Match.Tools) == 0 {
		problems.Errorf(doc.Source.Key("match"), "missing-key", "a grant names the tools that it covers")
	}
	if doc.When != "" {
		parsed, found := rule.Parse(rule.Rule{
			ID: g.Name, Message: g.Reason, At: g.At, When: doc.Source.At("when"), Selector: g.Selector,
		}, doc.When)
		problems = append(problems, strict(found)...)
		if parsed.Expression != nil {
			parsed.Expression = parsed.Expression.Firm()
			g.when = parsed
		}
	}
	return g, problems
}

// strict makes an error of a pattern that matches inside a longer text: what
// is a weak rule elsewhere would be an open door here.
func strict(problems diag.List) diag.List {
	for i := range problems {
		if problems[i].Code == "unanchored-pattern" {
			problems[i].Severity = diag.Error
		}
	}
	return problems
}

// Target is a tool as grants see it.
type Target struct {
	rule.Target
	PerCall bool // its risk is that of each call
}

// Bind fits the grant to a tool. It returns nil with a reason when the grant
// does not cover the tool, and nil with problems when it should but cannot.
func (g *Grant) Bind(t Target, doc *document.Grant) (bound *Bound, skipped string, problems diag.List) {
	coverage := g.Selector.Covers(t.Target.Target)
	if coverage == match.Outside {
		return nil, "not selected", nil
	}
	bound = &Bound{Grant: g, ByName: coverage == match.ByName}
	for _, key := range t.Scope {
		if _, named := doc.Match.Scope[key]; !named {
			problems.Errorf(doc.Source.Key("match"), "missing-scope", "tool %s has the scope %s, which this match does not name", t.Name, key).
				Hinted("add scope: {%s: [values]} with the values that are covered", key).Also(t.At, "tool %s is declared here", t.Name)
		}
	}
	if t.PerCall && !g.reads("facts") {
		problems.Errorf(doc.Source.Key("match"), "per-call", "the risk of tool %s is that of each call, so a grant for it needs a condition on facts", t.Name).
			Hinted("add a when that reads facts").Also(t.At, "tool %s is declared here", t.Name)
	}
	if problems.HasErrors() || g.when == nil {
		if problems.HasErrors() {
			bound = nil
		}
		return bound, "", problems
	}
	fitted, skipped, found := g.when.Bind(t.Target)
	if fitted == nil {
		return nil, skipped, found
	}
	bound.Condition = fitted.Condition
	return bound, "", found
}

func (g *Grant) reads(root string) bool {
	if g.when == nil {
		return false
	}
	for _, read := range g.when.Expression.Reads() {
		if read.Path[0] == root && len(read.Path) > 1 {
			return true
		}
	}
	return false
}
