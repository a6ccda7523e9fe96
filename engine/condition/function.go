package condition

import (
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"

	"github.com/writ-dev/writ/engine/value"
)

// bytesPerStep is how much text counts as one step.
const bytesPerStep = 256

// search compiles the operators that look inside a text.
func (b *binding) search(n *ast.BinaryNode, op string) operand {
	left := b.compile(n.Left)
	if op == "matches" {
		if !b.want(left, value.String) {
			return broken(n)
		}
		return ofBoolean(n, matching(b.texts(left), b.e.patterns[n.Right].MatchString))
	}
	right := b.compile(n.Right)
	if left.typ.Kind == value.List && op == "contains" {
		b.fail(n, "expression-type", "%s is a list", b.e.text(n.Left)).Hinted("write %s in %s", b.e.text(n.Right), b.e.text(n.Left))
		return broken(n)
	}
	return b.finding(n, op, left, right)
}

func (b *binding) finding(n ast.Node, op string, left, right operand) operand {
	if !b.want(left, value.String) || !b.want(right, value.String) {
		return broken(n)
	}
	find := strings.Contains
	switch op {
	case "startsWith":
		find = strings.HasPrefix
	case "endsWith":
		find = strings.HasSuffix
	}
	if part, ok := right.constant.(string); ok {
		if !b.lowerCase(left, right.node, part) {
			return broken(n)
		}
		return ofBoolean(n, matching(b.texts(left), func(s string) bool { return find(s, part) }))
	}
	l, r := b.texts(left), b.texts(right)
	return ofBoolean(n, func(e *Environment) (bool, error) {
		v, err := l(e)
		if err != nil {
			return false, err
		}
		w, err := r(e)
		if err != nil {
			return false, err
		}
		return find(v, w), e.spend(len(v) / bytesPerStep)
	})
}

func matching(text evaluator[string], match func(string) bool) evaluator[bool] {
	return func(e *Environment) (bool, error) {
		v, err := text(e)
		if err != nil {
			return false, err
		}
		if err := e.spend(len(v) / bytesPerStep); err != nil {
			return false, err
		}
		return match(v), nil
	}
}

func (b *binding) function(n *ast.BuiltinNode) operand {
	switch n.Name {
	case "all", "any", "none", "one", "count", "filter":
		return b.quantifier(n)
	case "duration":
		return b.duration(n)
	case "len":
		return b.length(n, b.compile(n.Arguments[0]))
	case "abs":
		return b.abs(n, b.compile(n.Arguments[0]))
	case "lower":
		return b.rewrite(n, strings.ToLower)
	case "upper":
		return b.rewrite(n, strings.ToUpper)
	case "trim":
		return b.rewrite(n, strings.TrimSpace)
	case "hasPrefix":
		return b.finding(n, "startsWith", b.compile(n.Arguments[0]), b.compile(n.Arguments[1]))
	case "hasSuffix":
		return b.finding(n, "endsWith", b.compile(n.Arguments[0]), b.compile(n.Arguments[1]))
	}
	return b.split(n)
}

func (b *binding) rewrite(n *ast.BuiltinNode, change func(string) string) operand {
	inner := b.compile(n.Arguments[0])
	if !b.want(inner, value.String) {
		return broken(n)
	}
	text := b.texts(inner)
	return ofText(n, func(e *Environment) (string, error) {
		v, err := text(e)
		if err != nil {
			return "", err
		}
		return change(v), e.spend(len(v) / bytesPerStep)
	})
}

func (b *binding) split(n *ast.BuiltinNode) operand {
	inner, separator := b.compile(n.Arguments[0]), b.compile(n.Arguments[1])
	if !b.want(inner, value.String) || !b.want(separator, value.String) {
		return broken(n)
	}
	text, at := b.texts(inner), b.texts(separator)
	typ := value.Type{Kind: value.List, Item: &value.Type{Kind: value.String}}
	return operand{node: n, typ: typ, any: func(e *Environment) (any, error) {
		v, err := text(e)
		if err != nil {
			return nil, err
		}
		by, err := at(e)
		if err != nil {
			return nil, err
		}
		if err := e.spend(len(v) + 1); err != nil {
			return nil, err
		}
		pieces := strings.Split(v, by)
		out := make([]any, len(pieces))
		for i, piece := range pieces {
			out[i] = piece
		}
		return out, nil
	}}
}

func (b *binding) length(n ast.Node, inner operand) operand {
	switch k := inner.typ.Kind; {
	case inner.broken:
		return broken(n)
	case k == value.Boolean || numeric(k):
		b.fail(n, "expression-type", "%s is %s and has no length", b.e.text(inner.node), article(k))
		return broken(n)
	}
	measured, part := inner.any, b.e.text(inner.node)
	return ofNumber(n, value.Integer, func(e *Environment) (number, error) {
		v, err := measured(e)
		if err != nil {
			return number{}, err
		}
		switch v := v.(type) {
		case string:
			return ofInt(int64(utf8.RuneCountInString(v))), e.spend(len(v) / bytesPerStep)
		case []any:
			return ofInt(int64(len(v))), nil
		case map[string]any:
			return ofInt(int64(len(v))), nil
		}
		return number{}, &Failure{Part: part, Reason: "is " + article(kindOf(v)) + " and has no length"}
	})
}

func (b *binding) abs(n ast.Node, inner operand) operand {
	if !b.want(inner, value.Number) {
		return broken(n)
	}
	kind, numbers, part := inner.typ.Kind, b.numbers(inner), b.e.text(n)
	if kind == value.Any {
		kind = value.Number
	}
	return ofNumber(n, kind, func(e *Environment) (number, error) {
		v, err := numbers(e)
		if err != nil || v.compare(ofInt(0)) >= 0 {
			return v, err
		}
		out, reason := negate(v)
		if reason != "" {
			return out, &Failure{Part: part, Reason: reason}
		}
		return out, nil
	})
}

// quantifier compiles the functions that ask each element of a list.
func (b *binding) quantifier(n *ast.BuiltinNode) operand {
	base := b.compile(n.Arguments[0])
	if !b.want(base, value.List) {
		return broken(n)
	}
	if (n.Name == "all" || n.Name == "none") && b.e.firm && !base.typ.NonEmpty {
		b.fail(n, "maybe-empty", "%s is true when %s is empty", n.Name, b.e.text(n.Arguments[0])).
			Hinted("give the list minItems: 1 in the schema of the tool, or use any")
		return broken(n)
	}
	predicate := n.Arguments[1].(*ast.PredicateNode)
	depth := len(b.elements)
	b.elements = append(b.elements, item(base.typ))
	passes := b.condition(predicate.Node)
	b.elements = b.elements[:depth]

	loop := quantifying{list: b.lists(base), passes: passes, depth: depth, cost: size(predicate.Node)}
	switch n.Name {
	case "filter":
		typ := base.typ
		typ.NonEmpty = false
		return operand{node: n, typ: typ, any: loop.filter}
	case "count":
		return ofNumber(n, value.Integer, func(e *Environment) (number, error) {
			passed, _, err := loop.run(e, -1, false)
			return ofInt(int64(passed)), err
		})
	case "all":
		return ofBoolean(n, func(e *Environment) (bool, error) {
			_, missed, err := loop.run(e, -1, true)
			return !missed && err == nil, err
		})
	case "one":
		return ofBoolean(n, func(e *Environment) (bool, error) {
			passed, _, err := loop.run(e, 2, false)
			return passed == 1 && err == nil, err
		})
	}
	want := n.Name == "any"
	return ofBoolean(n, func(e *Environment) (bool, error) {
		passed, _, err := loop.run(e, 1, false)
		return (passed > 0) == want && err == nil, err
	})
}

type quantifying struct {
	list   evaluator[[]any]
	passes evaluator[bool]
	depth  int
	cost   int
}

// run counts the elements that pass, up to enough of them (-1 for all of
// them), or to the first that does not when a miss is enough.
func (q *quantifying) run(e *Environment, enough int, miss bool) (passed int, missed bool, err error) {
	list, err := q.list(e)
	if err != nil {
		return 0, false, err
	}
	for i := range list {
		if err := e.spend(q.cost); err != nil {
			return 0, false, err
		}
		e.elements[q.depth] = list[i]
		pass, err := q.passes(e)
		switch {
		case err != nil:
			return 0, false, err
		case !pass:
			if missed = true; miss {
				return passed, missed, nil
			}
		default:
			if passed++; passed == enough {
				return passed, missed, nil
			}
		}
	}
	return passed, missed, nil
}

func (q *quantifying) filter(e *Environment) (any, error) {
	list, err := q.list(e)
	if err != nil {
		return nil, err
	}
	out := []any{}
	for i := range list {
		if err := e.spend(q.cost); err != nil {
			return nil, err
		}
		e.elements[q.depth] = list[i]
		pass, err := q.passes(e)
		if err != nil {
			return nil, err
		}
		if pass {
			out = append(out, list[i])
		}
	}
	return out, nil
}
