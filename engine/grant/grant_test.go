package grant_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/condition"
	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/grant"
	"github.com/writ-dev/writ/engine/match"
	"github.com/writ-dev/writ/engine/policy"
	"github.com/writ-dev/writ/engine/rule"
	"github.com/writ-dev/writ/engine/value"
)

const expires = "2027-01-01T00:00:00Z"

func target() grant.Target {
	list := value.Type{Kind: value.List, Item: &value.Type{Kind: value.String}}
	environment := value.Struct(map[string]value.Field{
		"args": {Type: value.Struct(map[string]value.Field{
			"n": value.Of(value.Integer), "list": {Type: list}, "s": value.Of(value.String),
			"opt": {Type: value.Type{Kind: value.Integer}, Optional: true},
		})},
		"facts": {Type: value.Struct(map[string]value.Field{"writes": value.Of(value.Boolean)})},
		"scope": {Type: value.Struct(map[string]value.Field{"env": value.Of(value.String)})},
		"entry": value.Of(value.String),
	})
	return grant.Target{Target: rule.Target{
		Target: match.Target{Name: "restart", Scope: []string{"env"}}, Environment: environment,
	}}
}

func newDocument(change func(*document.Grant)) *document.Grant {
	doc := &document.Grant{
		Header:    document.Header{Kind: "Grant", Name: "g"},
		Match:     &document.Match{Tools: []string{"restart"}, Scope: map[string][]string{"env": {"dev", "staging"}}},
		ExpiresAt: expires, Reason: "r",
	}
	if change != nil {
		change(doc)
	}
	return doc
}

func bind(doc *document.Grant, t grant.Target) (*grant.Bound, diag.List) {
	g, problems := grant.Compile(doc)
	if problems.HasErrors() {
		return nil, problems
	}
	bound, _, found := g.Bind(t, doc)
	return bound, append(problems, found...)
}

func newCall() grant.Call {
	now, _ := time.Parse(time.RFC3339, "2026-12-31T23:59:59Z")
	return grant.Call{
		Subject: match.Subject{
			Principal: call.Principal{Name: "ci-bot", Roles: []string{"ci"}}, Entry: call.EntryMCP,
			Scope: map[string]any{"env": "dev"}, Risk: call.Mutating,
		},
		Decision: policy.Decision{Effect: policy.RequireApproval, Confirmation: policy.Confirm, Grants: true},
		Environment: &condition.Environment{
			Args:  map[string]any{"n": int64(3), "list": []any{}, "s": "x"},
			Facts: map[string]any{"writes": false}, Scope: map[string]any{"env": "dev"}, Entry: "mcp",
		},
		Now: now,
	}
}

// TestCovers changes one thing at a time of a call that is covered.
func TestCovers(t *testing.T) {
	for name, c := range map[string]struct {
		document func(*document.Grant)
		call     func(*grant.Call)
		want     string // part of the reason, or "" when it is covered
	}{
		"covered":       {},
		"denied":        {call: func(c *grant.Call) { c.Decision = policy.Decision{} }, want: "only stands in for a person"},
		"permitted":     {call: func(c *grant.Call) { c.Decision.Effect = policy.Permit }, want: "only stands in for a person"},
		"critical":      {call: func(c *grant.Call) { c.Subject.Risk = call.Critical }, want: "critical"},
		"phrase":        {call: func(c *grant.Call) { c.Decision.Confirmation = policy.Phrase }, want: "phrase"},
		"grants: false": {call: func(c *grant.Call) { c.Decision.Grants = false }, want: "no grant stand in"},
		"two of three":  {call: func(c *grant.Call) { c.Decision.Approvers = []policy.Approvers{{Count: 2}} }, want: "more than one"},
		"two sets": {call: func(c *grant.Call) {
			c.Decision.Approvers = []policy.Approvers{{Roles: []string{"a"}}, {Roles: []string{"b"}}}
		}, want: "more than one"},
		"one set twice": {call: func(c *grant.Call) {
			c.Decision.Approvers = []policy.Approvers{{Roles: []string{"a"}}, {Roles: []string{"a"}}}
		}},
		"expired now":           {call: func(c *grant.Call) { c.Now = c.Now.Add(time.Second) }, want: "expired at " + expires},
		"expired later":         {call: func(c *grant.Call) { c.Now = c.Now.Add(time.Hour) }, want: "expired"},
		"too risky":             {document: func(d *document.Grant) { d.MaxRisk = "read_only" }, want: "covers read_only at most"},
		"dangerous":             {call: func(c *grant.Call) { c.Subject.Risk = call.Dangerous }, want: "--allow-dangerous-grants"},
		"dangerous, not asked":  {call: func(c *grant.Call) { c.Subject.Risk = call.Dangerous; c.Dangerous = true }, want: "covers mutating at most"},
		"dangerous, both keys":  {document: func(d *document.Grant) { d.MaxRisk = "dangerous" }, call: func(c *grant.Call) { c.Subject.Risk = call.Dangerous; c.Dangerous = true }},
		"dangerous, one key":    {document: func(d *document.Grant) { d.MaxRisk = "dangerous" }, call: func(c *grant.Call) { c.Subject.Risk = call.Dangerous }, want: "allow_dangerous_grants"},
		"other scope":           {call: func(c *grant.Call) { c.Subject.Scope = map[string]any{"env": "prod"} }, want: "leaves out"},
		"scope left out":        {call: func(c *grant.Call) { c.Subject.Scope = map[string]any{} }, want: "leaves out"},
		"scope not named":       {call: func(c *grant.Call) { c.Subject.Scope = map[string]any{"env": "dev", "namespace": "x"} }, want: "scope namespace"},
		"principal":             {document: func(d *document.Grant) { d.Match.Principals = []string{"ci-*"} }},
		"other principal":       {document: func(d *document.Grant) { d.Match.Principals = []string{"eve"} }, want: "leaves out"},
		"other role":            {document: func(d *document.Grant) { d.Match.Roles = []string{"admin"} }, want: "leaves out"},
		"other entry":           {document: func(d *document.Grant) { d.Match.Entries = []string{"cli"} }, want: "leaves out"},
		"condition":             {document: func(d *document.Grant) { d.When = "args.n < 5" }},
		"condition on facts":    {document: func(d *document.Grant) { d.When = "not facts.writes" }},
		"condition fails":       {document: func(d *document.Grant) { d.When = "args.n > 5" }, want: "does not hold"},
		"condition without end": {document: func(d *document.Grant) { d.When = "args.n / (args.n - 3) > 0" }, want: "cannot be evaluated"},
		"fact is missing":       {document: func(d *document.Grant) { d.When = "not facts.writes" }, call: func(c *grant.Call) { c.Environment.Facts = map[string]any{} }, want: "cannot be evaluated"},
	} {
		bound, problems := bind(newDocument(c.document), target())
		if bound == nil {
			t.Errorf("%s: %v", name, problems)
			continue
		}
		in := newCall()
		if c.call != nil {
			c.call(&in)
		}
		if got := bound.Covers(in); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// TestMistakes is what a grant may not say of a tool.
func TestMistakes(t *testing.T) {
	perCall := target()
	perCall.PerCall = true
	for name, c := range map[string]struct {
		document func(*document.Grant)
		target   grant.Target
		want     string // the code, or "" when it fits
	}{
		"fits":                 {target: target()},
		"by pattern":           {func(d *document.Grant) { d.Match.Tools = []string{"re*"} }, target(), ""},
		"scope is missing":     {func(d *document.Grant) { d.Match.Scope = nil }, target(), "missing-scope"},
		"no day":               {func(d *document.Grant) { d.ExpiresAt = "soon" }, target(), "wrong-value"},
		"critical":             {func(d *document.Grant) { d.MaxRisk = "critical" }, target(), "unknown-risk"},
		"no tools":             {func(d *document.Grant) { d.Match.Tools = nil }, target(), "missing-key"},
		"no match":             {func(d *document.Grant) { d.Match = nil }, target(), "missing-key"},
		"unanchored":           {func(d *document.Grant) { d.When = "args.s matches 'x'" }, target(), "unanchored-pattern"},
		"anchored":             {func(d *document.Grant) { d.When = "args.s matches '^x$'" }, target(), ""},
		"empty list":           {func(d *document.Grant) { d.When = "all(args.list, # == 'x')" }, target(), "maybe-empty"},
		"unknown field":        {func(d *document.Grant) { d.When = "args.nope == 1" }, target(), "unknown-field"},
		"unguarded":            {func(d *document.Grant) { d.When = "args.opt == 1" }, target(), "optional-field"},
		"syntax":               {func(d *document.Grant) { d.When = "args.n <" }, target(), "expression-syntax"},
		"per call":             {nil, perCall, "per-call"},
		"per call, arguments":  {func(d *document.Grant) { d.When = "args.n < 5" }, perCall, "per-call"},
		"per call, with facts": {func(d *document.Grant) { d.When = "not facts.writes" }, perCall, ""},
	} {
		bound, problems := bind(newDocument(c.document), c.target)
		var codes []string
		for _, d := range problems {
			codes = append(codes, d.Code)
		}
		if got := strings.Join(codes, " "); got != c.want || (bound == nil) != (c.want != "") {
			t.Errorf("%s: got %q (%v), want %q", name, got, problems, c.want)
		}
	}
}

// TestPatternsSkip leaves tools out that lack what the condition reads.
func TestPatternsSkip(t *testing.T) {
	doc := newDocument(func(d *document.Grant) { d.Match.Tools, d.When = []string{"*"}, "args.n < 5" })
	g, problems := grant.Compile(doc)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	other := target()
	other.Environment = value.Struct(map[string]value.Field{"args": {Type: value.Struct(nil)}})
	if bound, skipped, found := g.Bind(other, doc); bound != nil || skipped == "" || found.HasErrors() {
		t.Errorf("bound %v, skipped %q, %v", bound, skipped, found)
	}
	other.Name, other.Scope = "elsewhere", nil
	if bound, _, _ := g.Bind(other, doc); bound != nil {
		t.Error("a tool without the scope is covered")
	}
}

// TestNeverLoosensTooMuch asks at random: whatever a grant says, it covers no
// call that is denied, needs a phrase, is critical, or has several approvers,
// and a stricter call is never covered where the laxer one is not.
func TestNeverLoosensTooMuch(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	covered := 0
	for range 20_000 {
		bound, _ := bind(newDocument(func(d *document.Grant) {
			d.MaxRisk = []string{"", "read_only", "mutating", "dangerous"}[random.IntN(4)]
			d.When = []string{"", "args.n < 5", "args.n > 5"}[random.IntN(3)]
		}), target())
		c := newCall()
		c.Subject.Risk = call.Level(random.IntN(4))
		c.Dangerous = random.IntN(2) == 0
		c.Decision = policy.Decision{
			Effect: policy.Effect(random.IntN(3)), Confirmation: policy.Confirmation(random.IntN(3)), Grants: random.IntN(4) > 0,
			Approvers: make([]policy.Approvers, random.IntN(3)),
		}
		for i := range c.Decision.Approvers {
			c.Decision.Approvers[i].Count = random.IntN(3)
		}
		before := c.Subject.Risk
		if bound.Covers(c) != "" {
			if c.Subject.Risk < call.Critical {
				c.Subject.Risk++
				if bound.Covers(c) == "" {
					t.Fatalf("a riskier call is covered where a laxer one is not: %+v", c)
				}
			}
			continue
		}
		covered++
		d := c.Decision
		several := false
		for _, set := range d.Approvers {
			several = several || set.Count > 1
		}
		if d.Effect != policy.RequireApproval || d.Confirmation == policy.Phrase || !d.Grants || several ||
			before >= call.Critical || before > bound.MaxRisk || c.Subject.Risk != before {
			t.Fatalf("covered: %+v", c)
		}
	}
	if covered < 100 {
		t.Errorf("only %d calls were covered", covered)
	}
}
