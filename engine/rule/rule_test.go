package rule_test

import (
	"strings"
	"testing"

	"github.com/writ-dev/writ/engine/condition"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/match"
	"github.com/writ-dev/writ/engine/rule"
	"github.com/writ-dev/writ/engine/value"
)

func parse(t *testing.T, when string, m *document.Match) *rule.Rule {
	t.Helper()
	parsed, problems := rule.Parse(rule.Rule{ID: "r", Selector: match.Compile(m)}, when)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return parsed
}

func target(name string, args map[string]value.Field) rule.Target {
	return rule.Target{
		Target: match.Target{Name: name},
		Environment: value.Struct(map[string]value.Field{
			"args": {Type: value.Struct(args)}, "scope": {Type: value.Struct(nil)}, "facts": {Type: value.Struct(nil)},
			"principal": {Type: value.Struct(map[string]value.Field{"name": value.Of(value.String)})},
		}),
	}
}

// A tool that is named must have what the rule reads; one that a pattern
// selects is skipped; a guarded field may be missing.
func TestBind(t *testing.T) {
	with := map[string]value.Field{"n": value.Of(value.Integer)}
	for name, c := range map[string]struct {
		when  string
		match *document.Match
		args  map[string]value.Field
		want  string // bound, skipped, or part of a mistake
	}{
		"has it":          {"args.n > 5", &document.Match{Tools: []string{"t"}}, with, "bound"},
		"named, lacks it": {"args.n > 5", &document.Match{Tools: []string{"t"}}, nil, "which tool t does not have"},
		"pattern lacks":   {"args.n > 5", &document.Match{Tools: []string{"t*"}}, nil, "skipped"},
		"all lacks":       {"args.n > 5", nil, nil, "skipped"},
		"guarded":         {"has(args.n) and args.n > 5", nil, nil, "bound"},
		"fallback":        {"(args.n ?? 9) > 5", nil, nil, "bound"},
		"half guarded":    {"(has(args.n) and args.n > 5) or args.n == 1", nil, nil, "skipped"},
		"other tool":      {"args.n > 5", &document.Match{Tools: []string{"u"}}, with, "skipped"},
		"no claim":        {"principal.team == 'a'", nil, with, "team"},
		"no root":         {"arg.n > 5", nil, with, "there is no arg"},
		"wrong type":      {"args.n > 5", nil, map[string]value.Field{"n": value.Of(value.String)}, "is a string"},
	} {
		bound, skipped, problems := parse(t, c.when, c.match).Bind(target("t", c.args))
		got := skipped
		switch {
		case bound != nil:
			got = "bound"
		case skipped != "":
			got = "skipped"
		case problems.HasErrors():
			got = problems.Err().Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// What is bound for one tool is used for another only where it means the same.
func TestBoundIsSharedOnlyBetweenLikes(t *testing.T) {
	r := parse(t, "(args.n ?? 1) == 1", nil)
	integer, other := map[string]value.Field{"n": value.Of(value.Integer)}, map[string]value.Field{"n": value.Of(value.Integer), "m": value.Of(value.String)}
	first, _, _ := r.Bind(target("a", integer))
	second, _, _ := r.Bind(target("b", other))
	if first == nil || second == nil || first.Condition != second.Condition {
		t.Error("likes are bound twice")
	}
	none, _, _ := r.Bind(target("c", nil))
	if none == nil || none.Condition == first.Condition {
		t.Fatal("a tool without the field shares what is bound for one with it")
	}
	if _, _, problems := r.Bind(target("d", map[string]value.Field{"n": value.Of(value.Boolean)})); !problems.HasErrors() {
		t.Error("a boolean was bound as an integer")
	}
	for n, want := range map[any]bool{int64(1): true, int64(2): false} {
		environment := condition.Environment{Args: map[string]any{"n": n}}
		if got, err := first.Condition.Evaluate(&environment); err != nil || got != want {
			t.Errorf("%v: %t, %v", n, got, err)
		}
	}
	// A name that holds the signs of a signature is one field, not two.
	odd := value.Type{Kind: value.Object, Fields: map[string]value.Field{"a:i;b": value.Of(value.Integer)}}
	two := value.Type{Kind: value.Object, Fields: map[string]value.Field{"a": value.Of(value.Integer), "b": value.Of(value.Integer)}}
	if odd.Signature() == two.Signature() {
		t.Error("two types have one signature")
	}
}
