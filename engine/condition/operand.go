package condition

import (
	"github.com/expr-lang/expr/ast"

	"github.com/writ-dev/writ/engine/value"
)

func ofBoolean(n ast.Node, fn evaluator[bool]) operand {
	return operand{node: n, typ: value.Type{Kind: value.Boolean}, boolean: fn, any: boxed(fn)}
}

func ofText(n ast.Node, fn evaluator[string]) operand {
	return operand{node: n, typ: value.Type{Kind: value.String}, text: fn, any: boxed(fn)}
}

func ofNumber(n ast.Node, kind value.Kind, fn evaluator[number]) operand {
	return operand{node: n, typ: value.Type{Kind: kind}, number: fn, any: func(e *Environment) (any, error) {
		v, err := fn(e)
		if err != nil {
			return nil, err
		}
		return v.canonical(), nil
	}}
}

func boxed[T any](fn evaluator[T]) evaluator[any] {
	return func(e *Environment) (any, error) {
		v, err := fn(e)
		if err != nil {
			return nil, err
		}
		return v, nil
	}
}

// want reports an operand that can never be of the kind.
func (b *binding) want(o operand, kind value.Kind) bool {
	switch {
	case o.broken:
		return false
	case o.typ.Kind == kind, o.typ.Kind == value.Any, kind == value.Number && o.typ.Kind == value.Integer:
		return true
	}
	d := b.fail(o.node, "expression-type", "%s is %s, not %s", b.e.text(o.node), article(o.typ.Kind), article(kind))
	switch {
	case kind == value.Boolean && o.typ.Kind == value.List:
		d.Hinted("write len(%s) > 0, or any(…)", b.e.text(o.node))
	case kind == value.Boolean:
		d.Hinted("compare it with a value")
	case kind == value.Number && o.typ.Kind == value.String && o.constant == nil:
		d.Hinted("write decimal(%s)", b.e.text(o.node))
	}
	return false
}

// condition compiles a node that must be true or false.
func (b *binding) condition(n ast.Node) evaluator[bool] {
	o := b.compile(n)
	b.want(o, value.Boolean)
	return b.booleans(o)
}

func (b *binding) booleans(o operand) evaluator[bool] {
	if o.boolean != nil {
		return o.boolean
	}
	return unboxed[bool](o.any, b.e.text(o.node), value.Boolean)
}

func (b *binding) texts(o operand) evaluator[string] {
	if o.text != nil {
		return o.text
	}
	return unboxed[string](o.any, b.e.text(o.node), value.String)
}

func (b *binding) lists(o operand) evaluator[[]any] {
	return unboxed[[]any](o.any, b.e.text(o.node), value.List)
}

// unboxed takes a kind out of a value, whatever its type promises.
func unboxed[T any](fn evaluator[any], part string, kind value.Kind) evaluator[T] {
	return func(e *Environment) (T, error) {
		v, err := fn(e)
		if err != nil {
			var none T
			return none, err
		}
		out, ok := v.(T)
		if !ok {
			return out, mismatch(part, v, kind)
		}
		return out, nil
	}
}

func (b *binding) numbers(o operand) evaluator[number] {
	if o.number != nil {
		return o.number
	}
	fn, part := o.any, b.e.text(o.node)
	return func(e *Environment) (number, error) {
		v, err := fn(e)
		if err != nil {
			return number{}, err
		}
		n := toNumber(v)
		if n.kind == notNumber {
			return n, mismatch(part, v, value.Number)
		}
		return n, nil
	}
}
