// Package match answers one question: which calls does a document speak of?
//
// It compiles the one selector that every kind of document uses. What a tool
// is (its name, group and labels) is known when a generation is built, so that
// half is decided once; who calls, by which way and in which scope is decided
// at the call. Keys are joined by and, items by or. The package is pure and
// knows nothing of what follows from a match.
package match

import (
	"slices"
	"strings"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/value"
)

// Target is what is known of a tool when a generation is built.
type Target struct {
	Name, Group string
	Labels      map[string]string
	Scope       []string // the keys of its scope
}

// Subject is what is known at the call.
type Subject struct {
	Principal call.Principal
	Entry     call.Entry
	Scope     map[string]any
	Risk      call.Level
}

// Selector is a compiled match. The zero value selects everything. Selectors
// of one document are equal, and selectors may be keys of a map.
type Selector struct {
	match   *document.Match
	minRisk call.Level
}

func (s Selector) said() *document.Match {
	if s.match == nil {
		return &document.Match{}
	}
	return s.match
}

// Compile makes a Selector of a document's match; nil selects everything. The
// grammar has already refused empty lists and unknown levels; a level that
// slipped through counts as read_only here, so that the selector covers more.
func Compile(m *document.Match) Selector {
	if m == nil {
		return Selector{}
	}
	s := Selector{match: m}
	if level, err := call.ParseLevel(m.MinRisk); err == nil {
		s.minRisk = level
	}
	return s
}

// Coverage says how a selector came to cover a tool.
type Coverage int

const (
	// Outside means that the selector never speaks of the tool.
	Outside Coverage = iota
	// ByPattern means that a prefix, a group, a label or the lack of all of
	// them covers the tool.
	ByPattern
	// ByName means that the selector names the tool exactly.
	ByName
)

// Covers decides the half that is known when a generation is built.
func (s Selector) Covers(t Target) Coverage {
	m := s.said()
	if len(m.Groups) > 0 && !anyItem(m.Groups, t.Group) {
		return Outside
	}
	for key := range m.Scope {
		if !slices.Contains(t.Scope, key) {
			return Outside
		}
	}
	for key, items := range m.Labels {
		label, ok := t.Labels[key]
		if !ok || !anyItem(items, label) {
			return Outside
		}
	}
	if len(m.Tools) == 0 {
		return ByPattern
	}
	coverage := Outside
	for _, item := range m.Tools {
		switch {
		case item == t.Name:
			return ByName
		case Item(item, t.Name):
			coverage = ByPattern
		}
	}
	return coverage
}

// Matches decides the half that is known only at the call, for a tool that
// the selector covers. It is for what loosens: a scope that the call leaves
// out, or that is not one plain value, never matches.
func (s Selector) Matches(subject Subject) bool { return s.matches(subject, false) }

// MayMatch is Matches for what restricts, such as risk rules and policies: a
// scope that the call leaves out may be any, so nobody escapes a rule by
// leaving an argument out.
func (s Selector) MayMatch(subject Subject) bool { return s.matches(subject, true) }

func (s Selector) matches(subject Subject, unknown bool) bool {
	m := s.said()
	if subject.Risk < s.minRisk {
		return false
	}
	if len(m.Entries) > 0 && !anyItem(m.Entries, string(subject.Entry)) {
		return false
	}
	if len(m.Principals) > 0 && !anyItem(m.Principals, subject.Principal.Name) {
		return false
	}
	if len(m.Roles) > 0 && !anyRole(m.Roles, subject.Principal.Roles) {
		return false
	}
	for key, items := range m.Scope {
		text, ok := value.Text(subject.Scope[key])
		if !ok && !unknown || ok && !anyItem(items, text) {
			return false
		}
	}
	return true
}

// Names lists the exact tool names and reports whether nothing else is
// selected by tool, so that an index can find the selector by name.
func (s Selector) Names() (names []string, only bool) {
	return exact(s.said().Tools)
}

// Groups is the same of groups.
func (s Selector) Groups() (names []string, only bool) {
	return exact(s.said().Groups)
}

func exact(items []string) (names []string, only bool) {
	for _, item := range items {
		if strings.HasSuffix(item, "*") {
			return nil, false
		}
	}
	return items, len(items) > 0
}

// Scope lists the scope keys that the selector reads.
func (s Selector) Scope() map[string][]string { return s.said().Scope }

// Item reports whether one item of a list, exact or a prefix with one
// trailing *, selects a name.
func Item(item, name string) bool {
	if prefix, ok := strings.CutSuffix(item, "*"); ok {
		return strings.HasPrefix(name, prefix)
	}
	return item == name
}

func anyItem(items []string, name string) bool {
	for _, item := range items {
		if Item(item, name) {
			return true
		}
	}
	return false
}

func anyRole(items, roles []string) bool {
	for _, role := range roles {
		if anyItem(items, role) {
			return true
		}
	}
	return false
}
