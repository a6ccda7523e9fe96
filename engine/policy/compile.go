package policy

import (
	"slices"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/match"
	"github.com/writ-dev/writ/engine/rule"
	"github.com/writ-dev/writ/engine/value"
)

// Policy is one compiled ApprovalPolicy.
type Policy struct {
	Name     string
	At       diag.Position
	Selector match.Selector
	Rules    []*rule.Rule // the deny rules

	general Posture
	entries map[call.Entry]Posture
	confirm [4]Confirmation
	asking  asking
}

// posture is what the policy says for an entry; unset when it says nothing.
func (p *Policy) posture(entry call.Entry) Posture { return max(p.general, p.entries[entry]) }

// Compile parses one document. Claims are the typed claims of principals. A confirm that is weaker than the floor of the
// document's own posture is an error.
func Compile(doc *document.ApprovalPolicy, claims map[string]value.Field) (*Policy, diag.List) {
	c := compiling{claims: claims}
	p := &Policy{
		Name:     doc.Name,
		At:       doc.Source.Start(),
		Selector: match.Compile(doc.Match),
		general:  parsePosture(doc.Posture),
		entries:  map[call.Entry]Posture{},
	}
	for _, name := range value.Keys(doc.Entries) {
		p.entries[call.Entry(name)] = parsePosture(doc.Entries[name].Posture)
	}
	for _, name := range value.Keys(doc.Confirm) {
		p.compileConfirm(doc, name, &c.problems)
	}
	for i, written := range doc.Deny {
		parsed, found := rule.Parse(rule.Rule{
			ID:       written.ID,
			Message:  written.Message,
			At:       doc.Source.At("deny", i),
			When:     doc.Source.At("deny", i, "when"),
			Selector: p.Selector,
		}, written.When)
		c.problems = append(c.problems, found...)
		if !found.HasErrors() {
			p.Rules = append(p.Rules, parsed)
		}
	}
	p.compileAsking(doc, &c)
	return p, c.problems
}

// compiling is the work on one document.
type compiling struct {
	claims   map[string]value.Field
	problems diag.List
}

// principal is what the roles of approvers may name.
func (c *compiling) principal() value.Type {
	fields := map[string]value.Field{"name": value.Of(value.String)}
	for name, claim := range c.claims {
		fields[name] = value.Field{Type: claim.Type} // an absent claim denies the call
	}
	return value.Struct(map[string]value.Field{"principal": {Type: value.Struct(fields)}})
}

func (p *Policy) compileConfirm(doc *document.ApprovalPolicy, name string, problems *diag.List) {
	level, err := call.ParseLevel(name)
	if err != nil {
		problems.Errorf(doc.Source.Key("confirm", name), "unknown-risk", "%v", err)
		return
	}
	confirmation := Confirmation(max(0, slices.Index(confirmationNames[:], doc.Confirm[name])))
	posture := p.general
	if posture == unset {
		posture = Balanced
	}
	if floor := Floor(posture, level); confirmation < floor {
		problems.Errorf(doc.Source.At("confirm", name), "below-floor",
			"%s: %s is weaker than the floor of posture %s", name, confirmation, posture).
			Hinted("write %s, or leave the line out", floor)
	}
	p.confirm[level] = confirmation
}

func parsePosture(name string) Posture {
	return Posture(max(0, slices.Index(postureNames[:], name)))
}
