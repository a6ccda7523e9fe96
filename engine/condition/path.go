package condition

import (
	"fmt"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/value"
)

// follower finds the value at a path. Present is false where a step is absent
// or null; err is for what is neither, such as a field of a text.
type follower func(e *Environment) (v any, present bool, err error)

// hop is one step at evaluation: a name, or an index that is evaluated.
type hop struct {
	name  string
	index evaluator[any]
	part  string // the source up to here
}

// path compiles the reading of a field.
func (b *binding) path(n ast.Node) operand {
	follow, typ, ok := b.follow(n)
	if !ok {
		return broken(n)
	}
	absent := error(&Failure{Part: b.e.text(n), Reason: "is absent"})
	return operand{node: n, typ: typ, any: func(e *Environment) (any, error) {
		v, present, err := follow(e)
		if err == nil && !present {
			return nil, absent
		}
		return v, err
	}}
}

func (b *binding) follow(n ast.Node) (follower, value.Type, bool) {
	p := b.e.paths[n]
	typ, ok := b.start(p)
	if !ok {
		return nil, typ, false
	}
	hops := make([]hop, len(p.steps))
	for i, s := range p.steps {
		var index operand
		if s.index != nil {
			if index = b.compile(s.index); index.broken {
				return nil, typ, false
			}
		}
		if typ, ok = b.descend(p, i+1, typ, index); !ok {
			return nil, typ, false
		}
		hops[i] = hop{name: s.name, part: b.e.text(s.node)}
		if s.index != nil {
			hops[i].index = index.any
		}
	}
	if p.root == "" {
		depth := p.depth - 1
		if len(hops) == 0 {
			return func(e *Environment) (any, bool, error) { v := e.elements[depth]; return v, v != nil, nil }, typ, true
		}
		return func(e *Environment) (any, bool, error) { return walk(e, e.elements[depth], hops) }, typ, true
	}
	from := b.roots[p.root]
	return func(e *Environment) (any, bool, error) { return walk(e, e.root(from), hops) }, typ, true
}

func walk(e *Environment, v any, hops []hop) (any, bool, error) {
	for i := range hops {
		h := &hops[i]
		if h.index == nil {
			m, ok := v.(map[string]any)
			if !ok && v != nil {
				return nil, false, &Failure{Part: h.part, Reason: "is asked of " + article(kindOf(v))}
			}
			v = m[h.name]
			continue
		}
		key, err := h.index(e)
		if err != nil {
			return nil, false, err
		}
		if v, err = element(v, key, h.part); err != nil {
			return nil, false, err
		}
	}
	return v, v != nil, nil
}

// element takes one value out of a list by number or out of an object by text.
func element(v, key any, part string) (any, error) {
	switch container := v.(type) {
	case nil:
		return nil, nil
	case []any:
		if i, ok := key.(int64); ok {
			if i < 0 || i >= int64(len(container)) {
				return nil, nil
			}
			return container[i], nil
		}
	case map[string]any:
		if name, ok := key.(string); ok {
			return container[name], nil
		}
	}
	return nil, &Failure{Part: part, Reason: fmt.Sprintf("%s is no place in %s", article(kindOf(key)), article(kindOf(v)))}
}

// start gives the type that a path begins with.
func (b *binding) start(p *path) (value.Type, bool) {
	if p.root == "" {
		return b.elements[p.depth-1], true
	}
	field, ok := b.env.Fields[p.root]
	if !ok {
		b.unknownRoot(p)
		return value.Type{}, false
	}
	if len(p.steps) == 0 && field.Type.Kind == value.Object && field.Type.Fields != nil {
		b.fail(p.node, "expression-type", "%s is not a value", p.root).Hinted("name one of its fields: %s", fields(p.root, field.Type))
		return value.Type{}, false
	}
	return field.Type, true
}

func (b *binding) unknownRoot(p *path) {
	d := b.fail(p.node, "unknown-field", "there is no %s", p.root)
	switch p.root {
	case "data", "windows", "vars", "secrets", "probes", "pinned", "steps":
		d.Hinted("not yet available in expressions")
		return
	}
	d.Hinted("%s", diag.DidYouMean(p.root, value.Keys(b.env.Fields)))
	for _, name := range value.Keys(b.env.Fields) {
		if _, ok := b.env.Fields[name].Type.Fields[p.root]; ok {
			d.Hinted("did you mean %s.%s?", name, p.root)
		}
	}
	if d.Hint == "" {
		d.Hinted("texts are written in quotes; fields begin with %s", diag.OneOf(value.Keys(b.env.Fields)))
	}
}

// descend gives the type after the step of this number, counted from 1.
func (b *binding) descend(p *path, number int, typ value.Type, index operand) (value.Type, bool) {
	s := p.steps[number-1]
	switch {
	case s.index != nil:
		return b.inside(p, number, typ, index)
	case typ.Kind == value.Any:
		return value.Type{}, true
	case typ.Kind == value.Object && typ.Fields == nil:
		return item(typ), true
	case typ.Kind == value.Object:
		return b.member(p, number, typ)
	}
	d := b.fail(s.node, "expression-type", "%s is %s and has no field %s", b.before(p, number), article(typ.Kind), s.name)
	if typ.Kind == value.List {
		d.Hinted("write any(%s, .%s …) or all(…)", b.before(p, number), s.name)
	}
	return value.Type{}, false
}

func (b *binding) member(p *path, number int, typ value.Type) (value.Type, bool) {
	s := p.steps[number-1]
	field, exists := typ.Fields[s.name]
	switch {
	case !exists && b.lenient && p.tolerates(number):
		return value.Type{}, true
	case !exists:
		d := b.fail(s.node, "unknown-field", "%s has no field %s", b.before(p, number), s.name)
		if d.Hinted("%s", diag.DidYouMean(s.name, value.Keys(typ.Fields))); d.Hint == "" {
			d.Hinted("%s", fields(b.before(p, number), typ))
		}
		return value.Type{}, false
	case field.Optional && !p.tolerates(number):
		name := b.e.text(s.node)
		b.fail(s.node, "optional-field", "%s may be absent", name).Hinted("%s", guardHint(name, field.Type.Kind))
		return value.Type{}, false
	}
	return field.Type, true
}

// inside is the type of list[index] or object['key'].
func (b *binding) inside(p *path, number int, typ value.Type, index operand) (value.Type, bool) {
	want := value.Integer
	switch typ.Kind {
	case value.Any:
		return value.Type{}, true
	case value.Object:
		want = value.String
	case value.List:
	default:
		b.fail(p.steps[number-1].node, "expression-type", "%s is %s and has no elements", b.before(p, number), article(typ.Kind))
		return value.Type{}, false
	}
	if !b.want(index, want) {
		return value.Type{}, false
	}
	if typ.Fields != nil {
		b.fail(p.steps[number-1].node, "expression-type", "a field of %s is written as a name", b.before(p, number)).
			Hinted("%s", fields(b.before(p, number), typ))
		return value.Type{}, false
	}
	return item(typ), true
}

func item(typ value.Type) value.Type {
	if typ.Item == nil {
		return value.Type{}
	}
	return *typ.Item
}

// before is the source of a path up to, not including, a step.
func (b *binding) before(p *path, number int) string {
	if number > 1 {
		return b.e.text(p.steps[number-2].node)
	}
	if p.root == "" {
		return "the element"
	}
	return p.root
}

func fields(owner string, typ value.Type) string {
	names := value.Keys(typ.Fields)
	if len(names) == 0 {
		return owner + " has no fields here"
	}
	return owner + " has " + strings.TrimPrefix(diag.OneOf(names), "one of ")
}

func guardHint(name string, kind value.Kind) string {
	instead := map[value.Kind]string{value.Boolean: "false", value.Integer: "0", value.Number: "0", value.String: "''", value.List: "[]"}[kind]
	if instead == "" {
		return fmt.Sprintf("write has(%s) and … before it", name)
	}
	return fmt.Sprintf("write has(%s) and … before it, or (%s ?? %s) in its place, with the brackets", name, name, instead)
}

// has compiles has(args.x).
func (b *binding) has(n *ast.CallNode) operand {
	follow, _, ok := b.follow(n.Arguments[0])
	if !ok {
		return broken(n)
	}
	return ofBoolean(n, func(e *Environment) (bool, error) {
		_, present, err := follow(e)
		return present, err
	})
}

// fallback compiles a ?? b, where a may be absent.
func (b *binding) fallback(n *ast.BinaryNode) operand {
	left, leftType, ok := b.maybe(n.Left)
	right := b.compile(n.Right)
	if !ok || right.broken {
		return broken(n)
	}
	typ, ok := b.common(n, leftType, right)
	if !ok {
		return broken(n)
	}
	other := right.any
	return operand{node: n, typ: typ, any: func(e *Environment) (any, error) {
		v, present, err := left(e)
		if err != nil || present {
			return v, err
		}
		return other(e)
	}}
}

// maybe compiles the left side of ??, a field or another ??.
func (b *binding) maybe(n ast.Node) (follower, operand, bool) {
	binary, ok := n.(*ast.BinaryNode)
	if !ok {
		if b.e.paths[n] == nil {
			b.fail(n, "expression-type", "%s is always there", b.e.text(n)).Hinted("?? stands after a field that may be absent; brackets as in (args.n ?? 0) > 3")
			return nil, operand{}, false
		}
		follow, typ, ok := b.follow(n)
		return follow, operand{node: n, typ: typ}, ok
	}
	first, left, ok := b.maybe(binary.Left)
	if !ok {
		return nil, operand{}, false
	}
	second, right, ok := b.maybe(binary.Right)
	if !ok {
		return nil, operand{}, false
	}
	typ, ok := b.common(n, left, right)
	return func(e *Environment) (any, bool, error) {
		if v, present, err := first(e); err != nil || present {
			return v, present, err
		}
		return second(e)
	}, operand{node: n, typ: typ}, ok
}
