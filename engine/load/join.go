package load

import (
	"cmp"
	"slices"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
)

// joining collects the documents of all files and finds names and ids that are
// given twice.
type joining struct {
	set      *document.Set
	problems *diag.List
	names    map[kindAndName]*document.Header
	ids      map[string]place // of risk and deny rules
	refuse   map[string]place
}

type kindAndName struct{ kind, name string }

// place is where an id stands. Nearly all are looked up never.
type place struct {
	source *document.Source
	list   string
	item   int
}

func (p place) at() diag.Position { return p.source.At(p.list, p.item, "id") }

func (j *joining) add(doc any) {
	if j.names == nil {
		j.names, j.ids, j.refuse = map[kindAndName]*document.Header{}, map[string]place{}, map[string]place{}
	}
	switch d := doc.(type) {
	case *document.Tool:
		if j.name(&d.Header) {
			j.set.Tools = append(j.set.Tools, d)
			for i, r := range d.Refuse {
				j.id(j.refuse, "refuse", r.ID, place{d.Source, "refuse", i})
			}
		}
	case *document.RiskRules:
		if j.name(&d.Header) {
			j.set.RiskRules = append(j.set.RiskRules, d)
			for i, r := range d.Rules {
				j.id(j.ids, "rule", r.ID, place{d.Source, "rules", i})
			}
		}
	case *document.ApprovalPolicy:
		if j.name(&d.Header) {
			j.set.Policies = append(j.set.Policies, d)
			for i, r := range d.Deny {
				j.id(j.ids, "rule", r.ID, place{d.Source, "deny", i})
			}
		}
	case *document.Grant:
		if j.name(&d.Header) {
			j.set.Grants = append(j.set.Grants, d)
		}
	case *document.Connection:
		if j.name(&d.Header) {
			j.set.Connections = append(j.set.Connections, d)
		}
	case *document.Secret:
		if j.name(&d.Header) {
			j.set.Secrets = append(j.set.Secrets, d)
		}
	case *document.Test:
		if j.name(&d.Header) {
			j.set.Tests = append(j.set.Tests, d)
		}
	}
}

// name keeps the first document of each name.
func (j *joining) name(h *document.Header) bool {
	key := kindAndName{h.Kind, h.Name}
	if first, twice := j.names[key]; twice {
		d := j.problems.Errorf(h.Source.At("name"), "duplicate-name", "there are two documents of kind %s with the name %s", h.Kind, h.Name)
		if h.Source.Maker() != "" {
			d.Message = spoken(h.Kind) + " " + h.Name + ", made by " + h.Source.Maker() + ": " + d.Message
		}
		d.Also(first.Source.At("name"), "the first one")
		return false
	}
	j.names[key] = h
	return true
}

func (j *joining) id(known map[string]place, what, id string, p place) {
	if first, twice := known[id]; twice {
		j.problems.Errorf(p.at(), "duplicate-id", "%s id %s is used twice, and records could not tell which one it was", what, id).
			Also(first.at(), "the first one")
		return
	}
	known[id] = p
}

// finish puts every kind in the order of its names.
func (j *joining) finish() {
	slices.SortFunc(j.set.Tools, func(a, b *document.Tool) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(j.set.RiskRules, func(a, b *document.RiskRules) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(j.set.Policies, func(a, b *document.ApprovalPolicy) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(j.set.Grants, func(a, b *document.Grant) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(j.set.Connections, func(a, b *document.Connection) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(j.set.Secrets, func(a, b *document.Secret) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(j.set.Tests, func(a, b *document.Test) int { return cmp.Compare(a.Name, b.Name) })
}
