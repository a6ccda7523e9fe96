package condition

import (
	"strings"
	"time"

	"github.com/expr-lang/expr/ast"

	"github.com/writ-dev/writ/engine/value"
)

// plus is a sum of numbers or two texts joined.
func (b *binding) plus(n *ast.BinaryNode) operand {
	left, right := b.compile(n.Left), b.compile(n.Right)
	if left.typ.Kind != value.String && right.typ.Kind != value.String {
		return b.arithmetic(n, "+", left, right)
	}
	if !b.want(left, value.String) || !b.want(right, value.String) {
		return broken(n)
	}
	l, r, part := b.texts(left), b.texts(right), b.e.text(n)
	return ofText(n, func(e *Environment) (string, error) {
		v, err := l(e)
		if err != nil {
			return "", err
		}
		w, err := r(e)
		if err != nil {
			return "", err
		}
		if len(v)+len(w) > MaxText {
			return "", &Failure{Part: part, Reason: "is longer than 64 KiB"}
		}
		return v + w, nil
	})
}

// arithmetic compiles + - * / % on exact numbers. A quotient is exact too: it
// becomes a fraction and is never rounded.
func (b *binding) arithmetic(n ast.Node, op string, left, right operand) operand {
	if !b.want(left, value.Number) || !b.want(right, value.Number) || !b.exact(n, left, right) {
		return broken(n)
	}
	if isDuration(left.typ) {
		b.fail(n, "expression-type", "durations are compared, not calculated with")
		return broken(n)
	}
	kind := max(left.typ.Kind, right.typ.Kind)
	if op == "/" || left.typ.Kind == value.Any || right.typ.Kind == value.Any {
		kind = value.Number
	}
	if op == "%" && (!b.want(left, value.Integer) || !b.want(right, value.Integer)) {
		return broken(n)
	}
	if left.constant != nil && right.constant != nil {
		result, reason := calculate(op, toNumber(left.constant), toNumber(right.constant))
		if reason != "" {
			b.fail(n, "expression-type", "%s %s", b.e.text(n), reason)
			return broken(n)
		}
		out := constant(n, kind, result.canonical())
		out.fraction = result.kind != wholeNumber
		return out
	}
	l, r, part := b.numbers(left), b.numbers(right), b.e.text(n)
	return ofNumber(n, kind, func(e *Environment) (number, error) {
		v, err := l(e)
		if err != nil {
			return number{}, err
		}
		w, err := r(e)
		if err != nil {
			return number{}, err
		}
		result, reason := calculate(op, v, w)
		if reason != "" {
			return number{}, &Failure{Part: part, Reason: reason}
		}
		return result, nil
	})
}

// decimal compiles decimal(x): the exact number of a text, or a number as it is.
func (b *binding) decimal(n *ast.CallNode) operand {
	inner := b.compile(n.Arguments[0])
	if inner.broken {
		return broken(n)
	}
	if numeric(inner.typ.Kind) {
		return ofNumber(n, value.Number, b.numbers(inner))
	}
	if !b.want(inner, value.String) {
		return broken(n)
	}
	if text, ok := inner.constant.(string); ok {
		v, ok := parseDecimal(text)
		if !ok {
			b.fail(inner.node, "expression-type", "%s is not a decimal", b.e.text(inner.node)).Hinted("write digits with a point, such as '1000.50', at most 64")
			return broken(n)
		}
		return constant(n, value.Number, v.canonical())
	}
	text, part := b.texts(inner), b.e.text(inner.node)
	return ofNumber(n, value.Number, func(e *Environment) (number, error) {
		v, err := text(e)
		if err != nil {
			return number{}, err
		}
		out, ok := parseDecimal(v)
		if !ok {
			return number{}, &Failure{Part: part, Reason: "is not a decimal"}
		}
		return out, nil
	})
}

func isDuration(typ value.Type) bool { return typ.Kind == value.Integer && typ.Format == "duration" }

// duration compiles duration(x) to a whole number of nanoseconds that compares
// with nothing else.
func (b *binding) duration(n *ast.BuiltinNode) operand {
	inner := b.compile(n.Arguments[0])
	if !b.want(inner, value.String) {
		return broken(n)
	}
	typ := value.Type{Kind: value.Integer, Format: "duration"}
	if text, ok := inner.constant.(string); ok {
		v, ok := parseDuration(text)
		if !ok {
			b.fail(inner.node, "expression-type", "%s is not a duration", b.e.text(inner.node)).Hinted("write '90s', '5m', '1h30m', 'PT5M' or 'P1D'")
			return broken(n)
		}
		out := constant(n, value.Integer, int64(v))
		out.typ = typ
		return out
	}
	text, part := b.texts(inner), b.e.text(inner.node)
	out := ofNumber(n, value.Integer, func(e *Environment) (number, error) {
		v, err := text(e)
		if err != nil {
			return number{}, err
		}
		d, ok := parseDuration(v)
		if !ok {
			return number{}, &Failure{Part: part, Reason: "is not a duration of fixed length"}
		}
		return ofInt(int64(d)), nil
	})
	out.typ = typ
	return out
}

// parseDuration reads Go's form, and of ISO 8601 what has a fixed length:
// weeks, days, hours, minutes and seconds.
func parseDuration(text string) (time.Duration, bool) {
	rest, iso := strings.CutPrefix(text, "P")
	if !iso {
		d, err := time.ParseDuration(text)
		return d, err == nil
	}
	days, clock, timed := strings.Cut(rest, "T")
	if timed && clock == "" || days == "" && !timed {
		return 0, false
	}
	var total time.Duration
	for _, part := range []struct {
		text  string
		units string
		each  []time.Duration
	}{{days, "WD", []time.Duration{7 * 24 * time.Hour, 24 * time.Hour}}, {clock, "HMS", []time.Duration{time.Hour, time.Minute, time.Second}}} {
		for left := part.text; left != ""; {
			end := strings.IndexAny(left, part.units)
			if end < 0 {
				return 0, false
			}
			count, ok := parseDecimal(left[:end])
			if !ok || count.kind != wholeNumber || count.i < 0 {
				return 0, false
			}
			unit := strings.IndexByte(part.units, left[end])
			amount, fits := multiply(count.i, int64(part.each[unit]))
			if total += time.Duration(amount); !fits || total < 0 {
				return 0, false
			}
			left, part.units, part.each = left[end+1:], part.units[unit+1:], part.each[unit+1:]
		}
	}
	return total, true
}
