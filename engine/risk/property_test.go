package risk_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/document"
)

// Another rule never lowers the level or hides a rule, and the order of rules
// changes nothing.
func TestMoreRulesNeverLower(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	conditions := []string{"true", "false", "args.n > 5", "args.n < 3", "args.n * args.n < 0", "args.n / (args.n - 2) > 1", "(args.text ?? '') == 'x'"}
	values := []any{nil, int64(0), int64(2), int64(7), int64(1) << 62, "seven"}
	raised := 0
	for range 1000 {
		var docs []document.RiskRule
		for i := range 1 + random.IntN(6) {
			docs = append(docs, document.RiskRule{
				ID: "r" + strconv.Itoa(i), When: conditions[random.IntN(len(conditions))], Risk: call.LevelNames()[random.IntN(4)],
			})
		}
		rules, floor, n := bind(t, docs...), call.Level(random.IntN(4)), values[random.IntN(len(values))]
		whole, fewer := evaluate(floor, rules, n), evaluate(floor, rules[1:], n)
		if whole.Level < fewer.Level || whole.Level < floor || len(whole.Fired) < len(fewer.Fired) {
			t.Fatalf("with %+v: %+v, without: %+v", docs[0], whole, fewer)
		}
		if whole.Level > fewer.Level {
			raised++
		}
		random.Shuffle(len(rules), func(i, j int) { rules[i], rules[j] = rules[j], rules[i] })
		if other := evaluate(floor, rules, n); other.Level != whole.Level || !slices.Equal(other.Rules(), whole.Rules()) {
			t.Fatalf("in one order %+v, in another %+v", whole, other)
		}
	}
	if raised < 50 {
		t.Errorf("only %d levels were raised", raised)
	}
}
