package condition

import "testing"

// rules are fifteen conditions as policies have them.
func rules() []string {
	return []string{
		`args.n > 10 * 1024 * 1024`, `has(args.maybe) and args.maybe > 100`, `args.mode == 'small'`, `args.s startsWith '/etc/'`, `args.s matches '^/(etc|usr|boot)/[^/]+$'`,
		`'intern' in principal.roles and scope.env == 'staging'`, `scope.env == 'prod' and args.n > 100`, `args.mode in ['small'] and not args.flag`, `(args.note ?? '') == 'x'`, `any(args.tags, # startsWith '-')`,
		`principal.name != 'bot' and entry == 'mcp'`, `args.n not in 1..10`, `facts.bytes > 1024 or args.price > 1000`, `args.flag and args.m == 8`, `tool.name == 'other' or len(args.tags) > 20`,
	}
}

func BenchmarkFifteenRules(b *testing.B) {
	var conditions []*Condition
	for _, source := range rules() {
		conditions = append(conditions, bind(b, source))
	}
	env := values()
	b.ReportAllocs()
	for b.Loop() {
		for _, c := range conditions {
			if holds, err := c.Evaluate(env); holds || err != nil {
				b.Fatal(c.expression.source, holds, err)
			}
		}
	}
}

func BenchmarkParseAndBind(b *testing.B) {
	env := types()
	b.ReportAllocs()
	for b.Loop() {
		e, _ := Parse(rules()[5], start)
		if c, list := e.Bind(env); c == nil {
			b.Fatal(list)
		}
	}
}

func BenchmarkBind(b *testing.B) {
	env := types()
	e, _ := Parse(rules()[5], start)
	b.ReportAllocs()
	for b.Loop() {
		if c, list := e.Bind(env); c == nil {
			b.Fatal(list)
		}
	}
}

// TestRulesAllocateNothing holds the decision path to its promise.
func TestRulesAllocateNothing(t *testing.T) {
	env := values()
	for _, source := range rules() {
		c := bind(t, source)
		if n := testing.AllocsPerRun(50, func() { c.Evaluate(env) }); n > 0 {
			t.Errorf("%s: %v allocations", source, n)
		}
	}
}
