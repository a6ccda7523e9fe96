package load

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"
)

// exportLeaf knows plain types, lists and single values. What prints as
// something else, such as net.IPv4, is a validator that would be dropped.
func exportLeaf(v cue.Value, depth int) (*node, *lost) {
	if v.IncompleteKind() == cue.ListKind {
		return exportList(v, depth)
	}
	if v.IsConcrete() && isScalar(v) {
		value, err := constant(v)
		if err != nil {
			return nil, err
		}
		return objectNode("const", value), nil
	}
	switch text := fmt.Sprint(v); text {
	case "string", "number":
		return objectNode("type", textNode(text)), nil
	case "int":
		return objectNode("type", textNode("integer")), nil
	case "bool":
		return objectNode("type", textNode("boolean")), nil
	case "null":
		return objectNode("type", textNode("null")), nil
	case "_":
		return objectNode(), nil
	default:
		return nil, losing(v, "%s", text)
	}
}

func exportList(v cue.Value, depth int) (*node, *lost) {
	out := objectNode("type", textNode("array"))
	if n, err := v.Len().Int64(); err == nil && n > 0 {
		return nil, losing(v, "a list whose first items are given")
	}
	item := v.LookupPath(cue.MakePath(cue.AnyIndex))
	if !item.Exists() {
		return nil, losing(v, "a list of no items")
	}
	below, err := export(item, depth+1)
	if err == nil {
		out.set("items", below)
	}
	return out, err
}

func exportStruct(v cue.Value, op cue.Op, args []cue.Value, depth int) (*node, *lost) {
	if _, what := labels(v); what != "" {
		return nil, losing(v, "%s", what)
	}
	out := objectNode("type", textNode("object"))
	properties, required := objectNode(), &node{form: formList}
	fields, failure := v.Fields(cue.Optional(true))
	if failure != nil {
		return nil, losing(v, "%v", failure)
	}
	for fields.Next() {
		name := fields.Selector().Unquoted()
		below, err := export(fields.Value(), depth+1)
		if err != nil {
			return nil, err
		}
		properties.set(name, below)
		if fields.FieldType().ConstraintType() != cue.OptionalConstraint && below.get("default") == nil {
			required.items = append(required.items, textNode(name))
		}
	}
	out.set("properties", properties)
	if len(required.items) > 0 {
		out.set("required", required)
	}
	out.set("additionalProperties", &node{form: formBool, text: "false"})
	if rest := v.LookupPath(cue.MakePath(cue.AnyString)); rest.Exists() {
		below, err := export(rest, depth+1)
		if err != nil {
			return nil, err
		}
		out.set("additionalProperties", below)
	}
	if op == cue.AndOp {
		for _, arg := range args {
			if inner, parts := arg.Expr(); inner == cue.CallOp {
				bound, err := exportCall(arg, parts)
				if err != nil {
					return nil, err
				}
				merge(out, bound)
			}
		}
	}
	return out, nil
}

func exportAll(v cue.Value, args []cue.Value, depth int) (*node, *lost) {
	out := objectNode()
	for _, arg := range args {
		below, err := export(arg, depth+1)
		if err != nil {
			return nil, err
		}
		if what := merge(out, below); what != "" {
			return nil, losing(v, "two bounds of one kind (%s)", what)
		}
	}
	return out, nil
}

// merge adds the words of one schema to another; what cannot be joined is
// named.
func merge(into, from *node) string {
	for i, k := range from.keys {
		known := into.get(k.name)
		switch {
		case known == nil:
			into.set(k.name, from.items[i])
		case k.name == "type" && known.text == "number":
			into.set("type", from.items[i])
		case k.name == "type" && known.text == "integer" && from.items[i].text == "number":
		case string(known.appendJSON(nil)) != string(from.items[i].appendJSON(nil)):
			return k.name
		}
	}
	return ""
}

// exportAny makes an enum of single values and anyOf of types.
func exportAny(v cue.Value, args []cue.Value, depth int) (*node, *lost) {
	values, choices := &node{form: formList}, &node{form: formList}
	types := map[string]bool{}
	for _, arg := range args {
		if arg.IncompleteKind() == cue.StructKind {
			return nil, losing(v, "a choice between structs")
		}
		below, err := export(arg, depth+1)
		if err != nil {
			return nil, err
		}
		choices.items = append(choices.items, below)
		if value := below.get("const"); value != nil {
			values.items = append(values.items, value)
			types[jsonType(value)] = true
		}
	}
	if len(values.items) < len(choices.items) {
		return objectNode("anyOf", choices), nil
	}
	values.items = slices.CompactFunc(values.items, func(a, b *node) bool { return a.form == b.form && a.text == b.text })
	out := objectNode("enum", values)
	if len(types) == 1 {
		for name := range types {
			out = objectNode("type", textNode(name), "enum", values)
		}
	}
	return out, nil
}

func jsonType(n *node) string {
	switch n.form {
	case formNumber:
		if strings.ContainsAny(n.text, ".eE") {
			return "number"
		}
		return "integer"
	case formBool:
		return "boolean"
	case formNull:
		return "null"
	}
	return "string"
}

func exportBound(v cue.Value, op cue.Op, arg cue.Value) (*node, *lost) {
	value, err := constant(arg)
	if err != nil {
		return nil, err
	}
	word := map[cue.Op]string{
		cue.GreaterThanEqualOp: "minimum", cue.LessThanEqualOp: "maximum",
		cue.GreaterThanOp: "exclusiveMinimum", cue.LessThanOp: "exclusiveMaximum",
	}[op]
	switch {
	case word != "" && value.form == formNumber:
		return objectNode("type", textNode("number"), word, value), nil
	case op == cue.RegexMatchOp:
		return objectNode("type", textNode("string"), "pattern", value), nil
	case op == cue.NotRegexMatchOp:
		return objectNode("type", textNode("string"), "not", objectNode("pattern", value)), nil
	case op == cue.NotEqualOp && value.form == formText && value.text == "":
		return objectNode("type", textNode("string"), "minLength", &node{form: formNumber, text: "1"}), nil
	}
	return nil, losing(v, "%v", v)
}

func exportCall(v cue.Value, args []cue.Value) (*node, *lost) {
	called := strings.TrimSuffix(fmt.Sprint(args[0]), "()")
	if called == "list.UniqueItems" {
		return objectNode("type", textNode("array"), "uniqueItems", &node{form: formBool, text: "true"}), nil
	}
	word := map[string][2]string{
		"strings.MinRunes": {"string", "minLength"}, "strings.MaxRunes": {"string", "maxLength"},
		"list.MinItems": {"array", "minItems"}, "list.MaxItems": {"array", "maxItems"},
		"struct.MinFields": {"object", "minProperties"}, "struct.MaxFields": {"object", "maxProperties"},
	}[called]
	if word[0] == "" || len(args) != 2 {
		return nil, losing(v, "%s", called)
	}
	count, err := constant(args[1])
	if err != nil {
		return nil, err
	}
	return objectNode("type", textNode(word[0]), word[1], count), nil
}

// constant converts one concrete value.
func constant(v cue.Value) (*node, *lost) {
	e := &evaluation{ctx: context.Background()}
	n := e.node(v, 2, "")
	if len(e.problems) > 0 {
		return nil, losing(v, "%v", v)
	}
	return n, nil
}

func textNode(text string) *node { return &node{form: formText, text: text} }

func objectNode(pairs ...any) *node {
	n := &node{form: formObject}
	for i := 0; i+1 < len(pairs); i += 2 {
		n.set(pairs[i].(string), pairs[i+1].(*node))
	}
	return n
}

func (n *node) set(name string, value *node) {
	for i, k := range n.keys {
		if k.name == name {
			n.items[i] = value
			return
		}
	}
	n.keys = append(n.keys, key{name: name})
	n.items = append(n.items, value)
}
