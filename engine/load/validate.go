package load

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/writ-dev/writ/engine/diag"
)

// validation checks one document and words its mistakes: one line for each,
// the place in the file first, the place in the grammar as related.
type validation struct {
	grammar  *grammar
	kind     string
	root     *node
	problems diag.List
}

func (g *grammar) validate(kind string, root *node) diag.List {
	err := g.compiled[kind].Validate(root.value())
	v := &validation{grammar: g, kind: kind, root: root}
	if pointed(root) {
		v.fractions(schemaNode(g.defs[kind]), root, nil)
	}
	if err == nil {
		return v.problems
	}
	v.unknown(schemaNode(g.defs[kind]), root, nil)
	var mistake *jsonschema.ValidationError
	if errors.As(err, &mistake) {
		v.fold(mistake)
	}
	if len(v.problems) == 0 && !hasBroken(root) {
		v.problems.Errorf(root.at, "invalid", "the document is not what the grammar asks for: %v", err)
	}
	return v.problems
}

func hasBroken(n *node) bool { return n.form == formBroken || slices.ContainsFunc(n.items, hasBroken) }

// fold walks to the mistakes below the validator's own structure.
func (v *validation) fold(e *jsonschema.ValidationError) {
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.Not:
		v.mistake(e)
		return
	case *kind.AdditionalProperties:
		return // unknown reports it
	}
	if len(e.Causes) > 0 {
		for _, cause := range e.Causes {
			v.fold(cause)
		}
		return
	}
	v.mistake(e)
}

// mistake words one mistake.
func (v *validation) mistake(e *jsonschema.ValidationError) {
	n, s := v.find(e.InstanceLocation)
	if n == nil || n.form == formBroken {
		return
	}
	if k, ok := e.ErrorKind.(*kind.Required); ok {
		for _, missing := range k.Missing {
			v.missing(n, e.InstanceLocation, missing)
		}
		return
	}
	subject, want := dotted(e.InstanceLocation), v.grammar.note(s, "x-want")
	var d *diag.Diagnostic
	switch k := e.ErrorKind.(type) {
	case *kind.Enum:
		d = v.enum(n, subject, anyTexts(k.Want))
	case *kind.Const:
		d = v.problems.Errorf(n.at, "wrong-value", "%s is %s, want %s", subject, show(n), fmt.Sprint(k.Want))
	case *kind.MinItems, *kind.MinProperties:
		d = v.problems.Errorf(n.at, "empty-list", "%s lists nothing", subject).Hinted("leave the key out, or write an item")
	default:
		if want == "" {
			want = v.wanted(s)
		}
		d = v.wrong(n, subject, want)
	}
	v.related(d, s)
}

func (v *validation) related(d *diag.Diagnostic, s map[string]any) {
	if file, line, ok := strings.Cut(v.grammar.note(s, "$comment"), ":"); ok {
		at := diag.Position{File: file}
		at.Line, _ = strconv.Atoi(line)
		d.Also(at, "the grammar")
	}
}

func (v *validation) find(path []string) (*node, map[string]any) {
	n := v.root
	for _, step := range path {
		if n, _ = n.step(step); n == nil {
			return nil, nil
		}
	}
	return n, v.grammar.locate(v.kind, path)
}

func (v *validation) missing(n *node, path []string, name string) {
	owner := "a document of kind " + v.kind
	if len(path) > 0 {
		owner = dotted(path)
	}
	d := v.problems.Errorf(n.at, "missing-key", "%s needs %s", owner, name)
	property := v.grammar.locate(v.kind, append(slices.Clip(path), name))
	d.Hinted("%s", v.meaning(property, name))
	v.related(d, property)
}

func (v *validation) meaning(property map[string]any, name string) string {
	if words := words(v.grammar.resolve(property)["enum"]); len(words) > 0 {
		return fmt.Sprintf("write %s: %s", name, diag.OneOf(words))
	}
	if want := v.grammar.note(property, "x-want"); want != "" {
		return fmt.Sprintf("write %s: %s", name, want)
	}
	return ""
}

func (v *validation) enum(n *node, subject string, allowed []string) *diag.Diagnostic {
	if n.form == formNull {
		return v.wrong(n, subject, diag.OneOf(allowed))
	}
	d := v.problems.Errorf(n.at, "unknown-word", "%s is %s, want %s", subject, show(n), diag.OneOf(allowed))
	if n.form == formText {
		d.Hinted("%s", diag.DidYouMean(n.text, allowed))
	}
	return d
}

func (v *validation) wrong(n *node, subject, want string) *diag.Diagnostic {
	if n.form == formNull || n.form == formText && strings.TrimSpace(n.text) == "" {
		return v.problems.Errorf(n.at, "empty", "%s is empty, want %s", subject, want)
	}
	if n.form == formText && strings.HasPrefix(want, "plain text") && strings.Contains(n.text, "${") {
		return v.problems.Errorf(n.at, "plain-text", "%s holds ${, and this text is no template", subject).
			Hinted("describe the value in words")
	}
	d := v.problems.Errorf(n.at, "wrong-value", "%s is %s, want %s", subject, show(n), want)
	return d.Hinted("%s", remedy(n, subject, want))
}

func pointed(n *node) bool {
	return n.form == formNumber && strings.ContainsAny(n.text, ".eE") || slices.ContainsFunc(n.items, pointed)
}

// fractions finds 5.0 where a whole number is asked for: JSON Schema takes it
// for one, the grammar and the types do not.
func (v *validation) fractions(s map[string]any, n *node, path []string) {
	whole := v.grammar.resolve(s)["type"] == "integer" || v.grammar.resolve(s)["const"] != nil
	if n.form == formNumber && whole && strings.ContainsAny(n.text, ".eE") {
		v.wrong(n, dotted(path), v.wanted(s))
	}
	for i, item := range n.items {
		step := strconv.Itoa(i)
		if n.form == formObject {
			step = n.keys[i].name
		}
		if below := v.grammar.below(s, step); below != nil {
			v.fractions(below, item, append(slices.Clip(path), step))
		}
	}
}

// wanted says in words what a schema asks for.
func (v *validation) wanted(s map[string]any) string {
	s = v.grammar.resolve(s)
	low, high := s["minimum"], s["maximum"]
	if constant := s["const"]; constant != nil {
		return fmt.Sprint(constant)
	}
	switch s["type"] {
	case "string":
		return "text"
	case "boolean":
		return "true or false"
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "integer", "number":
		name := map[any]string{"integer": "a whole number", "number": "a number"}[s["type"]]
		switch {
		case low != nil && high != nil:
			return fmt.Sprintf("%s from %v to %v", name, low, high)
		case low != nil:
			return fmt.Sprintf("%s of at least %v", name, low)
		}
		return name
	}
	return "something else"
}

// show names a value in a message.
func show(n *node) string {
	switch n.form {
	case formText:
		if runes := []rune(n.text); len(runes) > 60 {
			return strconv.Quote(string(runes[:60])) + "…"
		}
		return strconv.Quote(n.text)
	case formNumber, formBool:
		return n.text
	}
	return n.form.String()
}

func anyTexts(values []any) []string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = fmt.Sprint(v)
	}
	return texts
}

// dotted writes a path as people do: rules[0].risk.
func dotted(path []string) string {
	var b strings.Builder
	for _, step := range path {
		if _, err := strconv.Atoi(step); err == nil && b.Len() > 0 {
			b.WriteString("[" + step + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(step)
	}
	if b.Len() == 0 {
		return "the document"
	}
	return b.String()
}
