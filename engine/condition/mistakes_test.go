package condition

import (
	"slices"
	"strings"
	"testing"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/value"
)

func TestMistakes(t *testing.T) {
	for source, want := range map[string]string{
		// words of other languages
		``: "the expression is empty", `args.n = 5`: ":7:18: = does not compare (write ==)", `args.n => 5`: "=> is not an operator (write >=)", `args.n =< 5`: "=< is not an operator (write <=)",
		`args.n === 5`: "=== is not an operator (write ==)", `args.n <> 5`: "<> is not an operator (write !=)", `args.flag AND args.flag`: ":7:21: AND is not a word of expressions (write and)",
		`args.flag & args.flag`: "write and", `args.note == null`: "null: an absent value cannot be compared (ask has(args.x)", `args.note != nil`: "nil: an absent value", `args.flag == True`: "write true",
		`args.s | lower()`: "| is not possible", `let x = 5; x > 3`: "let is not possible", `args.flag; true`: "; is not possible", `if args.flag {true} else {false}`: "write condition ? this : that", `args.option?.id == 1`: "?. is not possible",
		`$env.x == 1`: "$env is not possible", `${args.n} > 5`: "name the field itself", `args.n > 5 // five`: "a comment inside an expression", `/* a */ args.flag`: "a comment inside", `b'x' == args.s`: "bytes are not possible", `::len(args.s) == 1`: ":: is not possible",
		// syntax
		`args.n >`: "the expression ends too early", `(args.n > 3`: `:7:11: "(" is never closed`, `args.n > 3)`: `:7:21: ")" closes nothing`, `args.numbers[1) == 3`: `")" does not close "["`, `args.n 5`: `:7:18: "5" does not belong here`,
		`args.s == 'x`: "the text has no closing quote", `args.s == ‘x’`: "write texts in plain quotes", `args.n == 99999999999999999999`: "a whole number lies between", `args.maybe ?? 0 > 3`: "?? beside another operator needs brackets (write (args.n ?? 0) > 3)", "a\xff": "not valid UTF-8",
		`args.n @ 3`: `"@" does not belong here`, "args.n = 5\n": "p.yaml:7:11: = does not compare", `'é' == args.n`: ":7:11: 'é' is a string, but args.n is an integer",
		// not part of the language
		`now() > 1`: "reads no clock", `date('2026-01-01') > 1`: "reads no clock", `toJSON(args) == ''`: "values are not converted", `fromJSON(args.s) == 1`: "values are not converted", `get(args, 'n') == 1`: "write args.x, or args.map['key']", `sort(args.tags) == []`: "use any, all",
		`lowr(args.s) > 1`: `did you mean "lower"?`, `args.s.startsWith('x')`: "write args.x startsWith 'text'", `args.tags.length() > 1`: "write len(args.x)", `{a: 1} == args.labels`: "an object is not possible", `args.tags[0:1] == []`: "a part [a:b]", `args.n ** 2 > 4`: "powers are not possible",
		`1..3 == args.numbers`: "a range is possible only after in", `+args.n > 1`: "a + before a value", `len() > 1`: "len takes one value, not 0", `has(args) and true`: "has takes a field", `has(args.n, 1)`: "has takes one field", `has(args.numbers[args.n])`: "whose place is written out", `any(args.tags, #index == 1)`: "#index is not possible",
		`lower(args.note) ?? '' == ''`: "?? beside another", `(lower(args.note) ?? '') == ''`: "the left side of ?? is not a field", `(args.n > 1).x`: "only a field can have fields", `frobnicate(args.n)`: "there are abs, all", `decimal() > 1`: "decimal takes one value",
		`any(args.items, any(args.items, any(args.items, any(args.items, true))))`: "more than 3 predicates", `min(args.n, 1) == 1`: "compare each value", `exists(args.note)`: "write has(args.x)", `contains(args.s, 'x')`: "write it between two values: args.x contains", `size(args.tags) == 1`: "write len(args.x)", `env('HOME') == ''`: "reads no environment",
		`args.s.includes('x')`: "write 'text' in args.x", `args.tags.some('x')`: "write any(", `args.s.foo()`: "functions stand before", `args.tags[0]()`: `"(" does not belong`,
		// patterns
		`args.s matches args.mode`: "a pattern must be constant", `args.s matches '(?=x)'`: "the pattern is not RE2", `args.s matches 'a'`: "warning: the pattern also matches inside", `args.s matches '^a|b$'`: "warning: the pattern", `args.s matches '^(a|b)'`: "warning", `args.n matches '^a$'`: "args.n is an integer, not a string",
		// fields
		`args.nn > 5`: `:7:11: args has no field nn (did you mean "n"?)`, `args.qqqqqqq > 5`: "args has amount, at", `arg.n > 5`: `there is no arg (did you mean "args"?)`, `n > 5`: "did you mean args.n?", `prod == scope.env`: "texts are written in quotes", `args == 1`: "args is not a value (name one of its fields",
		`data.payees == 1`: "not yet available", `args.s.x == 1`: "args.s is a string and has no field x", `args.items.amount > 1`: "write any(args.items, .amount …)", `args.s[0] == 'a'`: "args.s is a string and has no elements", `args.numbers['a'] == 1`: "is a list and has no field a",
		`args.labels[args.n] == ''`: "args.n is an integer, not a string", `args.filter[args.s] == 1`: "a field of args.filter is written as a name", `any(args.items, .amout > 1)`: `the element has no field amout (did you mean "amount"?)`, `args.numbers[args.s] == 1`: "not an integer",
		// absence
		`args.maybe > 3`: "args.maybe may be absent (write has(args.maybe) and … before it, or (args.maybe ?? 0) in its place, with the brackets)", `has(args.maybe) or args.maybe > 3`: "may be absent", `args.maybe > 3 and has(args.maybe)`: ":7:11: args.maybe may be absent", `not has(args.maybe) and args.maybe > 3`: "may be absent",
		`has(args.option) and args.option.name == 'x'`: "args.option.name may be absent", `(has(args.maybe) or args.flag) and args.maybe > 1`: "may be absent", `has(args.note) and args.maybe > 1`: "may be absent", `has(args.maybe) ? true : args.maybe > 1`: "may be absent", `any(args.items, .note == 'x')`: "may be absent",
		`any(args.items, has(.note)) and any(args.items, .note == 'x')`: "may be absent", `args.option.id == 1`: "write has(args.option) and … before it)", `(args.n > 1 ?? 3) == 3`: "1 is always there", `(5 ?? args.n) > 3`: "5 is always there", `(args.maybe ?? 'x') > 3`: "args.maybe is an integer, but 'x' is a string",
		// kinds
		`args.n == 'x'`: "but 'x' is a string", `args.n == '5'`: "write 5 without quotes", `args.flag == 'true'`: "write true without quotes", `args.s == 5`: "write '5' in quotes", `args.amount > 5`: "write decimal(args.amount)", `args.n > 5.5`: "args.n is an integer, but 5.5 has a fraction", `args.n == 9007199254740992.0`: "cannot be kept exactly", `args.n == 2.0`: "has a fraction",
		`args.n * 1.5 > 2`: "has a fraction", `args.price == 1e3`: "cannot be kept exactly", `args.price == 0.1234567890123456`: "cannot be kept exactly", `args.n`: "args.n is an integer, not a boolean (compare it", `args.tags`: "write len(args.tags) > 0", `args.flag > true`: "has no order", `args.tags > args.tags`: "has no order", `not args.n == 5`: "args.n is an integer, not a boolean",
		`args.n and args.flag`: "not a boolean", `args.tags == 'a'`: "is a list, but 'a' is a string", `args.s == ['a']`: "write in, or any(…)", `args.s + 1 == ''`: "1 is an integer, not a string", `args.s - 'x' == ''`: "args.s is a string, not a number (write decimal(args.s))", `args.price % 2 == 1`: "is a number, not an integer", `args.free > args.free2`: "nothing is known",
		`args.amount == '1.0'`: "as a text, 1.0 is not 1.00", `args.wait > '60s'`: "as a text, 60s is not 1m", `args.at > '2026'`: "times have no order", `args.amount in ['1.0']`: "as a text, 1.0", `duration(args.wait) > 60`: "a duration compares only with a duration", `duration('5 minutes') > duration('1s')`: "is not a duration", `duration('1s') * 2 > duration('1s')`: "a duration compares only", `duration('1s') + duration('1s') > duration('1s')`: "durations are compared",
		`decimal('x') > 1`: "is not a decimal", `decimal(args.flag) > 1`: "not a string", `len(args.n) > 1`: "has no length", `abs(args.s) > 1`: "not a number", `lower(args.n) == ''`: "not a string", `args.tags contains 'a'`: "args.tags is a list (write 'a' in args.tags)", `args.s contains args.n`: "not a string", `split(args.s, 1) == []`: "not a string",
		`args.s in args.mode`: "write args.mode contains args.s", `args.n in args.tags`: "args.n is an integer, but", `'x' in args.filter`: "write has(args.filter.field)", `args.n in args.labels`: "not a string", `args.n in [1, 'a']`: "is a string", `args.n in []`: "nothing is in an empty list", `args.n in 5..1`: "the range 5..1 is empty (write 1..5)", `args.s in 1..5`: "args.s is a string", `args.n in 'a'..'b'`: "not an integer",
		`args.free in [1, 'a']`: "several kinds", `args.free in [[1]]`: "or lists", `[1, 'a'] == args.numbers`: "is an integer, but", `any(args.n, true)`: "args.n is an integer, not a list", `any(args.tags, #)`: "not a boolean", `9223372036854775807 + 1 > args.n`: "is beyond the range", `args.n > 1 / 0`: "divides by zero", `(args.flag ? 1 : 'a') == 1`: "1 is an integer, but 'a' is a string",
		`args.tags == args.numbers`: "is a string, but", `hasPrefix(args.n, 'x')`: "not a string",
		// never true
		`args.mode == 'fats'`: `:7:24: args.mode is never 'fats' (did you mean "fast"?)`, `'zzzzzz' != args.mode`: "it is one of fast, small", `args.mode in ['fast', 'big']`: "args.mode is never 'big'", `(args.mode ?? 'none') == 'nine'`: `did you mean "none"?`,
		// bounds
		strings.Repeat(" ", MaxSource) + "true": "more than 4096", strings.Repeat("!", 250) + "true": "more than 200 parts",
		strings.Repeat("(1<", 60) + "1" + strings.Repeat("<1)", 60): "more than 200 parts", strings.Repeat("(", 60) + "true" + strings.Repeat("?:true)", 60): "more than 200 parts",
	} {
		list := mistakes(source)
		if len(list) == 0 {
			t.Errorf("%s: no diagnostic, want %s", source, want)
			continue
		}
		var lines []string
		for _, d := range list.Sorted() {
			lines = append(lines, d.String())
		}
		if all := strings.Join(lines, "\n"); !strings.Contains(all, want) {
			t.Errorf("%s:\ngot  %s\nwant %s", source, all, want)
		}
	}
}

func TestAnchored(t *testing.T) {
	for _, pattern := range []string{"^a$", "^(a|b)$", "^(?:^a|^b)$", `\Aa\z`, "^a$|^b$", "^$"} {
		if list := mistakes("args.s matches '" + strings.ReplaceAll(pattern, `\`, `\\`) + "'"); len(list) > 0 {
			t.Errorf("%s: %v", pattern, list)
		}
	}
	for _, pattern := range []string{"", "a", "^a", "a$", "^a|b$", "(?m)^a$", "^a$|b", "^*a$"} {
		if list := mistakes("args.s matches '" + pattern + "'"); len(list) != 1 || list[0].Code != "unanchored-pattern" || list[0].Severity != diag.Warning {
			t.Errorf("%s: %v", pattern, list)
		}
	}
}

func TestSeveralMistakesAtOnce(t *testing.T) {
	if list := mistakes(`args.nn > 5 and args.s == 3 and now() > 1`); list.Errors() != 1 {
		t.Errorf("the words of the language: %v", list)
	}
	if list := mistakes(`args.nn > 5 and args.s == 3 or args.maybe == 1`); list.Errors() != 3 {
		t.Errorf("fields and kinds: %v", list)
	}
}

func TestReads(t *testing.T) {
	e, list := Parse(`has(args.a.b) and args.a.b > args.c and (args.d ?? 0) > 1 and any(args.l, .x > scope.y) and args.l2[0].z == args.m['k'] and (args.c ?? 1) > 0`, start)
	if e == nil {
		t.Fatal(list.Err())
	}
	var got []string
	for _, r := range e.Reads() {
		text := strings.Join(r.Path, ".")
		if r.Guarded {
			text += "?"
		}
		got = append(got, text)
	}
	if want := []string{"args.a.b?", "args.c", "args.d?", "args.l", "scope.y", "args.l2", "args.m.k"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if at := e.Reads()[1].At; at.Column != start.Column+29 {
		t.Errorf("args.c is at %v", at)
	}
}

func TestMissing(t *testing.T) {
	for source, want := range map[string]string{
		`args.n > 1`: "", `args.zz > 1 and args.n > 1`: "args.zz", `has(args.zz) and args.zz > 1`: "args.zz?", `has(args.zz) and args.zz > 1 or args.zz > 3`: "args.zz", `(args.filter.zz ?? 1) > 1`: "args.filter.zz?",
		`has(args.zz) and args.zz.y > 1`: "args.zz?", `has(args.filter) and args.filter.zz > 1`: "args.filter.zz", `nowhere.x == 1`: "nowhere", `args.s.x == 1`: "", `any(args.tags, # == 'x')`: "", `args.labels.any == 'x'`: "",
	} {
		e, _ := Parse(source, start)
		got := ""
		for _, r := range e.Missing(types()) {
			if text := strings.Join(r.Path, "."); got == "" || !r.Guarded {
				got = text
				if r.Guarded {
					got += "?"
				}
			}
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", source, got, want)
		}
		if _, list := e.BindLenient(types()); want != "" && list.HasErrors() == strings.HasSuffix(want, "?") {
			t.Errorf("%s: bound leniently: %v", source, list)
		}
		if _, list := e.Bind(types()); want != "" && !list.HasErrors() {
			t.Errorf("%s: bound", source)
		}
	}
}

func TestBindLenient(t *testing.T) {
	for source, want := range map[string]bool{`has(args.zz) and args.zz > 1`: false, `not has(args.zz) or args.zz.y > 1`: true, `(args.zz ?? 5) > 1`: true, `has(args.filter.zz) ? args.filter.zz == 'x' : args.flag`: true} {
		e, _ := Parse(source, start)
		c, list := e.BindLenient(types())
		if c == nil {
			t.Errorf("%s: %v", source, list)
			continue
		}
		if got, err := c.Evaluate(values()); err != nil || got != want {
			t.Errorf("%s: got %v, %v", source, got, err)
		}
	}
}

func TestExplain(t *testing.T) {
	for source, want := range map[string]string{
		`args.n > 3 and (args.s == 'x' or len(args.s) > 9) and args.m > 1`: "false args.s == 'x' or len(args.s) > 9", `args.n > 3 and args.m > 1`: "true args.n > 3 and args.m > 1", `args.n > 9 or args.m in [7, 8] or args.flag`: "true args.m in [7, 8]",
		`args.n > 9 or not (args.flag)`: "false args.n > 9 or not (args.flag)", `args.n > 3 && any(args.items, (.amount > 99))`: "false any(args.items, (.amount > 99))", `args.n > 3 and facts.gone > 1`: "false facts.gone > 1 facts.gone: is absent",
		`args.flag ? args.n > 9 : true`: "false args.flag ? args.n > 9 : true", `args.n > 3 and (args.maybe ?? 0) > 1`: "false (args.maybe ?? 0) > 1", `args.numbers[0] == 1 and args.numbers[1] == 1`: "false args.numbers[1] == 1", `'ä' != args.s and 'ü' == args.s`: "false 'ü' == args.s",
		`args.n > 3 and (((args.n) > 9))`: "false (args.n) > 9",
	} {
		x := bind(t, source).Explain(values())
		got := map[bool]string{true: "true ", false: "false "}[x.Holds] + x.Part
		if x.Err != nil {
			got += " " + x.Err.Error()
		}
		if got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", source, got, want)
		}
	}
	saw := bind(t, `has(args.maybe) and args.maybe > 3 or args.filter.id == 1 and entry == 'mcp'`).Explain(values()).Saw
	want := []Seen{{"args.maybe", nil, false}, {"args.filter.id", int64(1), true}, {"entry", "mcp", true}}
	if !slices.Equal(saw, want) {
		t.Errorf("saw %v, want %v", saw, want)
	}
}

func TestSteps(t *testing.T) {
	many := make([]any, 20_000)
	for i := range many {
		many[i] = int64(i)
	}
	env := values()
	env.Args.(map[string]any)["numbers"] = many
	for _, source := range []string{`all(args.numbers, any(args.numbers, # > 19000))`, `all(args.numbers, # in args.numbers)`, `count(args.numbers, # + # + # + # > 0) > 1`, `args.numbers == args.numbers and all(args.numbers, # == # and # >= 0 and # < 20000)`} {
		if got, err := bind(t, source).Evaluate(env); got || err != error(errSteps) || !strings.Contains(err.Error(), "too many steps") {
			t.Errorf("%s: got %v, %v", source, got, err)
		}
	}
	for range 3 {
		if got, err := bind(t, `-1 in args.numbers`).Evaluate(env); got || err != nil {
			t.Errorf("one pass over the list: %v, %v", got, err)
		}
	}
	env.Args.(map[string]any)["s"] = strings.Repeat("a", 40<<10)
	if _, err := bind(t, `len(args.s + args.s) > 1`).Evaluate(env); err == nil {
		t.Error("a text beyond the bound was made")
	}
}

func TestFunctionsAreInOrderAndWork(t *testing.T) {
	all := Functions()
	if !slices.IsSortedFunc(all, func(a, b Function) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the functions are not in the order of their names")
	}
	for _, f := range all {
		if f.Meaning == "" || !strings.Contains(f.Example, f.Name+"(") {
			t.Errorf("%s lacks its meaning or an example", f.Name)
		}
		if _, list := Parse(strings.ReplaceAll(f.Example, "…", "true"), start); list.HasErrors() {
			t.Errorf("%s: %v", f.Example, list.Err())
		}
	}
}

func TestSourceAndText(t *testing.T) {
	e, _ := Parse(`args.n > 1`, start)
	if e.Source() != `args.n > 1` {
		t.Error(e.Source())
	}
	if types().Fields["args"].Type.Kind != value.Object {
		t.Error("args is an object")
	}
}
