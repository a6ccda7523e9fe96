package condition

import (
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/value"
)

func numeric(k value.Kind) bool { return k == value.Integer || k == value.Number }

// comparable reports operands that can never be of one kind.
func (b *binding) comparable(n ast.Node, left, right operand) bool {
	if left.broken || right.broken {
		return false
	}
	l, r := left.typ.Kind, right.typ.Kind
	switch {
	case l == value.Any || r == value.Any:
		return true
	case numeric(l) && numeric(r):
		return b.exact(n, left, right)
	case l == value.List && r == value.List:
		a, c := operand{node: left.node, typ: item(left.typ)}, operand{node: right.node, typ: item(right.typ)}
		return b.comparable(n, a, c)
	case l == r:
		return true
	}
	d := b.fail(n, "expression-type", "%s is %s, but %s is %s", b.e.text(left.node), article(l), b.e.text(right.node), article(r))
	d.Hinted("%s", b.conversion(left, right))
	return false
}

// exact refuses to mix integers with fractions, and lengths of time with numbers.
func (b *binding) exact(n ast.Node, left, right operand) bool {
	if isDuration(left.typ) != isDuration(right.typ) {
		b.fail(n, "expression-type", "a duration compares only with a duration").Hinted("write duration('5m')")
		return false
	}
	for _, pair := range [][2]operand{{left, right}, {right, left}} {
		if pair[0].fraction && pair[1].typ.Kind == value.Integer {
			b.fail(n, "expression-type", "%s is an integer, but %s has a fraction", b.e.text(pair[1].node), b.e.text(pair[0].node)).
				Hinted("write a whole number, or decimal(%s)", b.e.text(pair[1].node))
			return false
		}
	}
	return true
}

func (b *binding) conversion(left, right operand) string {
	for _, pair := range [][2]operand{{left, right}, {right, left}} {
		other, literal := pair[0], pair[1]
		text, isText := literal.constant.(string)
		switch kind := other.typ.Kind; {
		case literal.typ.Kind == value.List && kind != value.List:
			return "write in, or any(…)"
		case literal.constant == nil:
		case isText && numeric(kind) && parses(text), kind == value.Boolean && (text == "true" || text == "false"):
			return "write " + text + " without quotes"
		case kind == value.String && other.typ.Format == "decimal":
			return "write decimal(" + b.e.text(other.node) + ")"
		case kind == value.String:
			return "write '" + b.e.text(literal.node) + "' in quotes"
		}
	}
	return ""
}

func parses(text string) bool {
	_, ok := parseDecimal(text)
	return ok
}

// possible reports a literal that is outside what the other side can be.
func (b *binding) possible(field operand, node ast.Node, literal any) bool {
	if text, ok := literal.(string); ok && !b.lowerCase(field, node, text) {
		return false
	}
	enum := field.typ.Enum
	if literal == nil || len(enum) == 0 || slices.ContainsFunc(enum, func(v any) bool { return value.Equal(v, literal) }) {
		return true
	}
	var words []string
	for _, v := range enum {
		if text, ok := value.Text(v); ok {
			words = append(words, text)
		}
	}
	text, _ := value.Text(literal)
	d := b.fail(node, "never-true", "%s is never %s", b.e.text(field.node), b.e.text(node))
	if d.Hinted("%s", diag.DidYouMean(text, words)); d.Hint == "" {
		d.Hinted("it is %s", diag.OneOf(words))
	}
	return false
}

// lowerCase reports a literal with capitals beside a text that never has any,
// because its format brings it to one spelling.
func (b *binding) lowerCase(field operand, node ast.Node, literal string) bool {
	format := field.typ.Format
	if format != "hostname" && format != "uuid" && format != "ipv6" || literal == strings.ToLower(literal) {
		return true
	}
	b.fail(node, "never-true", "%s is always in lower case", b.e.text(field.node)).Hinted("write '%s'", strings.ToLower(literal))
	return false
}

// unordered reports texts whose order or identity is not that of what they mean.
func (b *binding) unordered(n ast.Node, ordering bool, operands ...operand) bool {
	for _, o := range operands {
		if o.typ.Kind != value.String {
			continue
		}
		text := b.e.text(o.node)
		switch {
		case o.typ.Format == "decimal":
			b.fail(n, "expression-type", "%s is a decimal: as a text, 1.0 is not 1.00", text).Hinted("write decimal(%s)", text)
			return true
		case o.typ.Format == "duration":
			b.fail(n, "expression-type", "%s is a duration: as a text, 60s is not 1m", text).Hinted("write duration(%s)", text)
			return true
		case ordering && o.typ.Format == "date-time":
			b.fail(n, "expression-type", "%s is a time, and as texts times have no order", text)
			return true
		}
	}
	return false
}

func (b *binding) equality(n *ast.BinaryNode, negate bool) operand {
	left, right := b.compile(n.Left), b.compile(n.Right)
	if !b.comparable(n, left, right) || b.unordered(n, false, left, right) ||
		!b.possible(left, n.Right, right.constant) || !b.possible(right, n.Left, left.constant) {
		return broken(n)
	}
	kinds := [...]value.Kind{left.typ.Kind, right.typ.Kind}
	switch {
	case slices.Contains(kinds[:], value.Boolean):
		return ofBoolean(n, equal(b.booleans(left), b.booleans(right), negate))
	case slices.Contains(kinds[:], value.String):
		if text, ok := right.constant.(string); ok {
			return ofBoolean(n, equalText(b.texts(left), text, negate))
		}
		return ofBoolean(n, equal(b.texts(left), b.texts(right), negate))
	case numeric(kinds[0]) || numeric(kinds[1]):
		word := "=="
		if negate {
			word = "!="
		}
		return ofBoolean(n, b.ordered(left, right, word))
	}
	l, r, part := left.any, right.any, b.e.text(n)
	return ofBoolean(n, func(e *Environment) (bool, error) {
		v, err := l(e)
		if err != nil {
			return false, err
		}
		w, err := r(e)
		if err != nil {
			return false, err
		}
		same, err := identical(e, v, w, part)
		return same != negate && err == nil, err
	})
}

func equal[T bool | string](left, right evaluator[T], negate bool) evaluator[bool] {
	return func(e *Environment) (bool, error) {
		v, err := left(e)
		if err != nil {
			return false, err
		}
		w, err := right(e)
		return (v == w) != negate && err == nil, err
	}
}

func equalText(left evaluator[string], text string, negate bool) evaluator[bool] {
	return func(e *Environment) (bool, error) {
		v, err := left(e)
		return (v == text) != negate && err == nil, err
	}
}

// identical compares values of one kind, however deep they are.
func identical(e *Environment, v, w any, part string) (bool, error) {
	if err := e.spend(1); err != nil {
		return false, err
	}
	switch v := v.(type) {
	case []any:
		w, ok := w.([]any)
		if !ok || len(v) != len(w) {
			return false, unlike(ok, v, w, part)
		}
		for i := range v {
			if same, err := identical(e, v[i], w[i], part); err != nil || !same {
				return false, err
			}
		}
		return true, nil
	case map[string]any:
		w, ok := w.(map[string]any)
		if !ok || len(v) != len(w) {
			return false, unlike(ok, v, w, part)
		}
		return identicalFields(e, v, w, part)
	}
	same, alike := scalarsEqual(v, w)
	return same, unlike(alike, v, w, part)
}

func identicalFields(e *Environment, v, w map[string]any, part string) (bool, error) {
	for _, name := range value.Keys(v) { // in order, so that the answer is always the same
		other, ok := w[name]
		if !ok {
			return false, nil
		}
		if same, err := identical(e, v[name], other, part); err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

func unlike(alike bool, v, w any, part string) error {
	if alike {
		return nil
	}
	return &Failure{Part: part, Reason: "compares " + article(kindOf(v)) + " with " + article(kindOf(w))}
}

// scalarsEqual reports whether two scalars are equal and whether they are of one kind.
func scalarsEqual(v, w any) (same, alike bool) {
	switch v := v.(type) {
	case string:
		w, ok := w.(string)
		return ok && v == w, ok
	case bool:
		w, ok := w.(bool)
		return ok && v == w, ok
	case nil:
		return w == nil, w == nil
	}
	a, c := toNumber(v), toNumber(w)
	if a.kind == notNumber || c.kind == notNumber {
		return false, false
	}
	return a.compare(c) == 0, true
}

func (b *binding) ordering(n *ast.BinaryNode, op string) operand {
	left, right := b.compile(n.Left), b.compile(n.Right)
	if !b.comparable(n, left, right) || b.unordered(n, true, left, right) {
		return broken(n)
	}
	for _, o := range []operand{left, right} {
		if k := o.typ.Kind; k != value.Any && k != value.String && !numeric(k) {
			b.fail(n, "expression-type", "%s is %s, and %s has no order", b.e.text(o.node), article(k), article(k))
			return broken(n)
		}
	}
	if left.typ.Kind == value.Any && right.typ.Kind == value.Any {
		b.fail(n, "expression-type", "nothing is known of %s and %s, so they have no order", b.e.text(left.node), b.e.text(right.node)).
			Hinted("compare each with a number or a text")
		return broken(n)
	}
	if left.typ.Kind != value.String && right.typ.Kind != value.String {
		return ofBoolean(n, b.ordered(left, right, op))
	}
	l, r := b.texts(left), b.texts(right)
	return ofBoolean(n, func(e *Environment) (bool, error) {
		v, err := l(e)
		if err != nil {
			return false, err
		}
		w, err := r(e)
		return err == nil && holds(op, strings.Compare(v, w)), err
	})
}

// ordered compares numbers. Most rules compare a field with a whole number.
func (b *binding) ordered(left, right operand, op string) evaluator[bool] {
	l, r := b.numbers(left), b.numbers(right)
	if limit, ok := right.constant.(int64); ok && left.number == nil {
		raw := left.any
		return func(e *Environment) (bool, error) {
			v, err := raw(e)
			if i, ok := v.(int64); ok && err == nil {
				return holds(op, compareInts(i, limit)), nil
			}
			if err != nil {
				return false, err
			}
			other, err := l(e)
			return err == nil && holds(op, other.compare(ofInt(limit))), err
		}
	}
	return func(e *Environment) (bool, error) {
		v, err := l(e)
		if err != nil {
			return false, err
		}
		w, err := r(e)
		return err == nil && holds(op, v.compare(w)), err
	}
}

func compareInts(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func holds(op string, order int) bool {
	switch op {
	case "==":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}
