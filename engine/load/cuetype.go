package load

import (
	"fmt"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/writ-dev/writ/engine/diag"
)

// isType reports whether a value describes arguments as a CUE type instead of
// being JSON Schema: something in it is optional, has a default or has no
// value.
func isType(v cue.Value) bool {
	if v.Validate(cue.Concrete(true)) != nil {
		return true
	}
	if _, filled := v.Default(); filled {
		return true
	}
	if v.Kind() == cue.ListKind {
		items, err := v.List()
		for err == nil && items.Next() {
			if isType(items.Value()) {
				return true
			}
		}
	}
	if v.Kind() != cue.StructKind {
		return false
	}
	if patterned, _ := labels(v); patterned {
		return true
	}
	fields, err := v.Fields(cue.Optional(true))
	for err == nil && fields.Next() {
		if fields.FieldType().ConstraintType() != 0 || isType(fields.Value()) {
			return true
		}
	}
	return false
}

// exported writes a CUE type as JSON Schema.
func (e *evaluation) exported(v cue.Value, at diag.Position) *node {
	out, err := export(v, 0)
	if err != nil {
		if err.pos.IsValid() {
			at = e.at(err.pos.Pos())
		}
		e.problems.Errorf(at, "cue-type", "inputSchema: JSON Schema cannot express %s", err.what).
			Hinted("write inputSchema as JSON Schema, or use bounds, patterns, lists and optional fields alone")
		return &node{at: at, form: formBroken}
	}
	var place func(*node)
	place = func(n *node) {
		n.at = at
		for i, item := range n.items {
			if n.form == formObject {
				n.keys[i].at = at
			}
			place(item)
		}
	}
	place(out)
	return out
}

// lost is a part of a type that JSON Schema does not have.
type lost struct {
	what string
	pos  cuePos
}

type cuePos struct{ cue.Value }

func (p cuePos) IsValid() bool { return p.Value.Exists() && p.Pos().IsValid() }

func losing(v cue.Value, format string, args ...any) *lost {
	return &lost{fmt.Sprintf(format, args...), cuePos{v}}
}

// export turns a type into JSON Schema. Every form that it does not know is
// lost, and said so.
func export(v cue.Value, depth int) (*node, *lost) {
	if depth > MaxDepth {
		return nil, losing(v, "a type that contains itself")
	}
	v = cue.Dereference(v)
	if v.IncompleteKind() == cue.ListKind && marked(v) {
		if value, _ := v.Default(); openList(value) {
			return nil, losing(v, "an empty list as default")
		}
	}
	out, err := exportForm(v, depth)
	if err != nil {
		return nil, err
	}
	if value, filled := v.Default(); filled && !openList(value) {
		text, failure := constant(value)
		if failure != nil {
			return nil, failure
		}
		out.set("default", text)
	}
	var doc []string
	for _, group := range v.Doc() {
		doc = append(doc, strings.Fields(group.Text())...)
	}
	if len(doc) > 0 && out.get("description") == nil {
		out.set("description", textNode(strings.Join(doc, " ")))
	}
	return out, nil
}

// openList reports the empty list that CUE takes every list without a given
// length to be.
func openList(v cue.Value) bool {
	n, err := v.Len().Int64()
	return v.Kind() == cue.ListKind && err == nil && n == 0
}

func isScalar(v cue.Value) bool { return v.Kind() != cue.StructKind && v.Kind() != cue.BottomKind }

func exportForm(v cue.Value, depth int) (*node, *lost) {
	op, args := v.Expr()
	if v.IncompleteKind() == cue.StructKind && op != cue.OrOp {
		return exportStruct(v, op, args, depth)
	}
	switch op {
	case cue.AndOp:
		return exportAll(v, args, depth)
	case cue.OrOp:
		return exportAny(v, args, depth)
	case cue.CallOp:
		return exportCall(v, args)
	case cue.GreaterThanEqualOp, cue.LessThanEqualOp, cue.GreaterThanOp, cue.LessThanOp, cue.RegexMatchOp, cue.NotRegexMatchOp, cue.NotEqualOp:
		return exportBound(v, op, args[0])
	case cue.NoOp:
		if len(args) == 1 && fmt.Sprint(args[0]) != fmt.Sprint(v) && depth < MaxDepth {
			return export(args[0], depth+1)
		}
		return exportLeaf(v, depth)
	case cue.SelectorOp, cue.IndexOp:
		return exportLeaf(v.Eval(), depth)
	}
	return nil, losing(v, "%v", v)
}

// marked reports a default that is written out.
func marked(v cue.Value) bool {
	found := false
	ast.Walk(v.Syntax(cue.Raw()), func(n ast.Node) bool {
		if unary, ok := n.(*ast.UnaryExpr); ok && unary.Op == token.MUL {
			found = true
		}
		_, inside := n.(*ast.ListLit)
		return !inside
	}, nil)
	return found
}

// labels looks for labels that are no names, and names those that JSON Schema
// does not have.
func labels(v cue.Value) (patterned bool, odd string) {
	ast.Walk(v.Syntax(cue.Optional(true), cue.Raw()), func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			if pattern, ok := n.Label.(*ast.ListLit); ok {
				patterned = true
				if name, ok := pattern.Elts[0].(*ast.Ident); !ok || name.Name != "string" {
					odd = "fields by a pattern of their name"
				}
			}
			return false
		case *ast.Comprehension:
			odd = "a comprehension without a value"
		}
		return true
	}, nil)
	return patterned, odd
}
