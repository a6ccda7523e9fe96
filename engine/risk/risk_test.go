package risk_test

import (
	"slices"
	"testing"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/condition"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/match"
	"github.com/writ-dev/writ/engine/risk"
	"github.com/writ-dev/writ/engine/rule"
	"github.com/writ-dev/writ/engine/value"
)

func environment() value.Type {
	return value.Struct(map[string]value.Field{
		"args": {Type: value.Struct(map[string]value.Field{
			"n":    value.Of(value.Integer),
			"text": {Type: value.Type{Kind: value.String}, Optional: true},
		})},
		"scope": {Type: value.Struct(nil)}, "facts": {Type: value.Struct(nil)},
		"principal": {Type: value.Struct(map[string]value.Field{"name": value.Of(value.String), "roles": value.ListOf(value.String)})},
		"entry":     value.Of(value.String),
		"tool":      {Type: value.Struct(map[string]value.Field{"name": value.Of(value.String)})},
	})
}

func bind(t *testing.T, rules ...document.RiskRule) []risk.Bound {
	t.Helper()
	compiled, problems := risk.Compile(&document.RiskRules{Rules: rules})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	var list []risk.Bound
	for _, r := range compiled {
		bound, skipped, problems := r.Bind(rule.Target{Target: match.Target{Name: "t"}, Environment: environment()})
		if bound == nil {
			t.Fatalf("rule %s: %s %v", r.ID, skipped, problems)
		}
		list = append(list, risk.Bound{Bound: bound, Level: r.Level})
	}
	return list
}

func evaluate(floor call.Level, rules []risk.Bound, n any) risk.Assessment {
	arguments := map[string]any{}
	if n != nil {
		arguments["n"] = n
	}
	return risk.Evaluate(floor, rules, match.Subject{}, &condition.Environment{Args: arguments})
}

func TestNothingLowers(t *testing.T) {
	rules := bind(t, document.RiskRule{ID: "low", When: "args.n > 0", Risk: "read_only"})
	if got := evaluate(call.Dangerous, rules, int64(1)); got.Level != call.Dangerous || len(got.Fired) != 1 {
		t.Errorf("a read_only rule on a dangerous floor gives %+v", got)
	}
}

func TestStrongestFirst(t *testing.T) {
	rules := bind(t,
		document.RiskRule{ID: "b", When: "args.n > 0", Risk: "mutating"},
		document.RiskRule{ID: "silent", When: "args.n > 100", Risk: "critical"},
		document.RiskRule{ID: "c", When: "args.n > 0", Risk: "dangerous"},
		document.RiskRule{ID: "a", When: "args.n > 0", Risk: "mutating"})
	got := evaluate(call.ReadOnly, rules, int64(1))
	if want := []string{"c", "a", "b"}; !slices.Equal(got.Rules(), want) || got.Level != call.Dangerous {
		t.Errorf("got %v at %s, want %v at dangerous", got.Rules(), got.Level, want)
	}
}

// A rule that cannot be evaluated fires: unknown is dangerous.
func TestErrorsFire(t *testing.T) {
	rules := bind(t, document.RiskRule{ID: "r", When: "args.n > 10", Risk: "critical"})
	for name, n := range map[string]any{"absent": nil, "of another kind": "eleven"} {
		got := evaluate(call.ReadOnly, rules, n)
		if got.Level != call.Critical || len(got.Fired) != 1 || got.Fired[0].Error == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	overflow := bind(t, document.RiskRule{ID: "r", When: "args.n * args.n < 0", Risk: "critical"})
	if got := evaluate(call.ReadOnly, overflow, int64(1)<<62); got.Level != call.Critical {
		t.Errorf("overflow: %+v", got)
	}
}

func TestUnmatchedCallersAreLeftOut(t *testing.T) {
	compiled, _ := risk.Compile(&document.RiskRules{
		Match: &document.Match{Entries: []string{"a2a"}},
		Rules: []document.RiskRule{{ID: "r", When: "true", Risk: "critical"}},
	})
	bound, _, _ := compiled[0].Bind(rule.Target{Target: match.Target{Name: "t"}, Environment: environment()})
	rules := []risk.Bound{{Bound: bound, Level: call.Critical}}
	for entry, want := range map[call.Entry]call.Level{call.EntryMCP: call.ReadOnly, call.EntryA2A: call.Critical} {
		got := risk.Evaluate(call.ReadOnly, rules, match.Subject{Entry: entry}, &condition.Environment{})
		if got.Level != want {
			t.Errorf("%s: %s, want %s", entry, got.Level, want)
		}
	}
}

func TestMinRiskIsCircular(t *testing.T) {
	_, problems := risk.Compile(&document.RiskRules{Match: &document.Match{MinRisk: "mutating"}})
	if !problems.HasErrors() {
		t.Error("min_risk in RiskRules was accepted")
	}
}
