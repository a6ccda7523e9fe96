package catalog_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/catalog"
	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/executor"
	"github.com/writ-dev/writ/engine/executor/command"
	"github.com/writ-dev/writ/engine/match"
	"github.com/writ-dev/writ/engine/policy"
	"github.com/writ-dev/writ/engine/risk"
	"github.com/writ-dev/writ/engine/root"
	"github.com/writ-dev/writ/engine/secret"
)

func newCompiler(tb testing.TB) (*catalog.Compiler, catalog.Inputs) {
	tb.Helper()
	roots, err := root.Open(nil, tb.TempDir(), nil)
	if err != nil {
		tb.Fatal(err)
	}
	return catalog.NewCompiler(catalog.Options{
		Kinds: executor.Kinds{"command": command.New(command.Options{})},
		Secrets: func(docs []*document.Secret) (executor.Secrets, diag.List) {
			return secret.New(docs, secret.Options{Env: func(string) (string, bool) { return "", false }})
		},
		Now: time.Now,
	}), catalog.Inputs{Roots: roots}
}

func newTool(name, group string) *document.Tool {
	return &document.Tool{
		Header: document.Header{Kind: "Tool", Name: name}, Description: "A tool.", Risk: "read_only", Group: group,
		Args: document.Arguments{
			{Name: "path", Schema: []byte(`{"type":"string","default":"/"}`)},
			{Name: "limit", Schema: []byte(`{"type":"integer","minimum":0,"maximum":1000,"default":1}`)},
			{Name: "mode", Schema: []byte(`{"type":"string","enum":["a","b"],"default":"a"}`)},
			{Name: "note", Optional: true, Schema: []byte(`{"type":"string","maxLength":100,"optional":true}`)},
		},
		Scope:   map[string]string{"mode": "${args.mode}"},
		Command: &document.Command{Argv: []string{"true"}},
	}
}

func rules(name string, m *document.Match, list ...document.RiskRule) *document.RiskRules {
	return &document.RiskRules{Header: document.Header{Kind: "RiskRules", Name: name}, Match: m, Rules: list}
}

func deny(name string, m *document.Match, list ...document.DenyRule) *document.ApprovalPolicy {
	return &document.ApprovalPolicy{Header: document.Header{Kind: "ApprovalPolicy", Name: name}, Match: m, Deny: list}
}

func newGrant(name string, change func(*document.Grant)) *document.Grant {
	d := &document.Grant{
		Header: document.Header{Kind: "Grant", Name: name}, ExpiresAt: "2999-01-01T00:00:00Z", Reason: "r",
		Match: &document.Match{Tools: []string{"git_log"}, Scope: map[string][]string{"mode": {"a"}}},
	}
	if change != nil {
		change(d)
	}
	return d
}

// TestGrantsWarn is what a grant is told that loads.
func TestGrantsWarn(t *testing.T) {
	for want, change := range map[string]func(*document.Grant){
		"expired-grant":   func(d *document.Grant) { d.ExpiresAt = "2020-01-01T00:00:00Z" },
		"dangerous-grant": func(d *document.Grant) { d.MaxRisk = "dangerous" },
		"":                nil,
	} {
		compiler, inputs := newCompiler(t)
		inputs.DangerousGrants = true
		set := &document.Set{Tools: []*document.Tool{newTool("git_log", "git")}, Grants: []*document.Grant{newGrant("g", change)}}
		generation, problems := compiler.Compile(set, inputs)
		if generation == nil || len(generation.Tool("git_log").Grants) != 1 || !generation.DangerousGrants {
			t.Fatalf("%s: does not load: %v", want, problems)
		}
		got := ""
		for _, problem := range problems {
			got += problem.Code
		}
		if got != want {
			t.Errorf("got %v, want %q", problems, want)
		}
	}
}

// TestMistakes is every mistake that needs more than one document to be seen.
func TestMistakes(t *testing.T) {
	tools := []*document.Tool{newTool("git_log", "git"), newTool("git_push", "git"), newTool("ls", "")}
	exact := &document.Match{Tools: []string{"git_log"}}
	scopeless := newTool("scopeless", "git")
	scopeless.Scope = nil
	hosted := newTool("hosted", "")
	hosted.Args = document.Arguments{{Name: "host", Schema: []byte(`{"type":"string","format":"hostname"}`)}}
	hosted.Scope = map[string]string{"host": "${args.host}"}
	for name, c := range map[string]struct {
		set  document.Set
		want string // part of a diagnostic, or "" for none
	}{
		"nothing wrong":        {document.Set{RiskRules: []*document.RiskRules{rules("r", exact, document.RiskRule{ID: "a", When: "args.limit > 5", Risk: "mutating"})}}, ""},
		"unknown tool":         {document.Set{RiskRules: []*document.RiskRules{rules("r", &document.Match{Tools: []string{"git_lgo"}})}}, `did you mean "git_log"?`},
		"pattern of nothing":   {document.Set{RiskRules: []*document.RiskRules{rules("r", &document.Match{Tools: []string{"svn_*"}})}}, "no tool begins with"},
		"pattern may be empty": {document.Set{RiskRules: []*document.RiskRules{rules("r", &document.Match{Tools: []string{"svn_*"}, AllowNone: true})}}, ""},
		"unknown group":        {document.Set{Policies: []*document.ApprovalPolicy{deny("p", &document.Match{Groups: []string{"gti"}})}}, `did you mean "git"?`},
		"unknown scope":        {document.Set{Policies: []*document.ApprovalPolicy{deny("p", &document.Match{Scope: map[string][]string{"mod": {"a"}}})}}, "no tool has a scope"},
		"scope of another":     {document.Set{Tools: []*document.Tool{scopeless}, Policies: []*document.ApprovalPolicy{deny("p", &document.Match{Tools: []string{"scopeless"}, Scope: map[string][]string{"mode": {"a"}}})}}, `has no scope "mode"`},
		"scope never":          {document.Set{Policies: []*document.ApprovalPolicy{deny("p", &document.Match{Scope: map[string][]string{"mode": {"c"}}})}}, `the scope mode is never "c"`},
		"scope pattern":        {document.Set{Policies: []*document.ApprovalPolicy{deny("p", &document.Match{Scope: map[string][]string{"mode": {"a*"}}})}}, ""},
		"scope case":           {document.Set{Tools: []*document.Tool{hosted}, Policies: []*document.ApprovalPolicy{deny("p", &document.Match{Tools: []string{"hosted"}, Scope: map[string][]string{"host": {"Db.example.com"}}})}}, `did you mean "db.example.com"?`},
		"literal case":         {document.Set{Tools: []*document.Tool{hosted}, Policies: []*document.ApprovalPolicy{deny("p", &document.Match{Tools: []string{"hosted"}}, document.DenyRule{ID: "d", When: "args.host == 'Db.example.com'"})}}, `lower case`},
		"literal suffix":       {document.Set{Tools: []*document.Tool{hosted}, Policies: []*document.ApprovalPolicy{deny("p", &document.Match{Tools: []string{"hosted"}}, document.DenyRule{ID: "d", When: "args.host endsWith '.Example.com'"})}}, `lower case`},
		"keys exclude":         {document.Set{Policies: []*document.ApprovalPolicy{deny("p", &document.Match{Tools: []string{"ls"}, Groups: []string{"git"}})}}, "no tool is selected by all keys"},
		"unknown label":        {document.Set{Policies: []*document.ApprovalPolicy{deny("p", &document.Match{Labels: map[string][]string{"teir": {"1"}}})}}, "no tool is selected by all keys"},
		"keys may exclude":     {document.Set{Policies: []*document.ApprovalPolicy{deny("p", &document.Match{Tools: []string{"ls"}, Groups: []string{"git"}, AllowNone: true})}}, ""},
		"unknown field":        {document.Set{RiskRules: []*document.RiskRules{rules("r", exact, document.RiskRule{ID: "a", When: "args.limt > 5", Risk: "mutating"})}}, `did you mean "limit"?`},
		"wrong type":           {document.Set{RiskRules: []*document.RiskRules{rules("r", exact, document.RiskRule{ID: "a", When: "args.limit == 'x'", Risk: "mutating"})}}, "is an integer"},
		"optional unguarded":   {document.Set{RiskRules: []*document.RiskRules{rules("r", exact, document.RiskRule{ID: "a", When: "args.note == 'x'", Risk: "mutating"})}}, "has("},
		"enum never":           {document.Set{RiskRules: []*document.RiskRules{rules("r", exact, document.RiskRule{ID: "a", When: "args.mode == 'c'", Risk: "mutating"})}}, "mode"},
		"deny for nothing":     {document.Set{Policies: []*document.ApprovalPolicy{deny("p", nil, document.DenyRule{ID: "d", When: "scope.nope == 'x'"})}}, "applies to no tool"},
		"fires is silent":      {document.Set{RiskRules: []*document.RiskRules{rules("r", exact, document.RiskRule{ID: "a", When: "args.limit > 5", Risk: "mutating", Fires: raw(`{"limit": 5}`)})}}, "does not fire"},
		"silent fires":         {document.Set{RiskRules: []*document.RiskRules{rules("r", exact, document.RiskRule{ID: "a", When: "args.limit > 5", Risk: "mutating", Silent: raw(`{"limit": 6}`)})}}, "fires on this example"},
		"example of no tool":   {document.Set{RiskRules: []*document.RiskRules{rules("r", exact, document.RiskRule{ID: "a", When: "args.limit > 5", Risk: "mutating", Fires: raw(`{"nope": 6}`)})}}, "fits no tool"},
		"test of no tool":      {document.Set{Tests: []*document.Test{{Given: document.TestGiven{Tool: "git_lg"}}}}, "there is no tool"},
		"secret for no tool":   {document.Set{Secrets: []*document.Secret{{Header: document.Header{Name: "s"}, Env: "X", For: document.SecretFor{Tools: []string{"nope"}}}}}, "there is no tool"},
		"grant fits":           {document.Set{Grants: []*document.Grant{newGrant("g", nil)}}, ""},
		"grant of no tool":     {document.Set{Grants: []*document.Grant{newGrant("g", func(d *document.Grant) { d.Match.Tools[0] = "git_lgo" })}}, `did you mean "git_log"?`},
		"grant of no pattern":  {document.Set{Grants: []*document.Grant{newGrant("g", func(d *document.Grant) { d.Match.Tools[0] = "svn_*" })}}, "no tool begins with"},
		"grant lacks a scope":  {document.Set{Grants: []*document.Grant{newGrant("g", func(d *document.Grant) { d.Match.Scope = nil })}}, "has the scope mode"},
		"pattern lacks one":    {document.Set{Tools: []*document.Tool{scopeless}, Grants: []*document.Grant{newGrant("g", func(d *document.Grant) { d.Match.Tools, d.Match.Scope = []string{"*"}, nil })}}, "has the scope mode"},
		"grant covers nothing": {document.Set{Tools: []*document.Tool{scopeless}, Grants: []*document.Grant{newGrant("g", func(d *document.Grant) {
			d.Match, d.When = &document.Match{Tools: []string{"scope*"}}, "args.nope == 1"
		})}}, "covers no tool"},
		"dangerous grant":  {document.Set{Grants: []*document.Grant{newGrant("g", func(d *document.Grant) { d.MaxRisk = "dangerous" })}}, "allow_dangerous_grants"},
		"unanchored grant": {document.Set{Grants: []*document.Grant{newGrant("g", func(d *document.Grant) { d.When = "args.path matches 'x'" })}}, "inside a longer text"},
		"reserved name":    {document.Set{Tools: []*document.Tool{newTool("writ_x", "")}}, "Writ's own"},
	} {
		compiler, inputs := newCompiler(t)
		c.set.Tools = append(slices.Clone(tools), c.set.Tools...)
		got, problems := compiler.Compile(&c.set, inputs)
		text := ""
		for _, problem := range problems {
			if problem.Severity == diag.Error {
				text += problem.String() + "\n"
			}
		}
		if c.want == "" && got == nil || c.want != "" && (got != nil || !strings.Contains(text, c.want)) {
			t.Errorf("%s: want %q in:\n%s", name, c.want, text)
		}
	}
}

// A mistake in one tool does not hide the mistakes in rules.
func TestAllMistakesAtOnce(t *testing.T) {
	compiler, inputs := newCompiler(t)
	broken := newTool("broken", "")
	broken.Risk = "lax"
	set := &document.Set{
		Tools: []*document.Tool{broken, newTool("fine", "")},
		RiskRules: []*document.RiskRules{
			rules("r", &document.Match{Tools: []string{"fine"}}, document.RiskRule{ID: "a", When: "args.limt > 5", Risk: "mutating"}),
			rules("s", &document.Match{Tools: []string{"broken"}}, document.RiskRule{ID: "b", When: "args.limit > 5", Risk: "mutating"}),
		},
		Policies: []*document.ApprovalPolicy{deny("p", nil, document.DenyRule{ID: "d", When: "args.limit >"})},
	}
	_, problems := compiler.Compile(set, inputs)
	text := ""
	for _, problem := range problems {
		text += problem.String() + "\n"
	}
	if n := problems.Errors(); n != 3 || !strings.Contains(text, "lax") || !strings.Contains(text, "limt") {
		t.Errorf("%d mistakes, want those of the tool, the rule and the policy:\n%s", n, text)
	}
}

func raw(text string) []json.RawMessage { return []json.RawMessage{json.RawMessage(text)} }

// A rule over a pattern applies to the tools that have what it reads, and
// says which it skips when it denies.
func TestPatternRulesSkip(t *testing.T) {
	compiler, inputs := newCompiler(t)
	plain := newTool("plain", "g")
	plain.Args, plain.Scope = nil, nil
	set := &document.Set{
		Tools:     []*document.Tool{newTool("full", "g"), plain},
		RiskRules: []*document.RiskRules{rules("r", nil, document.RiskRule{ID: "guarded", When: "has(args.note) and args.note == 'x'", Risk: "critical"})},
		Policies:  []*document.ApprovalPolicy{deny("p", nil, document.DenyRule{ID: "d", When: "args.limit > 5"})},
	}
	got, problems := compiler.Compile(set, inputs)
	if got == nil {
		t.Fatal(problems.Err())
	}
	if n := len(got.Tool("plain").Policies[0].Deny); n != 0 {
		t.Errorf("the deny rule applies to a tool without the field (%d)", n)
	}
	if len(problems) == 0 || !strings.Contains(problems[0].Message, "does not apply to plain") {
		t.Errorf("the skipped tool is not named: %v", problems)
	}
	if len(got.Tool("plain").Rules) != 1 {
		t.Error("a guarded rule does not apply to a tool without the field")
	}
	if worst := got.Tool("full").Worst; worst != call.Critical || got.Tool("full").Annotations().ReadOnly {
		t.Errorf("worst is %s", worst)
	}
}

func TestUnchangedDocumentsAreNotCompiledAgain(t *testing.T) {
	compiler, inputs := newCompiler(t)
	kept, changed := newTool("kept", ""), newTool("changed", "")
	first, _ := compiler.Compile(&document.Set{Tools: []*document.Tool{kept, changed}}, inputs)
	second, _ := compiler.Compile(&document.Set{Tools: []*document.Tool{kept, newTool("changed", "")}}, inputs)
	if first.Tool("kept").Tool != second.Tool("kept").Tool {
		t.Error("an unchanged document was compiled again")
	}
	if first.Tool("changed").Tool == second.Tool("changed").Tool || second.Generation != first.Generation+1 {
		t.Error("a changed document was not compiled again")
	}
}

func TestSwitches(t *testing.T) {
	compiler, inputs := newCompiler(t)
	off := false
	optional := newTool("optional", "extra")
	optional.Enabled = &off
	set := &document.Set{Tools: []*document.Tool{optional, newTool("git_log", "git"), newTool("ls", "")}}
	for name, c := range map[string]struct {
		groups, overrides map[string]bool
		want              string
	}{
		"as documents say":    {nil, nil, "git_log ls"},
		"group on":            {map[string]bool{"extra": true}, nil, "git_log ls optional"},
		"override beats":      {map[string]bool{"git": true}, map[string]bool{"git_log": false, "optional": true}, "ls optional"},
		"unknown group":       {map[string]bool{"gti": true}, nil, "error"},
		"unknown tool":        {nil, map[string]bool{"git_lg": true}, "error"},
		"ungrouped is always": {nil, map[string]bool{"ls": false}, "error"},
	} {
		inputs.ToolGroups, inputs.ToolOverrides = c.groups, c.overrides
		got, _ := compiler.Compile(set, inputs)
		var names []string
		if got == nil {
			names = []string{"error"}
		} else {
			for _, tool := range got.Tools() {
				if tool.Enabled {
					names = append(names, tool.Name)
				}
			}
		}
		if text := strings.Join(names, " "); text != c.want {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
	}
}

func TestLoosened(t *testing.T) {
	compiler, inputs := newCompiler(t)
	strict := newTool("t", "")
	strict.Risk = "dangerous"
	before, _ := compiler.Compile(&document.Set{Tools: []*document.Tool{strict},
		Policies: []*document.ApprovalPolicy{deny("p", nil, document.DenyRule{ID: "d", When: "args.limit > 5"})}}, inputs)
	after, _ := compiler.Compile(&document.Set{Tools: []*document.Tool{newTool("t", "")}}, inputs)
	want := []string{"deny rule d", "floor dangerous of tool t (now read_only)", "policy p"}
	if got := catalog.Loosened(before, after); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := catalog.Loosened(after, before); len(got) != 0 {
		t.Errorf("tightening is reported: %q", got)
	}
}

// thousand makes a set of tools and rules, of which 10 name each tool's rules
// apply to one tool and 5 to every tool.
func thousand(tools, perTool int) *document.Set {
	set := &document.Set{}
	for i := range tools {
		name := fmt.Sprintf("tool_%d", i)
		set.Tools = append(set.Tools, newTool(name, "g"))
		var list []document.RiskRule
		for j := range perTool {
			list = append(list, document.RiskRule{
				ID: fmt.Sprintf("r%d-%d", i, j), Risk: "mutating", Message: "m",
				When: []string{
					fmt.Sprintf("args.path startsWith '/srv/%d/'", j),
					fmt.Sprintf("args.path matches '^/etc/[a-z]+%d$'", j),
					fmt.Sprintf("args.limit > %d and args.limit < 990", 900+j),
					fmt.Sprintf("args.mode in ['b'] and 'role%d' in principal.roles", j),
				}[j%4],
			})
		}
		set.RiskRules = append(set.RiskRules, rules(name, &document.Match{Tools: []string{name}}, list...))
	}
	var all []document.RiskRule
	for j := range 5 {
		all = append(all, document.RiskRule{ID: fmt.Sprintf("all-%d", j), Risk: "mutating", Message: "m",
			When: fmt.Sprintf("principal.name == 'nobody%d' or entry == 'a2a'", j)})
	}
	set.RiskRules = append(set.RiskRules, rules("all", nil, all...))
	return set
}

// BenchmarkDecision is assessing and deciding one call, with 15 rules that
// apply among 1,000 and among 10,000.
func BenchmarkDecision(b *testing.B) {
	for _, tools := range []int{100, 1000} {
		compiler, inputs := newCompiler(b)
		live, problems := compiler.Compile(thousand(tools, 10), inputs)
		if live == nil {
			b.Fatal(problems.Err())
		}
		t := live.Tool("tool_7")
		arguments, err := t.Arguments.Decode([]byte(`{"path":"/home/ann/file.txt","limit":10,"mode":"a"}`))
		if err != nil {
			b.Fatal(err)
		}
		request := call.Request{Principal: call.Principal{Name: "ann", Roles: []string{"dev", "ops"}}, Entry: call.EntryMCP}
		scope := map[string]any{"mode": "a"}
		environment := t.Values(request, arguments, scope, nil)
		b.Run(fmt.Sprintf("rules=%d", tools*10+5), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				subject := match.Subject{Principal: request.Principal, Entry: request.Entry, Scope: scope}
				assessment := risk.Evaluate(t.Floor, t.Rules, subject, &environment)
				subject.Risk = assessment.Level
				decision := policy.Decide(t.Policies, policy.Input{Subject: subject, Environment: &environment})
				if decision.Effect != policy.Permit {
					b.Fatalf("%+v", assessment)
				}
			}
		})
	}
}

// BenchmarkCompile is building a generation of 1,000 tools and 1,005 rules
// from nothing, and again after one tool changed.
func BenchmarkCompile(b *testing.B) {
	b.Run("cold", func(b *testing.B) {
		set := thousand(1000, 1)
		for b.Loop() {
			compiler, inputs := newCompiler(b)
			if live, problems := compiler.Compile(set, inputs); live == nil {
				b.Fatal(problems.Err())
			}
		}
	})
	b.Run("one changed", func(b *testing.B) {
		set := thousand(1000, 1)
		compiler, inputs := newCompiler(b)
		compiler.Compile(set, inputs)
		for b.Loop() {
			next := *set
			next.Tools = slices.Clone(set.Tools)
			next.Tools[5] = newTool("tool_5", "g")
			if live, problems := compiler.Compile(&next, inputs); live == nil {
				b.Fatal(problems.Err())
			}
		}
	})
}

// BenchmarkDecode is decoding, coercing, filling and validating four fields.
func BenchmarkDecode(b *testing.B) {
	compiler, inputs := newCompiler(b)
	live, _ := compiler.Compile(&document.Set{Tools: []*document.Tool{newTool("t", "")}}, inputs)
	schema := live.Tool("t").Arguments
	b.ReportAllocs()
	for b.Loop() {
		if _, err := schema.Decode([]byte(`{"path":"/home/ann/file.txt","limit":"10","mode":"a","note":"hello"}`)); err != nil {
			b.Fatal(err)
		}
	}
}
