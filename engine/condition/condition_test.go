package condition

import (
	"strings"
	"testing"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/value"
)

var start = diag.Position{File: "policies/p.yaml", Line: 7, Column: 11}

func optional(f value.Field) value.Field {
	f.Optional = true
	return f
}

func formatted(format string) value.Field {
	return value.Field{Type: value.Type{Kind: value.String, Format: format}}
}

// types is the environment of the tests.
func types() value.Type {
	entries := value.ListOf(value.Object)
	*entries.Type.Item = value.Struct(map[string]value.Field{
		"amount": value.Of(value.Integer), "open": value.Of(value.Boolean), "note": optional(value.Of(value.String)),
		"tags": value.ListOf(value.String),
	})
	filter := value.Field{Type: value.Struct(map[string]value.Field{"name": optional(value.Of(value.String)), "id": value.Of(value.Integer)})}
	mode := value.Field{Type: value.Type{Kind: value.String, Enum: []any{"fast", "small"}}}
	args := value.Struct(map[string]value.Field{
		"n": value.Of(value.Integer), "m": value.Of(value.Integer), "maybe": optional(value.Of(value.Integer)),
		"price": value.Of(value.Number), "s": value.Of(value.String), "note": optional(value.Of(value.String)),
		"flag": value.Of(value.Boolean), "verbose": optional(value.Of(value.Boolean)), "mode": mode, "amount": formatted("decimal"), "wait": formatted("duration"),
		"at": formatted("date-time"), "tags": value.ListOf(value.String), "numbers": value.ListOf(value.Integer), "items": entries,
		"filter": filter, "option": optional(filter), "free": value.Of(value.Any), "free2": value.Of(value.Any),
		"labels": {Type: value.Type{Kind: value.Object, Item: &value.Type{Kind: value.String}}},
	})
	return value.Struct(map[string]value.Field{
		"args":      {Type: args},
		"scope":     {Type: value.Struct(map[string]value.Field{"env": value.Of(value.String)})},
		"principal": {Type: value.Struct(map[string]value.Field{"name": value.Of(value.String), "roles": value.ListOf(value.String)})},
		"entry":     value.Of(value.String),
		"tool":      {Type: value.Struct(map[string]value.Field{"name": value.Of(value.String)})},
		"facts":     {Type: value.Struct(map[string]value.Field{"bytes": value.Of(value.Integer), "gone": value.Of(value.Integer)})},
	})
}

// values is a call that fits types. Optional arguments are absent.
func values() *Environment {
	return &Environment{
		Args: map[string]any{
			"n": int64(5), "m": int64(7), "price": 2.5, "s": "Hello", "flag": true, "mode": "fast", "amount": "1000.50", "wait": "90s",
			"at": "2026-12-01T10:00:00Z", "tags": []any{"a", "b"}, "numbers": []any{int64(1), int64(2), int64(3)},
			"items": []any{
				map[string]any{"amount": int64(5), "open": true, "tags": []any{"x"}},
				map[string]any{"amount": int64(50), "open": false, "note": "big", "tags": []any{}},
			},
			"filter": map[string]any{"id": int64(1)}, "free": "text", "free2": int64(3), "labels": map[string]any{"team": "ops"},
		},
		Scope: map[string]any{"env": "prod"}, Principal: map[string]any{"name": "bot", "roles": []any{"agent", "intern"}},
		Entry: "mcp", Tool: map[string]any{"name": "t"}, Facts: map[string]any{"bytes": int64(10)},
	}
}

func bind(t testing.TB, source string) *Condition {
	t.Helper()
	e, list := Parse(source, start)
	if e == nil {
		t.Fatalf("parse %s:\n%v", source, list.Err())
	}
	c, list := e.Bind(types())
	if c == nil {
		t.Fatalf("bind %s:\n%v", source, list.Err())
	}
	return c
}

func mistakes(source string) diag.List {
	e, list := Parse(source, start)
	if e != nil {
		_, more := e.Bind(types())
		list = append(list, more...)
	}
	return list
}

func TestEvaluate(t *testing.T) {
	for source, want := range map[string]bool{
		`args.n > 3`: true, `args.n >= 6`: false, `3 < args.n < 6`: true, `args.n == 5 and args.m == 7`: true, `args.n != 5 || args.m != 7`: false,
		`args.price > 2`: true, `args.price == 2.5`: true, `args.price < 2.25`: false, `args.n + args.m * 2 == 19`: true, `args.n / 2 > 2`: true, `args.n / 2 == 2`: false,
		`args.price * 2 == 5`: true, `args.n % 3 == 2`: true, `-args.n < 0`: true, `abs(args.n - args.m) == 2`: true, `args.n > 10 * 1024 * 1024`: false,
		`args.price + 0.1 == 2.6`: true, `args.price - 2.4 == 0.1`: true, `decimal(args.n) * 1.5 == 7.5`: true,
		`args.s == 'Hello'`: true, `lower(args.s) == "hello"`: true, `args.s + '!' == 'Hello!'`: true, `args.s contains 'ell'`: true, `args.s startsWith 'He'`: true,
		`args.s endsWith 'x'`: false, `not (args.s endsWith 'x')`: true, `args.s not contains 'z'`: true, `args.s matches '^H[a-z]+$'`: true, `len(args.s) == 5`: true, `len(trim(' é ')) == 1`: true,
		`hasPrefix(args.s, 'He') and hasSuffix(args.s, 'lo')`: true, `upper(args.s) == 'HELLO'`: true, `args.s < 'Iglu'`: true, `'b' in split('a.b', '.')`: true,
		`args.flag`: true, `!args.flag`: false, `not args.flag or args.n == 5`: true, `args.flag == true`: true, `args.flag ? args.n == 5 : args.n == 6`: true, `(args.flag ? args.n : args.m) == 5`: true,
		`args.mode == 'fast'`: true, `args.mode in ['small']`: false, `args.mode not in ['small']`: true, `args.n in [1, 5]`: true, `args.price in [1, 2.5]`: true, `args.n in 1..5`: true, `args.n in args.m..9`: false,
		`args.s in [args.mode, args.s]`: true, `'a' in args.tags`: true, `'z' not in args.tags`: true, `4 in args.numbers`: false, `'team' in args.labels`: true, `args.labels.team == 'ops'`: true, `args.labels['team'] == 'ops'`: true,
		`args.numbers[1] == 2`: true, `has(args.numbers[3])`: false, `(args.numbers[args.n] ?? 0) == 0`: true, `args.tags == ['a', 'b']`: true, `args.tags != ['a']`: true,
		`has(args.maybe)`: false, `has(args.maybe) and args.maybe > 3`: false, `not has(args.maybe) or args.maybe > 3`: true, `has(args.maybe) ? args.maybe > 3 : args.n == 5`: true, `(args.maybe ?? 4) > 3`: true,
		`(args.note ?? args.s) == 'Hello'`: true, `(args.option.name ?? args.filter.name ?? 'none') == 'none'`: true, `has(args.option.name) and args.option.name == 'x' and args.option.id > 1`: false, `has(args.labels.nope)`: false,
		`!(has(args.note) && args.note == 'x')`: true, `not (not has(args.note) or args.note == 'x')`: false, `(args.verbose ?? false) or args.n == 5`: true,
		`all(args.items, .amount > 1)`: true, `any(args.items, #.amount > 10 and not .open)`: true, `none(args.items, .amount > 100)`: true, `one(args.items, .open)`: true, `count(args.items, .amount > 1) == 2`: true,
		`len(filter(args.items, .open)) == 1`: true, `any(args.items, has(.note) and .note == 'big')`: true, `any(args.items, any(.tags, # == 'x'))`: true, `all(filter(args.numbers, # > 9), false)`: true, `any(args.items, (.note ?? '') == 'big')`: true,
		`decimal(args.amount) > decimal('1000.49')`: true, `decimal(args.amount) == 1000.5`: true, `decimal(args.amount) > 1000`: true, `duration(args.wait) > duration('1m')`: true, `duration('P1DT1H') == duration('25h')`: true,
		`'intern' in principal.roles and scope.env == 'prod'`: true, `entry == 'mcp'`: true, `facts.bytes < 11`: true, `args.free == 'text'`: true, `args.free2 > 2`: true, `args.free in ['a', 'text']`: true,
	} {
		got, err := bind(t, source).Evaluate(values())
		if err != nil || got != want {
			t.Errorf("%s: got %v, %v", source, got, err)
		}
	}
}

func TestFailures(t *testing.T) {
	for source, want := range map[string]string{
		`facts.gone == 1`: "facts.gone: is absent", `args.numbers[3] == 1`: "args.numbers[3]: is absent", `args.labels.nope == ''`: "args.labels.nope: is absent",
		`args.n + 9223372036854775807 > 0`: "beyond the range", `args.n * 9223372036854775807 > 0`: "beyond the range", `-args.n - 9223372036854775807 < 0`: "beyond the range",
		`args.n / (args.m - 7) > 0`: "divides by zero", `args.n % (args.m - 7) > 0`: "divides by zero", `args.free == 3`: "args.free: is a string, not a number", `args.free == args.free2`: "compares a string with an integer",
		`args.free > 2`: "is a string", `args.free`: "is a string, not a boolean", `3 in args.free`: "looks for an integer in a string", `args.free.x == 1`: "is asked of a string", `args.free[0] == 1`: "is no place in a string",
		`args.free in [1, 2]`: "is a string", `decimal(args.s) > 1`: "args.s: is not a decimal", `duration(args.s) > duration('1s')`: "is not a duration", `args.free2 contains 'x'`: "is an integer, not a string", `len(args.free2) > 1`: "has no length",
		`any(args.items, args.numbers[9] > 1)`: "is absent", `all(args.free, true)`: "not a list",
	} {
		got, err := bind(t, source).Evaluate(values())
		if got || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, %v; want %s", source, got, err, want)
		}
	}
}
