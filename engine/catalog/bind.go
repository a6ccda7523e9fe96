package catalog

import (
	"fmt"
	"maps"
	"strings"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/match"
	"github.com/writ-dev/writ/engine/policy"
	"github.com/writ-dev/writ/engine/risk"
	"github.com/writ-dev/writ/engine/rule"
	"github.com/writ-dev/writ/engine/value"
)

// bind gives every tool the rules and policies that can apply to it.
func (b *build) bind() {
	for _, r := range b.catalog.Rules {
		applied := 0
		for _, t := range b.covered(r.Selector) {
			if bound := b.fit(r.Rule, t); bound != nil {
				t.Rules = append(t.Rules, risk.Bound{Bound: bound, Level: r.Level})
				t.Worst = max(t.Worst, r.Level)
				applied++
			}
		}
		if applied == 0 && len(b.catalog.tools) > 0 && !b.problems.HasErrors() {
			b.problems.Warnf(r.At, "applies-to-nothing", "rule %s applies to no tool%s", r.ID, b.because(r.ID))
		}
	}
	for _, p := range b.catalog.Policies {
		b.bindPolicy(p)
	}
}

func (b *build) bindPolicy(p *policy.Policy) {
	applied := map[string]int{}
	for _, t := range b.covered(p.Selector) {
		bound := policy.Bound{Policy: p}
		for _, r := range p.Rules {
			if fitted := b.fit(r, t); fitted != nil {
				bound.Deny = append(bound.Deny, fitted)
				applied[r.ID]++
			}
		}
		t.Policies = append(t.Policies, bound)
	}
	for _, r := range p.Rules {
		switch {
		case b.problems.HasErrors() || len(b.catalog.tools) == 0:
		case applied[r.ID] == 0:
			b.problems.Errorf(r.At, "denies-nothing", "deny rule %s applies to no tool%s", r.ID, b.because(r.ID))
		case len(b.catalog.Skipped[r.ID]) > 0:
			b.problems.Warnf(r.At, "deny-skips", "deny rule %s does not apply to %s%s",
				r.ID, some(value.Keys(b.catalog.Skipped[r.ID])), b.because(r.ID)).
				Hinted("guard the field with has(), or match only the tools that have it")
		}
	}
}

// fit binds a rule to a tool, or takes what was bound before.
func (b *build) fit(r *rule.Rule, t *Tool) *rule.Bound {
	pair := fitting{r, t.Tool}
	known := b.compiler.fitted[pair]
	if known == nil {
		known = &fitted{}
		known.bound, known.skipped, known.problems = r.Bind(t.RuleTarget())
		b.compiler.fitted[pair] = known
	}
	if known.used != b.number {
		known.used = b.number
		b.fits++
	}
	b.problems = append(b.problems, known.problems...)
	if known.skipped != "" {
		if b.catalog.Skipped[r.ID] == nil {
			b.catalog.Skipped[r.ID] = map[string]string{}
		}
		b.catalog.Skipped[r.ID][t.Name] = known.skipped
	}
	return known.bound
}

// forget drops what was bound for rules and tools that are gone.
func (b *build) forget() {
	if len(b.compiler.fitted) > b.fits {
		maps.DeleteFunc(b.compiler.fitted, func(_ fitting, f *fitted) bool { return f.used != b.number })
	}
}

// because gives one reason why a rule skipped a tool.
func (b *build) because(id string) string {
	for _, name := range value.Keys(b.catalog.Skipped[id]) {
		return fmt.Sprintf(": %s: %s", name, b.catalog.Skipped[id][name])
	}
	return ""
}

func some(names []string) string {
	if len(names) > 8 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:8], ", "), len(names)-8)
	}
	return strings.Join(names, ", ")
}

// index knows every name that a document may refer to.
type index struct {
	tools, groups, scopes, connections map[string]bool
}

func (b *build) index() index {
	x := index{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for _, t := range b.catalog.tools {
		x.tools[t.Name] = true
		x.groups[t.Group] = true
		for key := range t.Document.Scope {
			x.scopes[key] = true
		}
	}
	for _, connection := range b.set.Connections {
		x.connections[connection.Name] = true
	}
	return x
}

// references checks every name by which one document speaks of another.
func (b *build) references() {
	x := b.index()
	for _, doc := range b.set.RiskRules {
		b.checkMatch(x, doc.Match, doc.Source)
	}
	for _, doc := range b.set.Policies {
		b.checkMatch(x, doc.Match, doc.Source)
	}
	for _, doc := range b.set.Grants {
		b.checkMatch(x, doc.Match, doc.Source)
	}
	for _, doc := range b.set.Tests {
		b.known(doc.Given.Tool, doc.Source.At("given", "tool"), "tool", x.tools)
	}
	for _, doc := range b.set.Secrets {
		for i, name := range doc.For.Tools {
			b.known(name, doc.Source.At("for", "tools", i), "tool", x.tools)
		}
		for i, name := range doc.For.Connections {
			b.known(name, doc.Source.At("for", "connections", i), "connection", x.connections)
		}
	}
}

func (b *build) known(name string, at diag.Position, what string, names map[string]bool) {
	if !names[name] {
		b.problems.Errorf(at, "unknown-"+what, "there is no %s %q", what, name).
			Hinted("%s", diag.DidYouMean(name, value.Keys(names)))
	}
}

// checkMatch refuses items that select nothing: a misspelt name would
// otherwise be a rule that never applies.
func (b *build) checkMatch(x index, m *document.Match, source *document.Source) {
	if m == nil {
		return
	}
	b.checkItems(m.Tools, x.tools, "tool", m.AllowNone, source)
	b.checkItems(m.Groups, x.groups, "group", m.AllowNone, source)
	b.checkScope(x, m, source)
	if !b.problems.HasErrors() && !m.AllowNone && len(b.catalog.tools) > 0 && b.coversNothing(m) {
		b.problems.Errorf(source.Key("match"), "matches-nothing", "no tool is selected by all keys of this match together").
			Hinted("write allow_none: true in this match if that is meant")
	}
}

func (b *build) coversNothing(m *document.Match) bool {
	return len(b.covered(match.Compile(m))) == 0
}

func (b *build) checkItems(items []string, names map[string]bool, what string, allowNone bool, source *document.Source) {
	for i, item := range items {
		prefix, pattern := strings.CutSuffix(item, "*")
		switch {
		case allowNone, names[item], pattern && anyPrefix(names, prefix):
		case pattern:
			b.problems.Errorf(source.At("match", what+"s", i), "matches-nothing", "no %s begins with %q", what, prefix).
				Hinted("write allow_none: true in this match if that is meant")
		default:
			b.known(item, source.At("match", what+"s", i), what, names)
		}
	}
}

func anyPrefix(names map[string]bool, prefix string) bool {
	for name := range names {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
