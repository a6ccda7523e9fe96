package condition

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// generator writes well-typed expressions on which expr and this package must agree.
type generator struct{ *rand.Rand }

func (g generator) pick(options ...func() string) string { return options[g.IntN(len(options))]() }

func (g generator) one(words ...string) string { return words[g.IntN(len(words))] }

func (g generator) boolean(depth int) string {
	if depth == 0 {
		return g.one("true", "false", "args.flag", "has(args.note)", "(args.verbose ?? true)", "args.flag == false", "'a' in args.tags", "'team' in args.labels")
	}
	d := depth - 1
	return g.pick(
		func() string { return "(" + g.boolean(d) + g.one(" and ", " or ", " && ", " || ") + g.boolean(d) + ")" },
		func() string { return g.one("not ", "!") + "(" + g.boolean(d) + ")" },
		func() string { return "(" + g.boolean(d) + " ? " + g.boolean(d) + " : " + g.boolean(d) + ")" },
		func() string {
			return g.integer(d) + g.one(" == ", " != ", " < ", " <= ", " > ", " >= ") + g.integer(d)
		},
		func() string {
			return g.text(d) + g.one(" == ", " != ", " < ", " >= ", " contains ", " startsWith ", " not endsWith ") + g.text(d)
		},
		func() string { return g.integer(d) + g.one(" in ", " not in ") + "[" + g.integer(d) + ", 5, 7]" },
		func() string { return fmt.Sprintf("%s in %d..%d", g.integer(d), g.IntN(3), 3+g.IntN(6)) },
		func() string { return g.text(d) + " in ['Hello', " + g.text(d) + "]" },
		func() string { return g.text(d) + " matches '^[a-zH]+$'" },
		func() string {
			return g.one("all", "any", "none", "one") + "(args.numbers, # " + g.one(">", "==", "!=") + " " + g.integer(d) + ")"
		},
		func() string { return g.one("all", "any") + "(args.items, .open or #.amount > " + g.integer(d) + ")" },
		func() string { return "any(args.items, (.note ?? " + g.text(d) + ") == 'big' and has(.note))" },
		func() string { return "(not has(args.maybe) or args.maybe > " + g.integer(d) + ")" },
	)
}

func (g generator) integer(depth int) string {
	if depth == 0 {
		return g.one("args.n", "args.m", "0", "1", "5", "42", "len(args.tags)", "(args.maybe ?? 3)", "args.numbers[1]", "args.filter.id", "facts.bytes")
	}
	d := depth - 1
	return g.pick(
		func() string { return "(" + g.integer(d) + g.one(" + ", " - ", " * ") + g.integer(d) + ")" },
		func() string { return "(" + g.integer(d) + fmt.Sprintf(" %% %d)", 1+g.IntN(9)) },
		func() string { return "(-" + g.integer(0) + ")" },
		func() string { return "abs(" + g.integer(d) + ")" },
		func() string { return "len(" + g.text(d) + ")" },
		func() string { return "count(args.numbers, # > " + g.integer(d) + ")" },
		func() string { return "len(filter(args.items, .amount > " + g.integer(d) + "))" },
		func() string { return "(" + g.boolean(d) + " ? " + g.integer(d) + " : " + g.integer(d) + ")" },
		func() string { return g.integer(0) },
	)
}

func (g generator) text(depth int) string {
	if depth == 0 {
		return g.one("args.s", "'Hello'", "'ell'", `"é "`, "''", "args.mode", "scope.env", "principal.roles[0]", "args.labels.team", "args.labels['team']", "(args.note ?? 'none')", "entry")
	}
	d := depth - 1
	return g.pick(
		func() string { return "(" + g.text(d) + " + " + g.text(d) + ")" },
		func() string { return g.one("lower", "upper", "trim") + "(" + g.text(d) + ")" },
		func() string { return "(" + g.boolean(d) + " ? " + g.text(d) + " : " + g.text(d) + ")" },
		func() string { return g.text(0) },
	)
}

// TestGeneratedExpressionsAgreeWithExpr compares hundreds of expressions with
// expr's own machine. What one side refuses is not compared: an enumeration
// that can never be equal, more nodes than the bound.
func TestGeneratedExpressionsAgreeWithExpr(t *testing.T) {
	g, compared := generator{rand.New(rand.NewPCG(1, 2))}, 0
	for range 500 {
		source := g.boolean(1 + g.IntN(4))
		e, list := Parse(source, start)
		if e == nil {
			if list[0].Code != "expression-size" {
				t.Fatalf("%s: %v", source, list)
			}
			continue
		}
		c, list := e.Bind(types())
		if c == nil {
			if list[0].Code != "never-true" {
				t.Fatalf("%s: %v", source, list)
			}
			continue
		}
		got, err := c.Evaluate(values())
		want, ok := machine(source)
		if err != nil || !ok || got != want {
			t.Fatalf("%s: got %v, %v; expr says %v, %v", source, got, err, want, ok)
		}
		compared++
	}
	if compared < 300 {
		t.Errorf("only %d were compared", compared)
	}
}
