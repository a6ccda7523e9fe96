package match_test

import (
	"testing"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/match"
)

func TestCovers(t *testing.T) {
	target := match.Target{Name: "git_push", Group: "git", Labels: map[string]string{"tier": "1"}, Scope: []string{"repo"}}
	for name, c := range map[string]struct {
		match *document.Match
		want  match.Coverage
	}{
		"nothing":        {nil, match.ByPattern},
		"exact":          {&document.Match{Tools: []string{"git_push"}}, match.ByName},
		"exact wins":     {&document.Match{Tools: []string{"git_*", "git_push"}}, match.ByName},
		"prefix":         {&document.Match{Tools: []string{"git_*"}}, match.ByPattern},
		"other":          {&document.Match{Tools: []string{"git_pus"}}, match.Outside},
		"group":          {&document.Match{Groups: []string{"git"}}, match.ByPattern},
		"group and tool": {&document.Match{Groups: []string{"files"}, Tools: []string{"git_push"}}, match.Outside},
		"label":          {&document.Match{Labels: map[string][]string{"tier": {"0", "1"}}}, match.ByPattern},
		"scope":          {&document.Match{Scope: map[string][]string{"repo": {"x"}}}, match.ByPattern},
		"scope missing":  {&document.Match{Tools: []string{"git_push"}, Scope: map[string][]string{"env": {"*"}}}, match.Outside},
		"label missing":  {&document.Match{Labels: map[string][]string{"team": {"*"}}}, match.Outside},
	} {
		if got := match.Compile(c.match).Covers(target); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

func TestMatches(t *testing.T) {
	subject := match.Subject{
		Principal: call.Principal{Name: "ci-bot", Roles: []string{"agent"}},
		Entry:     call.EntryMCP,
		Scope:     map[string]any{"env": "prod", "port": int64(5432)},
		Risk:      call.Mutating,
	}
	for name, c := range map[string]struct {
		match *document.Match
		want  bool
	}{
		"nothing":          {nil, true},
		"principal":        {&document.Match{Principals: []string{"ci-*"}}, true},
		"other principal":  {&document.Match{Principals: []string{"ci"}}, false},
		"role":             {&document.Match{Roles: []string{"sre", "agent"}}, true},
		"no role":          {&document.Match{Roles: []string{"sre"}}, false},
		"entry":            {&document.Match{Entries: []string{"cli", "mcp"}}, true},
		"other entry":      {&document.Match{Entries: []string{"cli"}}, false},
		"scope":            {&document.Match{Scope: map[string][]string{"env": {"prod"}, "port": {"5432"}}}, true},
		"absent scope":     {&document.Match{Scope: map[string][]string{"region": {"*"}}}, false},
		"risk reached":     {&document.Match{MinRisk: "mutating"}, true},
		"risk not reached": {&document.Match{MinRisk: "dangerous"}, false},
	} {
		if got := match.Compile(c.match).Matches(subject); got != c.want {
			t.Errorf("%s: got %t, want %t", name, got, c.want)
		}
	}
}

// What restricts also matches a scope that nobody can tell; what loosens never
// does.
func TestUnknownScope(t *testing.T) {
	prod := match.Compile(&document.Match{Scope: map[string][]string{"env": {"prod"}}})
	for name, c := range map[string]struct {
		scope             map[string]any
		matches, mayMatch bool
	}{
		"that value":    {map[string]any{"env": "prod"}, true, true},
		"another value": {map[string]any{"env": "dev"}, false, false},
		"left out":      {map[string]any{}, false, true},
		"null":          {map[string]any{"env": nil}, false, true},
		"a list":        {map[string]any{"env": []any{"prod"}}, false, true},
	} {
		subject := match.Subject{Scope: c.scope}
		if got := prod.Matches(subject); got != c.matches {
			t.Errorf("%s: matches %t, want %t", name, got, c.matches)
		}
		if got := prod.MayMatch(subject); got != c.mayMatch {
			t.Errorf("%s: may match %t, want %t", name, got, c.mayMatch)
		}
	}
}
