package condition

import (
	"strings"
	"testing"
)

// TestAbsenceIsNeverSwallowed puts an absent fact into every place that an
// expression has: none of them may make a false or a true of it.
func TestAbsenceIsNeverSwallowed(t *testing.T) {
	const text, list, flag = `(facts.gone > 1 ? 'a' : 'b')`, `(facts.gone > 1 ? args.numbers : args.numbers)`, `(facts.gone > 1)`
	for _, source := range []string{
		`facts.gone == 1`, `1 == facts.gone`, `facts.gone != 1`, `facts.gone > args.n`, `args.n > facts.gone`, `facts.gone + 1 > 0`, `args.n + facts.gone > 0`, `-facts.gone > 0`, `abs(facts.gone) > 0`, `facts.gone / 2 > 0`,
		`facts.gone in [1, 2]`, `args.n in [facts.gone, 5]`, `facts.gone in [args.n, 5]`, `facts.gone in 1..5`, `args.n in facts.gone..5`, `args.n in 1..facts.gone`, `facts.gone in args.numbers`, `args.n in ` + list, `args.price in [facts.gone]`,
		`not ` + flag, flag + ` == args.flag`, `args.flag == ` + flag, flag + ` in [true]`, flag + ` or true`, `false or ` + flag, flag + ` ? true : true`, `args.flag ? ` + flag + ` : true`, `(args.maybe ?? facts.gone) > 1`, `args.numbers[facts.gone] == 1`, `(args.numbers[facts.gone] ?? 1) == 1`,
		text + ` == 'a'`, text + ` == args.s`, `args.s == ` + text, text + ` < 'a'`, `args.s < ` + text, text + ` + 'a' == ''`, `'a' + ` + text + ` == ''`, text + ` contains 'a'`, `args.s contains ` + text, text + ` contains args.s`, text + ` matches '^a$'`, `lower(` + text + `) == ''`,
		`len(` + text + `) == 1`, `'a' in split(` + text + `, '.')`, `'a' in split('a', ` + text + `)`, `decimal(` + text + `) > 1`, `decimal(facts.gone) > 1`, `duration(` + text + `) > duration('1s')`, text + ` in args.labels`, text + ` in ['a', 'b']`,
		`all(` + list + `, true)`, `all(args.numbers, # > facts.gone)`, `none(args.numbers, # > facts.gone)`, `any(args.numbers, # > facts.gone)`, `one(args.numbers, # > facts.gone)`, `count(args.numbers, # > facts.gone) == 0`, `len(filter(args.numbers, # > facts.gone)) == 0`, `len(filter(` + list + `, true)) == 0`,
		list + ` == args.numbers`, `args.numbers == ` + list, `args.numbers == [facts.gone]`, `facts.gone == args.free2`, `hasPrefix(` + text + `, 'a')`,
	} {
		c := bind(t, source)
		if got, err := c.Evaluate(values()); got || err == nil || !strings.Contains(err.Error(), "facts.gone: is absent") {
			t.Errorf("%s: got %v, %v", source, got, err)
		}
		if x := c.Explain(values()); x.Holds || x.Err == nil || x.Part == "" {
			t.Errorf("%s: explained as %+v", source, x)
		}
	}
}

func TestWholeValues(t *testing.T) {
	for source, want := range map[string]bool{
		`args.labels == args.labels`: true, `args.items == args.items`: true, `args.items[0] == args.items[1]`: false, `args.free == args.free`: true, `args.items[0].tags == ['x']`: true, `[1, 2, 3] == args.numbers`: true, `args.numbers == [3, 2, 1]`: false,
		`args.numbers == []`: false, `args.flag in [true]`: true, `args.flag in [false]`: false, `args.free in ['x', args.s]`: false, `(args.flag ? args.mode : 'none') == 'none'`: false, `(args.flag ? args.mode : args.s) == 'other'`: false, `abs(-args.price) == 2.5`: true, `abs(args.free2) == 3`: true,
		`args.free2 + 1 == 4`: true, `args.price / 2 == 1.25`: true, `'team' in args.labels and len(args.labels) == 1`: true, `args.price > args.n`: false, `args.price - 2.5 == 0`: true, `args.price in 1..3`: true, `args.free2 in 1..3`: true,
		`len(args.free) == 4`: true, `args.price in [7, 9]`: false, `args.n / 3 in [1, 2]`: false, `args.free in args.tags`: false,
	} {
		if got, err := bind(t, source).Evaluate(values()); err != nil || got != want {
			t.Errorf("%s: got %v, %v", source, got, err)
		}
	}
}

// TestFractionsStayBounded multiplies until the fraction has too many digits.
func TestFractionsStayBounded(t *testing.T) {
	source := `args.price / 3` + strings.Repeat(` * (args.price / 3.1)`, 20) + ` > 0`
	env := values()
	env.Args.(map[string]any)["price"] = 5e-324
	if got, err := bind(t, source).Evaluate(env); got || err == nil || !strings.Contains(err.Error(), "too many digits") {
		t.Errorf("got %v, %v", got, err)
	}
}
