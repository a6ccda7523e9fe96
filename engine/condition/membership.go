package condition

import (
	"github.com/expr-lang/expr/ast"

	"github.com/writ-dev/writ/engine/value"
)

// membership compiles x in y: a range, a list, or an object's keys.
func (b *binding) membership(n *ast.BinaryNode) operand {
	left := b.compile(n.Left)
	if between, ok := n.Right.(*ast.BinaryNode); ok && between.Operator == ".." {
		return b.between(n, left, b.compile(between.Left), b.compile(between.Right))
	}
	if literal, ok := n.Right.(*ast.ArrayNode); ok {
		return b.among(n, left, literal)
	}
	right := b.compile(n.Right)
	if left.broken || right.broken {
		return broken(n)
	}
	switch right.typ.Kind {
	case value.List:
		element := operand{node: n.Right, typ: item(right.typ)}
		if !b.comparable(n, left, element) || b.unordered(n, false, left, element) || !b.possible(element, n.Left, left.constant) {
			return broken(n)
		}
	case value.Object:
		if right.typ.Fields != nil {
			b.fail(n, "expression-type", "the fields of %s are fixed", b.e.text(n.Right)).Hinted("write has(%s.field)", b.e.text(n.Right))
			return broken(n)
		}
		if !b.want(left, value.String) {
			return broken(n)
		}
	case value.Any:
	default:
		d := b.fail(n, "expression-type", "%s is %s, not a list", b.e.text(n.Right), article(right.typ.Kind))
		if right.typ.Kind == value.String {
			d.Hinted("write %s contains %s", b.e.text(n.Right), b.e.text(n.Left))
		}
		return broken(n)
	}
	l, r, part := left.any, right.any, b.e.text(n)
	return ofBoolean(n, func(e *Environment) (bool, error) {
		v, err := l(e)
		if err != nil {
			return false, err
		}
		container, err := r(e)
		if err != nil {
			return false, err
		}
		return within(e, v, container, part)
	})
}

func within(e *Environment, v, container any, part string) (bool, error) {
	switch container := container.(type) {
	case []any:
		var odd error
		for i := range container {
			if err := e.spend(1); err != nil {
				return false, err
			}
			same, alike := scalarsEqual(v, container[i])
			if same {
				return true, nil
			}
			if !alike && odd == nil {
				odd = unlike(false, v, container[i], part)
			}
		}
		return false, odd
	case map[string]any:
		if name, ok := v.(string); ok {
			return container[name] != nil, nil
		}
	}
	return false, &Failure{Part: part, Reason: "looks for " + article(kindOf(v)) + " in " + article(kindOf(container))}
}

// between compiles x in a..b, both ends included.
func (b *binding) between(n *ast.BinaryNode, left, from, to operand) operand {
	for _, o := range []operand{from, to} {
		if !b.want(o, value.Integer) {
			return broken(n)
		}
	}
	if !b.comparable(n, left, from) || !b.want(left, value.Number) {
		return broken(n)
	}
	if a, ok := from.constant.(int64); ok {
		if z, ok := to.constant.(int64); ok && a > z {
			b.fail(n, "never-true", "the range %s is empty", b.e.text(n.Right)).Hinted("write %d..%d", z, a)
			return broken(n)
		}
	}
	v, low, high := b.numbers(left), b.numbers(from), b.numbers(to)
	return ofBoolean(n, func(e *Environment) (bool, error) {
		x, err := v(e)
		if err != nil {
			return false, err
		}
		a, err := low(e)
		if err != nil {
			return false, err
		}
		z, err := high(e)
		return err == nil && a.compare(x) <= 0 && x.compare(z) <= 0, err
	})
}

// among compiles x in [a, b, c]. Constants become a set.
func (b *binding) among(n *ast.BinaryNode, left operand, literal *ast.ArrayNode) operand {
	items, constants, ok := make([]operand, len(literal.Nodes)), true, !left.broken
	for i, node := range literal.Nodes {
		o := b.compile(node)
		if !b.comparable(node, left, o) || !b.possible(left, node, o.constant) {
			ok = false
		}
		items[i], constants = o, constants && o.constant != nil
	}
	if !ok || b.unordered(n, false, append(items, left)...) {
		return broken(n)
	}
	if len(items) == 0 {
		b.fail(n, "never-true", "nothing is in an empty list")
		return broken(n)
	}
	if constants {
		return b.set(n, left, items)
	}
	v, part := left.any, b.e.text(n)
	return ofBoolean(n, func(e *Environment) (bool, error) {
		x, err := v(e)
		if err != nil {
			return false, err
		}
		found := false
		for i := range items {
			y, err := items[i].any(e)
			if err != nil {
				return false, err
			}
			same, alike := scalarsEqual(x, y)
			if !alike {
				return false, unlike(false, x, y, part)
			}
			found = found || same
		}
		return found, nil
	})
}

func (b *binding) set(n *ast.BinaryNode, left operand, items []operand) operand {
	switch kind := items[0].typ.Kind; {
	case kind == value.String:
		set := map[string]struct{}{}
		for _, o := range items {
			text, ok := o.constant.(string)
			if !ok {
				return b.mixed(n)
			}
			set[text] = struct{}{}
		}
		text := b.texts(left)
		return ofBoolean(n, func(e *Environment) (bool, error) {
			x, err := text(e)
			_, found := set[x]
			return found && err == nil, err
		})
	case numeric(kind):
		set := make([]number, len(items))
		for i, o := range items {
			if set[i] = toNumber(o.constant); set[i].kind == notNumber {
				return b.mixed(n)
			}
		}
		return ofBoolean(n, inNumbers(b.numbers(left), set))
	case kind == value.Boolean:
		return ofBoolean(n, func(e *Environment) (bool, error) {
			x, err := b.booleans(left)(e)
			for _, o := range items {
				if o.constant == x && err == nil {
					return true, nil
				}
			}
			return false, err
		})
	}
	return b.mixed(n)
}

func (b *binding) mixed(n *ast.BinaryNode) operand {
	b.fail(n, "expression-type", "the list holds values of several kinds, or lists")
	return broken(n)
}

func inNumbers(left evaluator[number], set []number) evaluator[bool] {
	whole, others := map[int64]struct{}{}, []number(nil)
	for _, item := range set {
		if item.kind == wholeNumber {
			whole[item.i] = struct{}{}
		} else {
			others = append(others, item)
		}
	}
	return func(e *Environment) (bool, error) {
		x, err := left(e)
		if err != nil {
			return false, err
		}
		if x.kind == wholeNumber {
			_, found := whole[x.i]
			return found, nil
		}
		for i := range others {
			if x.compare(others[i]) == 0 {
				return true, nil
			}
		}
		return false, nil
	}
}
