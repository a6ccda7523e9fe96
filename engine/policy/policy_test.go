package policy_test

import (
	"slices"
	"testing"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/condition"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/match"
	"github.com/writ-dev/writ/engine/policy"
	"github.com/writ-dev/writ/engine/rule"
	"github.com/writ-dev/writ/engine/value"
)

func bind(t *testing.T, docs ...*document.ApprovalPolicy) []policy.Bound {
	t.Helper()
	environment := value.Struct(map[string]value.Field{
		"args":  {Type: value.Struct(map[string]value.Field{"n": value.Of(value.Integer)})},
		"scope": {Type: value.Struct(nil)}, "facts": {Type: value.Struct(nil)},
		"principal": {Type: value.Struct(map[string]value.Field{"roles": value.ListOf(value.String)})},
		"entry":     value.Of(value.String), "tool": {Type: value.Struct(nil)},
	})
	var list []policy.Bound
	for _, doc := range docs {
		compiled, problems := policy.Compile(doc, nil)
		if err := problems.Err(); err != nil {
			t.Fatal(err)
		}
		bound := policy.Bound{Policy: compiled}
		for _, r := range compiled.Rules {
			fitted, skipped, problems := r.Bind(rule.Target{Target: match.Target{Scope: []string{"env"}}, Environment: environment})
			if fitted == nil {
				t.Fatalf("%s: %s %v", r.ID, skipped, problems)
			}
			bound.Deny = append(bound.Deny, fitted)
		}
		list = append(list, bound)
	}
	return list
}

func decide(policies []policy.Bound, level call.Level, entry call.Entry, local bool, n any) policy.Decision {
	return policy.Decide(policies, policy.Input{
		Subject: match.Subject{Entry: entry, Risk: level}, Local: local,
		Environment: &condition.Environment{Args: map[string]any{"n": n}},
	})
}

// TestFloors is the whole table of floors, for remote and for local callers.
func TestFloors(t *testing.T) {
	const (
		none    = policy.None
		confirm = policy.Confirm
		phrase  = policy.Phrase
	)
	balanced := []policy.Confirmation{none, confirm, phrase, phrase}
	for _, c := range []struct {
		posture string
		local   bool
		want    []policy.Confirmation
	}{
		{"", false, balanced},
		{"", true, balanced},
		{"balanced", false, balanced},
		{"strict", false, []policy.Confirmation{confirm, confirm, phrase, phrase}},
		{"permissive", false, balanced},
		{"permissive", true, []policy.Confirmation{none, confirm, confirm, phrase}},
	} {
		policies := bind(t, &document.ApprovalPolicy{Posture: c.posture})
		for level, want := range c.want {
			got := decide(policies, call.Level(level), call.EntryCLI, c.local, int64(1))
			effect := policy.RequireApproval
			if want == none {
				effect = policy.Permit
			}
			if got.Confirmation != want || got.Effect != effect {
				t.Errorf("posture %q, local %t, %s: %s %s, want %s %s", c.posture, c.local, call.Level(level),
					got.Effect, got.Confirmation, effect, want)
			}
		}
	}
}

// Without any policy the floors hold.
func TestNoPolicy(t *testing.T) {
	if got := decide(nil, call.Mutating, call.EntryMCP, false, int64(1)); got.Effect != policy.RequireApproval {
		t.Errorf("a mutating call without a policy: %s", got.Effect)
	}
}

// The strictest of all matching policies wins, in any order.
func TestOrderNeverMatters(t *testing.T) {
	docs := []*document.ApprovalPolicy{
		{Header: document.Header{Name: "a"}, Posture: "permissive"},
		{Header: document.Header{Name: "b"}, Confirm: map[string]string{"read_only": "confirm"}},
		{Header: document.Header{Name: "c"}, Posture: "strict", Match: &document.Match{Entries: []string{"a2a"}}},
		{Header: document.Header{Name: "d"}, Entries: map[string]document.EntryPolicy{"mcp": {Posture: "balanced"}}},
	}
	policies := bind(t, docs...)
	reversed := slices.Clone(policies)
	slices.Reverse(reversed)
	for _, entry := range []call.Entry{call.EntryCLI, call.EntryMCP, call.EntryA2A} {
		for level := call.ReadOnly; level <= call.Critical; level++ {
			one, other := decide(policies, level, entry, true, int64(1)), decide(reversed, level, entry, true, int64(1))
			if one.Effect != other.Effect || one.Confirmation != other.Confirmation || one.Posture != other.Posture {
				t.Errorf("%s %s: %+v and reversed %+v", entry, level, one, other)
			}
			if one.Effect != policy.RequireApproval {
				t.Errorf("%s %s: %s, but policy b asks for every level", entry, level, one.Effect)
			}
		}
	}
}

func TestDeny(t *testing.T) {
	policies := bind(t, &document.ApprovalPolicy{Deny: []document.DenyRule{{ID: "big", When: "args.n > 10", Message: "too big"}}})
	for name, c := range map[string]struct {
		n    any
		want policy.Effect
	}{
		"silent":              {int64(1), policy.Permit},
		"holds":               {int64(11), policy.Deny},
		"cannot be evaluated": {"eleven", policy.Deny},
	} {
		got := decide(policies, call.ReadOnly, call.EntryMCP, false, c.n)
		if got.Effect != c.want {
			t.Errorf("%s: %s, want %s", name, got.Effect, c.want)
		}
		if c.want == policy.Deny && got.SettledBy != "big" {
			t.Errorf("%s: settled by %q", name, got.SettledBy)
		}
	}
}

// A confirm below the floor of the document's own posture does not load.
func TestConfirmBelowFloor(t *testing.T) {
	for name, c := range map[string]struct {
		doc  document.ApprovalPolicy
		want bool
	}{
		"mutating none":        {document.ApprovalPolicy{Confirm: map[string]string{"mutating": "none"}}, true},
		"dangerous confirm":    {document.ApprovalPolicy{Confirm: map[string]string{"dangerous": "confirm"}}, true},
		"permissive dangerous": {document.ApprovalPolicy{Posture: "permissive", Confirm: map[string]string{"dangerous": "confirm"}}, false},
		"strict read":          {document.ApprovalPolicy{Posture: "strict", Confirm: map[string]string{"read_only": "none"}}, true},
		"stronger than floor":  {document.ApprovalPolicy{Confirm: map[string]string{"mutating": "phrase"}}, false},
	} {
		_, problems := policy.Compile(&c.doc, nil)
		if problems.HasErrors() != c.want {
			t.Errorf("%s: errors %t, want %t", name, problems.HasErrors(), c.want)
		}
	}
}

func TestZeroDecisionDenies(t *testing.T) {
	if (policy.Decision{}).Effect != policy.Deny {
		t.Error("the zero decision does not deny")
	}
}
