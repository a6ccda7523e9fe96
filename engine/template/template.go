// Package template answers one question: which text comes of a string with
// ${…} in it?
//
// A slot is a dotted path, such as ${args.repo} or ${secrets.TOKEN}, never an
// expression; $${ is a literal ${. A string that is one slot has the slot's
// type, text around a slot makes text. An absent value is an error and never
// renders as empty text. The package does not quote, escape or encode for any
// target: whoever builds a URL or a command takes the parts and does so. It
// reads nothing but what the lookup of its caller gives.
package template

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/writ-dev/writ/engine/diag"
)

// Bounds of templates.
const (
	MaxRendered = 1 << 20 // bytes of one rendered text
	MaxSlots    = 200     // slots of one template
)

// Part is a piece of a template: a slot when Path is not nil, else a literal.
type Part struct {
	Literal string
	Path    []string
	At      diag.Position
}

// IsSlot reports whether the part is replaced by a value.
func (p Part) IsSlot() bool { return p.Path != nil }

// Name is the path as it is written between the braces.
func (p Part) Name() string { return strings.Join(p.Path, ".") }

// Template is a parsed string. It is immutable.
type Template struct {
	source string
	at     diag.Position
	parts  []Part
}

// Parse takes a string apart. At is where its text begins. The Template is nil
// when there are diagnostics.
func Parse(source string, at diag.Position) (*Template, diag.List) {
	t := &Template{source: source, at: at}
	var out diag.List
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			t.parts = append(t.parts, Part{Literal: literal.String(), At: at})
			literal.Reset()
		}
	}
	for rest := source; rest != ""; {
		before, after, found := strings.Cut(rest, "${")
		if !found {
			literal.WriteString(rest)
			break
		}
		if escaped, ok := strings.CutSuffix(before, "$"); ok {
			literal.WriteString(escaped + "${")
			rest = after
			continue
		}
		literal.WriteString(before)
		flush()
		here := t.position(len(source) - len(after) - len("${"))
		inside, next, closed := strings.Cut(after, "}")
		if !closed {
			out.Errorf(here, "template-syntax", "${ is never closed").Hinted("write ${args.x}, or $${ for the characters themselves")
			break
		}
		if path := slot(inside, here, &out); path != nil {
			t.parts = append(t.parts, Part{Path: path, At: here})
		}
		rest = next
	}
	flush()
	if slots := len(t.Slots()); slots > MaxSlots {
		out.Errorf(at, "template-size", "the text has %d slots, more than %d", slots, MaxSlots)
	}
	if len(out) > 0 {
		return nil, out
	}
	return t, nil
}

// position counts from the start of a text on one line; in any other the start
// has to do.
func (t *Template) position(bytes int) diag.Position {
	at := t.at
	if at.Column > 0 && !strings.Contains(t.source, "\n") {
		at.Column += utf8.RuneCountInString(t.source[:bytes])
	}
	return at
}

// slot reads what stands between the braces.
func slot(inside string, at diag.Position, out *diag.List) []string {
	path := strings.Split(inside, ".")
	if !slices.ContainsFunc(path, func(name string) bool { return !plain(name) }) {
		return path
	}
	d := out.Errorf(at, "template-syntax", "${%s} is not a dotted path", shorten(inside))
	trimmed := strings.TrimSpace(inside)
	switch {
	case trimmed == "":
		d.Hinted("write ${args.x}, or $${ for the characters themselves")
	case trimmed != inside && !slices.ContainsFunc(strings.Split(trimmed, "."), func(name string) bool { return !plain(name) }):
		d.Hinted("write ${%s}", trimmed)
	case strings.ContainsAny(inside, "|?:"):
		d.Hinted("a slot has no default: give the argument one")
	case strings.ContainsAny(inside, "[("):
		d.Hinted("a slot is a path, not an expression; calculate nothing here")
	default:
		d.Hinted("write ${args.x}; a slot is a path, not an expression")
	}
	return nil
}

// plain reports whether a name can stand in a path.
func plain(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	})
}

func shorten(text string) string {
	if utf8.RuneCountInString(text) <= 40 {
		return text
	}
	return string([]rune(text)[:40]) + "…"
}

// Source returns the string as it was written.
func (t *Template) Source() string { return t.source }

// Parts returns literals and slots in order. No two literals adjoin, and none
// is empty.
func (t *Template) Parts() []Part { return slices.Clone(t.parts) }

// Slots returns the path of every slot in order.
func (t *Template) Slots() [][]string {
	var paths [][]string
	for _, p := range t.parts {
		if p.IsSlot() {
			paths = append(paths, p.Path)
		}
	}
	return paths
}

// Whole returns the path when the string is one slot and nothing else.
func (t *Template) Whole() (path []string, ok bool) {
	if len(t.parts) == 1 && t.parts[0].IsSlot() {
		return t.parts[0].Path, true
	}
	return nil, false
}

// Literal returns the text when the string has no slot.
func (t *Template) Literal() (text string, ok bool) {
	switch {
	case len(t.parts) == 0:
		return "", true
	case len(t.parts) == 1 && !t.parts[0].IsSlot():
		return t.parts[0].Literal, true
	}
	return "", false
}

// LeadingSlot returns the path when the string begins with a slot, so that a
// value decides its first character.
func (t *Template) LeadingSlot() (path []string, ok bool) {
	if len(t.parts) > 0 && t.parts[0].IsSlot() {
		return t.parts[0].Path, true
	}
	return nil, false
}
