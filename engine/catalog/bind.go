package catalog

import (
	"fmt"
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
		for t := range b.covered(r.Selector) {
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
	for t := range b.covered(p.Selector) {
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

// covered yields the tools that a selector covers. A selector that only names
// tools costs its names, not the whole catalog.
func (b *build) covered(s match.Selector) func(yield func(*Tool) bool) {
	return func(yield func(*Tool) bool) {
		if names, only := s.Names(); only {
			for _, name := range names {
				if t := b.catalog.byName[name]; t != nil && s.Covers(t.Target()) != match.Outside && !yield(t) {
					return
				}
			}
			return
		}
		for _, t := range b.catalog.tools {
			if s.Covers(t.Target()) != match.Outside && !yield(t) {
				return
			}
		}
	}
}

func (b *build) fit(r *rule.Rule, t *Tool) *rule.Bound {
	bound, skipped, problems := r.Bind(t.RuleTarget())
	b.problems = append(b.problems, problems...)
	if skipped != "" {
		if b.catalog.Skipped[r.ID] == nil {
			b.catalog.Skipped[r.ID] = map[string]string{}
		}
		b.catalog.Skipped[r.ID][t.Name] = skipped
	}
	return bound
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

// references checks every name by which one document speaks of another.
func (b *build) references() {
	for _, doc := range b.set.RiskRules {
		b.checkMatch(doc.Match, doc.Source)
	}
	for _, doc := range b.set.Policies {
		b.checkMatch(doc.Match, doc.Source)
	}
	for _, doc := range b.set.Tests {
		b.known(doc.Given.Tool, doc.Source.At("given", "tool"), "tool", value.Keys(b.catalog.byName))
	}
	connections := make([]string, len(b.set.Connections))
	for i, connection := range b.set.Connections {
		connections[i] = connection.Name
	}
	for _, doc := range b.set.Secrets {
		for i, name := range doc.For.Tools {
			b.known(name, doc.Source.At("for", "tools", i), "tool", value.Keys(b.catalog.byName))
		}
		for i, name := range doc.For.Connections {
			b.known(name, doc.Source.At("for", "connections", i), "connection", connections)
		}
	}
}

func (b *build) known(name string, at diag.Position, what string, names []string) {
	for _, known := range names {
		if known == name {
			return
		}
	}
	b.problems.Errorf(at, "unknown-"+what, "there is no %s %q", what, name).Hinted("%s", diag.DidYouMean(name, names))
}

// checkMatch refuses items that select nothing: a misspelt name would
// otherwise be a rule that never applies.
func (b *build) checkMatch(m *document.Match, source *document.Source) {
	if m == nil {
		return
	}
	names, groups, scopes := []string{}, map[string]bool{}, map[string]bool{}
	for _, t := range b.catalog.tools {
		names = append(names, t.Name)
		groups[t.Group] = true
		for _, key := range value.Keys(t.Document.Scope) {
			scopes[key] = true
		}
	}
	b.checkItems(m.Tools, names, "tool", m.AllowNone, func(i int) diag.Position { return source.At("match", "tools", i) })
	b.checkItems(m.Groups, value.Keys(groups), "group", m.AllowNone, func(i int) diag.Position { return source.At("match", "groups", i) })
	for _, key := range value.Keys(m.Scope) {
		if !scopes[key] && !m.AllowNone {
			b.problems.Errorf(source.Key("match", "scope", key), "unknown-scope", "no tool has a scope %q", key).
				Hinted("%s", diag.DidYouMean(key, value.Keys(scopes)))
		}
	}
}

func (b *build) checkItems(items, names []string, what string, allowNone bool, at func(int) diag.Position) {
	for i, item := range items {
		found := allowNone
		for _, name := range names {
			found = found || match.Item(item, name)
		}
		if found {
			continue
		}
		if strings.HasSuffix(item, "*") {
			b.problems.Errorf(at(i), "matches-nothing", "no %s begins with %q", what, strings.TrimSuffix(item, "*")).
				Hinted("write allow_none: true in this match if that is meant")
			continue
		}
		b.problems.Errorf(at(i), "unknown-"+what, "there is no %s %q", what, item).Hinted("%s", diag.DidYouMean(item, names))
	}
}
