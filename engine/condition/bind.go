package condition

import (
	"slices"

	"github.com/expr-lang/expr/ast"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/value"
)

// Condition is an expression bound to the types of one environment. It is
// immutable and used by many calls at once, each with its own Environment.
type Condition struct {
	expression *Expression
	holds      evaluator[bool]
	parts      []conjunct
	settles    bool // the value of a part that settles the whole
	roots      map[string]root
}

type conjunct struct {
	node  ast.Node
	holds evaluator[bool]
}

type evaluator[T any] func(*Environment) (T, error)

// Bind checks the expression against an environment, an Object type whose
// fields are the roots, and compiles it. Every field that it names must exist.
// The Condition is nil when any of the diagnostics is an error.
func (e *Expression) Bind(env value.Type) (*Condition, diag.List) { return e.bind(env, false) }

// BindLenient is Bind for a tool that a rule meets by pattern, group or label:
// a field that the environment does not have counts as absent where the
// expression guards it by has() or ??.
func (e *Expression) BindLenient(env value.Type) (*Condition, diag.List) { return e.bind(env, true) }

func (e *Expression) bind(env value.Type, lenient bool) (*Condition, diag.List) {
	b := &binding{e: e, env: env, lenient: lenient, roots: map[string]root{}}
	for i, name := range rootNames() {
		if _, ok := env.Fields[name]; ok {
			b.roots[name] = root(i)
		}
	}
	c := &Condition{expression: e, roots: b.roots}
	switch op := topOperator(e.root); op {
	case "and", "or":
		for _, part := range chain(e.root, op) {
			c.parts = append(c.parts, conjunct{part, b.condition(part)})
		}
		c.settles = op == "or"
		c.holds = junction(c.parts, c.settles)
	default:
		c.holds = b.condition(e.root)
	}
	if b.out.HasErrors() {
		return nil, b.out
	}
	return c, b.out
}

func topOperator(n ast.Node) string {
	if binary, ok := n.(*ast.BinaryNode); ok {
		return operator(binary.Operator)
	}
	return ""
}

// junction evaluates parts until one of them settles the whole.
func junction(parts []conjunct, settles bool) evaluator[bool] {
	return func(e *Environment) (bool, error) {
		for i := range parts {
			if holds, err := parts[i].holds(e); err != nil || holds == settles {
				return holds, err
			}
		}
		return !settles, nil
	}
}

type binding struct {
	e        *Expression
	env      value.Type
	lenient  bool
	roots    map[string]root
	elements []value.Type // of the lists around the node in hand
	out      diag.List
}

// operand is a compiled node. Constant is set when its value is known. Of the
// evaluators, any is always there; the others are there when they are cheaper
// than taking the kind out of any.
type operand struct {
	node     ast.Node
	typ      value.Type
	constant any
	fraction bool // a literal with a fraction
	broken   bool // reported already
	any      evaluator[any]
	boolean  evaluator[bool]
	text     evaluator[string]
	number   evaluator[number]
}

func (b *binding) fail(n ast.Node, code, format string, args ...any) *diag.Diagnostic {
	return b.out.Errorf(b.e.position(n), code, format, args...)
}

func broken(n ast.Node) operand {
	return operand{node: n, broken: true, any: func(*Environment) (any, error) { return nil, &Failure{Reason: "not compiled"} }}
}

func constant(n ast.Node, kind value.Kind, v any) operand {
	return operand{node: n, typ: value.Type{Kind: kind}, constant: v, any: func(*Environment) (any, error) { return v, nil }}
}

func (b *binding) compile(n ast.Node) operand {
	switch n := n.(type) {
	case *ast.BoolNode:
		return constant(n, value.Boolean, n.Value)
	case *ast.IntegerNode:
		return constant(n, value.Integer, int64(n.Value))
	case *ast.FloatNode:
		out := constant(n, value.Number, ofFloat(n.Value).canonical())
		out.fraction = true
		return out
	case *ast.StringNode:
		return constant(n, value.String, n.Value)
	case *ast.ArrayNode:
		return b.list(n)
	case *ast.UnaryNode:
		return b.unary(n)
	case *ast.BinaryNode:
		return b.binary(n)
	case *ast.ConditionalNode:
		return b.choice(n)
	case *ast.CallNode:
		if n.Callee.(*ast.IdentifierNode).Value == "has" {
			return b.has(n)
		}
		return b.decimal(n)
	case *ast.BuiltinNode:
		return b.function(n)
	}
	return b.path(n)
}

func (b *binding) unary(n *ast.UnaryNode) operand {
	if operator(n.Operator) == "not" {
		holds := b.condition(n.Node)
		return ofBoolean(n, func(e *Environment) (bool, error) {
			v, err := holds(e)
			return !v && err == nil, err
		})
	}
	inner := b.compile(n.Node)
	if inner.constant != nil && (inner.typ.Kind == value.Integer || inner.typ.Kind == value.Number) {
		if v, reason := negate(toNumber(inner.constant)); reason == "" {
			out := constant(n, inner.typ.Kind, v.canonical())
			out.fraction = inner.fraction
			return out
		}
	}
	return b.arithmetic(n, "-", constant(n, value.Integer, int64(0)), inner)
}

func (b *binding) binary(n *ast.BinaryNode) operand {
	switch op := operator(n.Operator); op {
	case "and", "or":
		var parts []conjunct
		for _, part := range chain(n, op) {
			parts = append(parts, conjunct{part, b.condition(part)})
		}
		return ofBoolean(n, junction(parts, op == "or"))
	case "??":
		return b.fallback(n)
	case "==", "!=":
		return b.equality(n, op == "!=")
	case "<", "<=", ">", ">=":
		return b.ordering(n, op)
	case "in":
		return b.membership(n)
	case "matches", "contains", "startsWith", "endsWith":
		return b.search(n, op)
	case "+":
		return b.plus(n)
	default:
		return b.arithmetic(n, op, b.compile(n.Left), b.compile(n.Right))
	}
}

// choice is condition ? this : that.
func (b *binding) choice(n *ast.ConditionalNode) operand {
	cond, left, right := b.condition(n.Cond), b.compile(n.Exp1), b.compile(n.Exp2)
	if left.broken || right.broken {
		return broken(n)
	}
	typ, ok := b.common(n, left, right)
	if !ok {
		return broken(n)
	}
	this, that := left.any, right.any
	return operand{node: n, typ: typ, any: func(e *Environment) (any, error) {
		holds, err := cond(e)
		if err != nil {
			return nil, err
		}
		if holds {
			return this(e)
		}
		return that(e)
	}}
}

// common is the type of a value that is one or the other.
func (b *binding) common(n ast.Node, left, right operand) (value.Type, bool) {
	if !b.comparable(n, left, right) {
		return value.Type{}, false
	}
	typ := left.typ
	typ.NonEmpty = left.typ.NonEmpty && right.typ.NonEmpty
	if typ.Kind != right.typ.Kind {
		typ = value.Type{Kind: max(left.typ.Kind, right.typ.Kind)}
		if left.typ.Kind == value.Any || right.typ.Kind == value.Any {
			typ = value.Type{}
		}
	}
	if typ.Kind == value.List && left.constant != nil {
		typ.Item = right.typ.Item
	}
	if len(typ.Enum) > 0 {
		typ.Enum = b.widen(left, right)
	}
	return typ, true
}

// widen joins what either side can be, or gives nil when that is open.
func (b *binding) widen(left, right operand) []any {
	all := slices.Clone(left.typ.Enum)
	switch {
	case right.constant != nil:
		return append(all, right.constant)
	case len(right.typ.Enum) > 0:
		return append(all, right.typ.Enum...)
	}
	return nil
}

// list is [a, b, c].
func (b *binding) list(n *ast.ArrayNode) operand {
	items, known := make([]operand, len(n.Nodes)), make([]any, 0, len(n.Nodes))
	item := value.Type{}
	for i, node := range n.Nodes {
		items[i] = b.compile(node)
		if items[i].broken || i > 0 && !b.comparable(node, items[i-1], items[i]) {
			return broken(n)
		}
		item.Kind = max(item.Kind, items[i].typ.Kind)
		if items[i].constant != nil {
			known = append(known, items[i].constant)
		}
	}
	typ := value.Type{Kind: value.List, Item: &item, NonEmpty: len(items) > 0}
	if len(known) == len(items) {
		out := constant(n, value.List, known)
		out.typ = typ
		return out
	}
	return operand{node: n, typ: typ, any: func(e *Environment) (any, error) {
		made := make([]any, len(items))
		for i := range items {
			v, err := items[i].any(e)
			if err != nil {
				return nil, err
			}
			made[i] = v
		}
		return made, e.spend(len(made))
	}}
}
