package catalog

import (
	"time"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/grant"
	"github.com/writ-dev/writ/engine/value"
)

// Grant is a compiled grant with the tools that it speaks of at present.
type Grant struct {
	*grant.Grant
	Document *document.Grant
	// Named are the tools that it names, and Patterned those that only a pattern
	// selects, with their digests: whether these are covered depends on what was
	// there when the grant was first in force.
	Named     []string
	Patterned map[string]call.Digest
	// Skipped names the tools that a pattern selects but that lack a field which
	// the condition reads, with the reason.
	Skipped map[string]string
}

// grants compiles the grants and gives every tool those that may cover it.
func (b *build) grants() {
	for _, doc := range b.set.Grants {
		compiled, problems := grant.Compile(doc)
		b.problems = append(b.problems, problems...)
		b.checkDangerous(doc, compiled)
		if problems.HasErrors() {
			continue
		}
		if now := b.compiler.options.Now(); !now.Before(compiled.Expires) {
			b.problems.Warnf(doc.Source.At("expires_at"), "expired-grant", "grant %s expired at %s and releases nothing",
				doc.Name, compiled.Expires.UTC().Format(time.RFC3339)).Hinted("remove it, or give it a later time")
		}
		b.bindGrant(&Grant{Grant: compiled, Document: doc, Patterned: map[string]call.Digest{}, Skipped: map[string]string{}})
	}
}

func (b *build) bindGrant(g *Grant) {
	wrong := false
	for _, t := range b.covered(g.Selector) {
		bound, skipped, problems := g.Bind(grant.Target{Target: t.RuleTarget(), PerCall: t.PerCall}, g.Document)
		b.problems = append(b.problems, problems...)
		wrong = wrong || problems.HasErrors()
		switch {
		case bound == nil && skipped != "":
			g.Skipped[t.Name] = skipped
		case bound == nil:
		case bound.ByName:
			g.Named = append(g.Named, t.Name)
		default:
			g.Patterned[t.Name] = t.Digest
		}
		if bound != nil {
			t.Grants = append(t.Grants, *bound)
		}
	}
	if !wrong && len(g.Named)+len(g.Patterned) == 0 && !b.problems.HasErrors() {
		d := b.problems.Errorf(g.At, "covers-nothing", "grant %s covers no tool", g.Name)
		for _, name := range value.Keys(g.Skipped) {
			d.Hinted("%s: %s", name, g.Skipped[name])
		}
	}
	b.catalog.Grants = append(b.catalog.Grants, g)
}

// checkDangerous holds grants for dangerous calls to the setting, and says
// how little they release (contract P-59).
func (b *build) checkDangerous(doc *document.Grant, g *grant.Grant) {
	if g.MaxRisk != call.Dangerous {
		return
	}
	at := doc.Source.At("max_risk")
	if !b.compiler.inputs.DangerousGrants {
		b.problems.Errorf(at, "dangerous-grant", "grants for dangerous calls are not accepted").
			Hinted("write max_risk: mutating, or allow_dangerous_grants: true in writ.yaml")
		return
	}
	b.problems.Warnf(at, "dangerous-grant",
		"dangerous calls need a phrase everywhere but at local entries under the posture permissive, and no grant releases a call that needs a phrase")
}
