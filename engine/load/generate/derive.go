package main

import (
	"encoding/json"
	"fmt"
	"slices"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"
)

// expr turns a CUE expression into a JSON Schema. Only forms that keep their
// whole meaning are known; the corpus of package load compares the verdicts.
func (g *grammar) expr(e ast.Expr) (object, error) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return g.expr(e.X)
	case *ast.Ident:
		return g.ident(e)
	case *ast.BasicLit:
		return constant(e)
	case *ast.UnaryExpr:
		return bound(e)
	case *ast.BinaryExpr:
		if e.Op == token.OR {
			return g.either(e)
		}
		return g.both(e)
	case *ast.CallExpr:
		return called(e)
	case *ast.ListLit:
		return g.list(e)
	case *ast.StructLit:
		return g.structure(e)
	}
	return nil, fmt.Errorf("%s: the generator does not know this form", place(e))
}

func (g *grammar) ident(e *ast.Ident) (object, error) {
	switch e.Name {
	case "_":
		return object{}, nil
	case "string", "number":
		return object{{"type", e.Name}}, nil
	case "int":
		return object{{"type", "integer"}}, nil
	case "bool":
		return object{{"type", "boolean"}}, nil
	}
	if len(e.Name) > 1 && g.byName[e.Name[1:]] != nil {
		return object{{"$ref", "#/$defs/" + e.Name[1:]}}, nil
	}
	return nil, fmt.Errorf("%s: there is no %s", place(e), e.Name)
}

func constant(e *ast.BasicLit) (object, error) {
	if e.Kind == token.STRING {
		text, err := literal.Unquote(e.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", place(e), err)
		}
		return object{{"const", text}}, nil
	}
	return object{{"const", json.Number(e.Value)}}, nil
}

func bound(e *ast.UnaryExpr) (object, error) {
	basic, ok := e.X.(*ast.BasicLit)
	if !ok {
		return nil, fmt.Errorf("%s: a bound is a literal", place(e))
	}
	if e.Op == token.MAT || e.Op == token.NMAT {
		pattern, err := literal.Unquote(basic.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", place(e), err)
		}
		if e.Op == token.NMAT {
			return object{{"type", "string"}, {"not", object{{"pattern", pattern}}}}, nil
		}
		return object{{"type", "string"}, {"pattern", pattern}}, nil
	}
	word, ok := map[token.Token]string{
		token.GEQ: "minimum", token.LEQ: "maximum", token.GTR: "exclusiveMinimum", token.LSS: "exclusiveMaximum",
	}[e.Op]
	if !ok || basic.Kind == token.STRING {
		return nil, fmt.Errorf("%s: the generator does not know this bound", place(e))
	}
	return object{{"type", "number"}, {word, json.Number(basic.Value)}}, nil
}

// both merges what & joins. Two different values of one word cannot be merged.
func (g *grammar) both(e *ast.BinaryExpr) (object, error) {
	if e.Op != token.AND {
		return nil, fmt.Errorf("%s: the generator does not know %s", place(e), e.Op)
	}
	left, err := g.expr(e.X)
	if err != nil {
		return nil, err
	}
	right, err := g.expr(e.Y)
	if err != nil {
		return nil, err
	}
	for _, m := range right {
		known := left.get(m.key)
		switch {
		case known == nil:
			left.set(m.key, m.value)
		case m.key == "type" && known == "integer" && m.value == "number", m.key == "type" && known == m.value:
		case m.key == "type" && known == "number" && m.value == "integer":
			left.set("type", "integer")
		default:
			return nil, fmt.Errorf("%s: two values of %s cannot be joined", place(e), m.key)
		}
	}
	return left, nil
}

// either makes an enum of constants, and anyOf of anything else.
func (g *grammar) either(e *ast.BinaryExpr) (object, error) {
	var choices []any
	words := true
	var collect func(ast.Expr) error
	collect = func(x ast.Expr) error {
		if binary, ok := x.(*ast.BinaryExpr); ok && binary.Op == token.OR {
			if err := collect(binary.X); err != nil {
				return err
			}
			return collect(binary.Y)
		}
		choice, err := g.expr(x)
		if err != nil {
			return err
		}
		if choice.get("properties") != nil || choice.get("$ref") != nil {
			return fmt.Errorf("%s: a choice between structs makes poor messages", place(x))
		}
		words = words && choice.get("const") != nil
		choices = append(choices, choice)
		return nil
	}
	if err := collect(e); err != nil {
		return nil, err
	}
	if !words {
		return object{{"anyOf", choices}}, nil
	}
	for i, choice := range choices {
		choices[i] = choice.(object).get("const")
	}
	return object{{"enum", choices}}, nil
}

func called(e *ast.CallExpr) (object, error) {
	selector, ok := e.Fun.(*ast.SelectorExpr)
	if ok && len(e.Args) == 1 {
		room, _ := selector.X.(*ast.Ident)
		name, _, err := ast.LabelName(selector.Sel)
		if basic, isLiteral := e.Args[0].(*ast.BasicLit); room != nil && err == nil && isLiteral {
			count := json.Number(basic.Value)
			switch room.Name + "." + name {
			case "list.MinItems":
				return object{{"type", "array"}, {"minItems", count}}, nil
			case "list.MaxItems":
				return object{{"type", "array"}, {"maxItems", count}}, nil
			case "struct.MinFields":
				return object{{"type", "object"}, {"minProperties", count}}, nil
			}
		}
	}
	return nil, fmt.Errorf("%s: the generator does not know this call", place(e))
}

func (g *grammar) list(e *ast.ListLit) (object, error) {
	if len(e.Elts) == 1 {
		if rest, ok := e.Elts[0].(*ast.Ellipsis); ok {
			out := object{{"type", "array"}}
			if rest.Type == nil {
				return out, nil
			}
			item, err := g.expr(rest.Type)
			if err != nil {
				return nil, err
			}
			if len(item) > 0 {
				out.set("items", item)
			}
			return out, nil
		}
	}
	return nil, fmt.Errorf("%s: a list is written [...T]", place(e))
}

func (g *grammar) structure(e *ast.StructLit) (object, error) {
	var properties, patterns object
	var required []string
	var rest any = false
	for _, declaration := range e.Elts {
		field, ok := declaration.(*ast.Field)
		if !ok {
			if _, comment := declaration.(*ast.CommentGroup); comment {
				continue
			}
			return nil, fmt.Errorf("%s: a struct holds fields only", place(declaration))
		}
		value, err := g.field(field)
		if err != nil {
			return nil, err
		}
		if pattern, ok := field.Label.(*ast.ListLit); ok {
			if err := pattern1(pattern, value, &patterns, &rest); err != nil {
				return nil, err
			}
			continue
		}
		name, err := label(field)
		if err != nil {
			return nil, err
		}
		properties.set(name, value)
		switch field.Constraint {
		case token.ILLEGAL:
			// CUE fills a struct that is not written, so that it would not be missed.
			return nil, fmt.Errorf("%s: %s has no mark that says whether it is required", place(field), name)
		case token.NOT:
			required = append(required, name)
		}
	}
	return assemble(properties, patterns, required, rest), nil
}

// pattern1 reads a field whose label is a pattern: [string] or [=~"…"].
func pattern1(label *ast.ListLit, value object, patterns *object, rest *any) error {
	if len(label.Elts) == 1 {
		switch key := label.Elts[0].(type) {
		case *ast.Ident:
			if key.Name == "string" {
				*rest = value
				if len(value) == 0 {
					*rest = true
				}
				return nil
			}
		case *ast.UnaryExpr:
			if schema, err := bound(key); err == nil && key.Op == token.MAT {
				patterns.set(schema.text("pattern"), value)
				return nil
			}
		}
	}
	return fmt.Errorf("%s: the generator does not know this label", place(label))
}

func assemble(properties, patterns object, required []string, rest any) object {
	out := object{{"type", "object"}}
	if len(properties) > 0 {
		out.set("properties", properties)
	}
	if len(patterns) > 0 {
		out.set("patternProperties", patterns)
	}
	if len(required) > 0 {
		out.set("required", required)
	}
	if rest != true {
		out.set("additionalProperties", rest)
	}
	return out
}

// field derives the schema of a field with its comment, what it wants, and
// where it stands.
func (g *grammar) field(field *ast.Field) (object, error) {
	value, err := g.expr(field.Value)
	if err != nil {
		return nil, err
	}
	g.annotate(&value, doc(field), attribute(field, "want"), place(field))
	return value, nil
}

func (g *grammar) annotate(schema *object, doc, want, at string) {
	if doc != "" {
		schema.set("description", doc)
	}
	if want != "" {
		schema.set("x-want", want)
	}
	if doc != "" || want != "" {
		schema.set("$comment", at)
	}
}

// derived is every definition as a JSON Schema.
func (g *grammar) derived() (object, error) {
	var out object
	for _, d := range g.definitions {
		schema, err := g.expr(d.expr)
		if err != nil {
			return nil, err
		}
		g.annotate(&schema, d.doc, d.want, d.at)
		if reserved := g.reservedFor[d.name]; len(reserved) > 0 {
			schema.set("x-reserved", reserved)
		}
		out.set(d.name, schema)
	}
	for name := range g.reservedFor {
		if g.byName[name] == nil {
			return nil, fmt.Errorf("reserved keys for %s, which is no definition", name)
		}
	}
	slices.SortFunc(out, func(a, b member) int { return slices.Compare([]string{a.key}, []string{b.key}) })
	return out, nil
}
