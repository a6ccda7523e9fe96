package template

import (
	"strings"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/value"
)

// Place says where a rendered string goes, which decides whether a slot that
// is the whole string may be absent or a list.
type Place int

const (
	// Word must be text: every slot is present and has text.
	Word Place = iota
	// Key is a value in a map: a whole-slot value keeps its type, and its key
	// goes away when it is absent.
	Key
	// Item is an element of a list: a whole-slot value keeps its type and must
	// be present.
	Item
)

// Check reports slots that do not exist in env, an Object type whose fields are
// the roots, or that cannot stand where the string stands.
func (t *Template) Check(env value.Type, place Place) diag.List {
	var out diag.List
	_, whole := t.Whole()
	for _, p := range t.parts {
		if p.IsSlot() {
			p.check(env, place, whole, &out)
		}
	}
	return out
}

func (p Part) check(env value.Type, place Place, whole bool, out *diag.List) {
	typ, optional, ok := env.Lookup(p.Path)
	if !ok {
		p.unknown(env, out)
		return
	}
	kept := whole && place != Word
	if !kept && (typ.Kind == value.List || typ.Kind == value.Object) {
		d := out.Errorf(p.At, "slot-type", "${%s} is %s, which has no text", p.Name(), article(typ.Kind))
		switch {
		case typ.Kind == value.Object && len(typ.Fields) > 0:
			d.Hinted("name one of its fields: %s", diag.OneOf(value.Keys(typ.Fields)))
		case typ.Kind == value.List:
			d.Hinted("let the slot stand alone where a list may stand")
		}
	}
	// What an open map holds cannot be known; its absence is an error of the call.
	if !optional || !declaredOptional(env, p.Path) {
		return
	}
	switch {
	case place == Key && whole:
	case place == Item && whole:
		out.Errorf(p.At, "optional-slot", "${%s} may be absent, and a list has no place for what is absent", p.Name()).
			Hinted("use options, or give the argument a default")
	default:
		out.Errorf(p.At, "optional-slot", "${%s} may be absent", p.Name()).Hinted("give the argument a default, or use options")
	}
}

func declaredOptional(env value.Type, path []string) bool {
	for i := range path {
		parent, _, _ := env.Lookup(path[:i])
		if parent.Fields[path[i]].Optional {
			return true
		}
	}
	return false
}

// unknown finds the step of the path that is wrong.
func (p Part) unknown(env value.Type, out *diag.List) {
	for i, name := range p.Path {
		if _, _, ok := env.Lookup(p.Path[:i+1]); ok {
			continue
		}
		parent, _, _ := env.Lookup(p.Path[:i])
		if parent.Kind != value.Object {
			out.Errorf(p.At, "unknown-slot", "${%s}: %s is %s and has no fields", p.Name(), strings.Join(p.Path[:i], "."), article(parent.Kind))
			return
		}
		d := out.Errorf(p.At, "unknown-slot", "${%s}: there is no %s", p.Name(), strings.Join(p.Path[:i+1], "."))
		d.Hinted("%s", p.suggestion(env, parent, name, i))
		return
	}
}

func (p Part) suggestion(env, parent value.Type, name string, step int) string {
	names := value.Keys(parent.Fields)
	if step == 0 {
		for _, root := range value.Keys(env.Fields) {
			if _, ok := env.Fields[root].Type.Fields[name]; ok {
				return "did you mean ${" + root + "." + strings.Join(p.Path, ".") + "}?"
			}
		}
	}
	if near := diag.DidYouMean(name, names); near != "" {
		return near
	}
	if len(names) == 0 {
		return "nothing can be named here"
	}
	return "write " + diag.OneOf(names)
}

func article(k value.Kind) string {
	if k == value.Integer || k == value.Object || k == value.Any {
		return "an " + k.String()
	}
	return "a " + k.String()
}
