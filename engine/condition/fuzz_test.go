package condition

import (
	"errors"
	"math/big"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/expr-lang/expr"

	"github.com/writ-dev/writ/engine/value"
)

func seeds() []string {
	return []string{
		"", "true", "args.n > 3 and args.s == 'x'", "has(args.maybe) and args.maybe > 1", "(args.maybe ?? 0) > 1", "any(args.items, .amount > 1 and #.open)", "args.n in [1, 2]", "args.n in 1..5",
		"args.s matches '^a$'", "args.numbers[args.n] == 1", "args.flag ? args.n : args.m", "!(args.flag)", "1 < args.n < 3", "args.labels['x'] == ''", "decimal(args.amount) > 1.5", "duration('1m') > duration(args.wait)",
		"len(filter(args.items, .open)) + -args.n * 2 - 1 % 7 / 3 == 0", "args.free == args.free2", "args.tags == ['a', args.s]", "'a' in split(args.s, 'l')", "args.n ?? 0 > 3", "let x = 1; x", "args?.n", "#.x", "args.n = 1", "'\\u{0}' == args.s", "`raw` == args.s",
		"all(args.items, any(.tags, # == args.s) or (.note ?? '') == lower(args.s))", "((((((", "not not args.flag", "args.s not in ['x']", "-9223372036854775807 - 1 == args.n", "args.price * 0.1 == 2.5", "abs(args.n) in [5, args.m]", "(has(args.option.name) ? args.option.name : '') == ''",
		"args.price > 0 and args.s + args.s contains 'oH'", "none(args.numbers, # > 3) == true", "one(args.numbers, # == 3)", "count(args.tags, # startsWith 'a') >= 1", "hasSuffix(trim(upper(args.s)), 'LO') != args.flag",
	}
}

// FuzzExpression checks that nothing panics, that there is either an
// expression or a diagnostic, and that where expr's own machine and types have
// an answer too, it is the same one.
func FuzzExpression(f *testing.F) {
	for _, seed := range seeds() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) { compare(t, source) })
}

// TestAgreesWithExpr compares all sources of the other tests with expr, and
// fails when hardly any could be compared.
func TestAgreesWithExpr(t *testing.T) {
	compared := 0
	for _, source := range seeds() {
		if compare(t, source) {
			compared++
		}
	}
	if compared < 20 {
		t.Errorf("only %d expressions were compared", compared)
	}
}

func compare(t *testing.T, source string) bool {
	e, list := Parse(source, start)
	if (e == nil) != list.HasErrors() {
		t.Fatalf("%q: expression and errors: %v", source, list)
	}
	if e == nil {
		return false
	}
	e.Reads()
	e.BindLenient(value.Struct(nil))
	c, list := e.Bind(types())
	if (c == nil) != list.HasErrors() {
		t.Fatalf("%q: condition and errors: %v", source, list)
	}
	if c == nil {
		return false
	}
	explained := c.Explain(values())
	got, err := c.Evaluate(values())
	if got != explained.Holds || (err == nil) != (explained.Err == nil) || explained.Part == "" {
		t.Fatalf("%q: evaluated %v, %v; explained %+v", source, got, err, explained)
	}
	if _, ok := errors.AsType[*Failure](err); err != nil && !ok && err != error(errSteps) {
		t.Fatalf("%q: error %T", source, err)
	}
	if err != nil || outsideOfExpr(source) {
		return false
	}
	want, ok := machine(source)
	if ok && want != got {
		t.Fatalf("%q: got %v, expr says %v", source, got, want)
	}
	return ok
}

// outsideOfExpr knows what means something else in expr on purpose: exact
// quotients, fractions and decimals, lengths of lists, whole lists compared.
func outsideOfExpr(source string) bool {
	return regexp.MustCompile(`/|price|decimal|duration|\.\d|\d\.|==\s*\[|args\.tags\s*[!=]=|args\.(items|numbers|labels|filter|option|free2?)\s*\)*\s*[!=]=|[!=]=\s*\(*(args\.(items|numbers|tags|labels|filter|option|free2?)|filter|split|#|\.)`).MatchString(source)
}

func machine(source string) (holds, ok bool) {
	env := map[string]any{"entry": "mcp"}
	v := values()
	for name, root := range map[string]any{"args": v.Args, "scope": v.Scope, "principal": v.Principal, "tool": v.Tool, "facts": v.Facts} {
		env[name] = root
	}
	program, err := expr.Compile(source, expr.Env(map[string]any{}), expr.AllowUndefinedVariables(), expr.DisableBuiltin("duration"),
		expr.Function("has", func(params ...any) (any, error) { return len(params) == 1 && params[0] != nil, nil }))
	if err != nil {
		return false, false
	}
	out, err := expr.Run(program, env)
	if err != nil {
		return false, false
	}
	holds, ok = out.(bool)
	return holds, ok
}

// FuzzValues evaluates with values that do not fit their types: the schema
// should not let them through, and nothing may panic or hold when it does.
func FuzzValues(f *testing.F) {
	f.Add(uint64(0))
	f.Add(uint64(0x123456789abcdef))
	odd := []any{nil, true, int64(-1), 0.5, "x", []any{nil, "a", int64(1), []any{}, map[string]any{"amount": "x"}}, map[string]any{"name": int64(1), "x": nil}}
	var conditions []*Condition
	for _, source := range seeds() {
		if e, _ := Parse(source, start); e != nil {
			if c, _ := e.Bind(types()); c != nil {
				conditions = append(conditions, c)
			}
		}
	}
	f.Fuzz(func(t *testing.T, pick uint64) {
		next := func() any {
			pick = pick*6364136223846793005 + 1442695040888963407
			return odd[pick>>33%uint64(len(odd))]
		}
		env := values()
		args := env.Args.(map[string]any)
		for _, name := range value.Keys(args) {
			args[name] = next()
		}
		args["maybe"], args["option"] = next(), next()
		for _, c := range conditions {
			if holds, err := c.Evaluate(env); err != nil && holds {
				t.Fatalf("%s holds with %v", c.expression.source, err)
			}
			c.Explain(env)
		}
	})
}

func TestArithmeticIsExact(t *testing.T) {
	samples := []int64{0, 1, -1, 2, -2, 3, 10, 1<<31 - 1, -1 << 31, 1 << 32, 1<<62 + 1, 1<<63 - 1, -1 << 63, -1<<63 + 1, 3037000499, 3037000500}
	for _, a := range samples {
		for _, b := range samples {
			for _, op := range []string{"+", "-", "*", "/"} {
				exact(t, a, op, b)
			}
		}
	}
}

func exact(t *testing.T, a int64, op string, b int64) {
	x, y := new(big.Rat).SetInt64(a), new(big.Rat).SetInt64(b)
	want := map[string]func(x, y *big.Rat) *big.Rat{"+": new(big.Rat).Add, "-": new(big.Rat).Sub, "*": new(big.Rat).Mul, "/": func(x, y *big.Rat) *big.Rat {
		if y.Sign() == 0 {
			return nil
		}
		return new(big.Rat).Quo(x, y)
	}}[op](x, y)
	got, reason := calculate(op, ofInt(a), ofInt(b))
	fits := want != nil && (!want.IsInt() || want.Num().IsInt64())
	if (reason == "") != fits || fits && got.rat().Cmp(want) != 0 {
		t.Errorf("%d %s %d = %v, %s; want %v", a, op, b, got.canonical(), reason, want)
	}
}

func TestCompareNumbers(t *testing.T) {
	samples := []any{-1e300, int64(-1 << 63), -2.5, int64(-2), int64(0), 0.1, int64(1), 1.5, int64(1<<53 + 1), int64(1<<63 - 1), 1e300}
	for i, a := range samples {
		for j, b := range samples {
			x, y := toNumber(a), toNumber(b)
			if got := x.compare(y); sign(got) != sign(i-j) {
				t.Errorf("%v against %v: %d", a, b, got)
			}
			if got := (number{kind: rational, r: x.rat()}).compare(y); sign(got) != sign(i-j) {
				t.Errorf("%v against %v as fractions: %d", a, b, got)
			}
		}
	}
}

func sign(n int) int { return big.NewInt(int64(n)).Sign() }

func TestDecimalsAndDurations(t *testing.T) {
	for text, want := range map[string]string{"0": "0", "-0": "0", "1.50": "3/2", "-0.25": "-1/4", "100000000000000000000": "100000000000000000000", "007": "7", strings.Repeat("9", 64): strings.Repeat("9", 64)} {
		if got, ok := parseDecimal(text); !ok || got.rat().RatString() != want {
			t.Errorf("%s: %v, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "-", ".5", "5.", "1e5", "+1", "1_0", " 1", "1.2.3", "0x1", "--1", "1/2", strings.Repeat("9", 65), "Inf"} {
		if got, ok := parseDecimal(text); ok {
			t.Errorf("%q: %v", text, got)
		}
	}
	for text, want := range map[string]string{"90s": "1m30s", "1h": "1h0m0s", "P1W": "168h0m0s", "P1DT2H3M4S": "26h3m4s", "PT0S": "0s"} {
		if got, ok := parseDuration(text); !ok || got.String() != want {
			t.Errorf("%s: %v, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "P", "PT", "P1", "P1M", "P1Y", "PT1D", "P1H", "PT1S2M", "P-1D", "P1.5D", "P999999999W", "5 minutes", "P1DT"} {
		if got, ok := parseDuration(text); ok {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestConditionsDoNotChangeValues(t *testing.T) {
	env := values()
	for _, source := range seeds() {
		if e, _ := Parse(source, start); e != nil {
			if c, _ := e.Bind(types()); c != nil {
				c.Explain(env)
			}
		}
	}
	if !reflect.DeepEqual(env.Args, values().Args) {
		t.Error("an evaluation changed its values")
	}
}
