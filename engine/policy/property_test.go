package policy_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/condition"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/match"
	"github.com/writ-dev/writ/engine/policy"
	"github.com/writ-dev/writ/engine/value"
)

// randomPolicies makes policies that may say anything a policy can.
func randomPolicies(random *rand.Rand, n int) []*document.ApprovalPolicy {
	pick := func(words ...string) string { return words[random.IntN(len(words))] }
	docs := make([]*document.ApprovalPolicy, n)
	for i := range docs {
		doc := &document.ApprovalPolicy{
			Header:  document.Header{Name: fmt.Sprint("p", i)},
			Posture: pick("", "", "permissive", "balanced", "strict"),
			Entries: map[string]document.EntryPolicy{"mcp": {Posture: pick("", "balanced", "strict"), Unattended: pick("", "", "deny")}},
			Confirm: map[string]string{"read_only": pick("confirm", "phrase"), "critical": "phrase"},
		}
		if random.IntN(2) == 0 {
			doc.Confirm = nil
		}
		if random.IntN(2) == 0 {
			doc.Match = &document.Match{
				Entries: [][]string{nil, {"mcp"}, {"cli"}}[random.IntN(3)], Roles: [][]string{nil, {"dev*"}, {"sre"}}[random.IntN(3)],
				Scope: []map[string][]string{nil, {"env": {"prod"}}}[random.IntN(2)], MinRisk: pick("", "mutating", "critical"),
			}
		}
		if random.IntN(3) == 0 {
			doc.Deny = []document.DenyRule{{ID: fmt.Sprint("d", i), When: pick("args.n > 5", "args.n == 2", "args.n * args.n > 0", "'dev' in principal.roles")}}
		}
		if random.IntN(2) == 0 {
			doc.Approvers = &document.Approvers{Roles: []string{pick("lead", "sre")}, Count: random.IntN(3)}
			doc.Pending = &document.Pending{Timeout: document.Duration(random.Int64N(100)), Max: random.IntN(9)}
			doc.Grants = []*bool{nil, new(bool)}[random.IntN(2)]
		}
		docs[i] = doc
	}
	return docs
}

func randomInput(random *rand.Rand) policy.Input {
	roles := [][]string{nil, {"dev"}, {"sre", "dev"}}[random.IntN(3)]
	list := make([]any, len(roles))
	for i, role := range roles {
		list[i] = role
	}
	return policy.Input{
		Subject: match.Subject{
			Principal: call.Principal{Name: "ann", Roles: roles}, Entry: []call.Entry{call.EntryMCP, call.EntryCLI}[random.IntN(2)],
			Risk: call.Level(random.IntN(4)), Scope: []map[string]any{{}, {"env": "prod"}, {"env": "dev"}}[random.IntN(3)],
		},
		Local: random.IntN(2) == 0,
		Environment: &condition.Environment{
			Args:      map[string]any{"n": []any{int64(1), int64(2), int64(9), int64(1) << 62, nil}[random.IntN(5)]},
			Principal: map[string]any{"roles": list},
		},
	}
}

// Another policy never loosens a decision, and the order of policies changes
// nothing. A posture that is named stands for the built-in one, so both sides
// name one.
func TestMorePoliciesNeverLoosen(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 5))
	stricter := 0
	for range 1500 {
		docs := randomPolicies(random, 1+random.IntN(5))
		docs = append(docs, &document.ApprovalPolicy{Header: document.Header{Name: "base"}, Posture: "permissive"})
		all := bind(t, docs...)
		for range 5 {
			in := randomInput(random)
			whole := policy.Decide(all, in)
			fewer := policy.Decide(all[1:], in)
			if whole.Effect > fewer.Effect || whole.Effect == fewer.Effect && whole.Effect != policy.Deny &&
				(whole.Confirmation < fewer.Confirmation || len(whole.Approvers) < len(fewer.Approvers) || whole.Grants && !fewer.Grants && fewer.Effect == policy.RequireApproval ||
					fewer.Unattended && !whole.Unattended || fewer.Pending.Max > 0 && whole.Pending.Max > fewer.Pending.Max && whole.Pending.Max > policy.DefaultMaxPending) {
				t.Fatalf("with %+v:\n%+v\nwithout:\n%+v\nfor %+v", docs[0], whole, fewer, in)
			}
			if whole.Effect < fewer.Effect {
				stricter++
			}
			shuffled := slices.Clone(all)
			random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			other := policy.Decide(shuffled, in)
			if other.Effect != whole.Effect || other.Confirmation != whole.Confirmation || other.Posture != whole.Posture ||
				other.Pending != whole.Pending || other.Grants != whole.Grants || other.Unattended != whole.Unattended || len(other.Approvers) != len(whole.Approvers) {
				t.Fatalf("in one order:\n%+v\nin another:\n%+v", whole, other)
			}
		}
	}
	if stricter < 100 {
		t.Errorf("only %d decisions became stricter", stricter)
	}
}

// Approvers that cannot be named are nobody: the call is denied.
func TestUnknownRouteDenies(t *testing.T) {
	compiled, problems := policy.Compile(&document.ApprovalPolicy{
		Header: document.Header{Name: "p"}, Approvers: &document.Approvers{Roles: []string{"${principal.team}-lead"}},
	}, map[string]value.Field{"team": value.Of(value.String)})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		claims map[string]any
		want   policy.Effect
	}{
		"named": {map[string]any{"team": "ops"}, policy.RequireApproval},
		"none":  {nil, policy.Deny},
		"null":  {map[string]any{"team": nil}, policy.Deny},
		"list":  {map[string]any{"team": []any{"ops"}}, policy.Deny},
	} {
		got := policy.Decide([]policy.Bound{{Policy: compiled}}, policy.Input{
			Subject:     match.Subject{Principal: call.Principal{Name: "ann", Claims: c.claims}, Risk: call.Mutating},
			Environment: &condition.Environment{},
		})
		if got.Effect != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
