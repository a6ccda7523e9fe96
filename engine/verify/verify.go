// Package verify answers one question: do the users' tests still hold?
//
// Each case of a Test document is a call that is prepared, assessed and
// decided under the generation at hand, and never executed: it needs neither
// the program nor the network, and touches no file but to resolve paths that
// exist. What the case does not mention is not asserted.
package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/catalog"
	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/pipeline"
	"github.com/writ-dev/writ/engine/root"
	"github.com/writ-dev/writ/engine/tool"
	"github.com/writ-dev/writ/engine/value"
)

// Report is what came of all tests.
type Report struct {
	Cases []Case `json:"cases"`
	// Unfired lists the risk and deny rules that no case fired, by id.
	Unfired []Rule `json:"unfired"`
}

// Case is one case. It passed when there are no differences.
type Case struct {
	Test        string        `json:"test"`
	Name        string        `json:"name"`
	At          diag.Position `json:"at"`
	Differences []string      `json:"differences,omitempty"`
}

// Rule is a rule by its place.
type Rule struct {
	ID string        `json:"id"`
	At diag.Position `json:"at"`
}

// Failed counts the cases that did not pass.
func (r Report) Failed() int {
	n := 0
	for _, c := range r.Cases {
		if len(c.Differences) > 0 {
			n++
		}
	}
	return n
}

// Run runs every case of the generation's tests.
func Run(ctx context.Context, live *catalog.Catalog) Report {
	r := runner{live: live, fired: map[string]bool{}}
	report := Report{Cases: []Case{}, Unfired: []Rule{}}
	for _, test := range live.Tests {
		for i, c := range test.Cases {
			report.Cases = append(report.Cases, Case{
				Test: test.Name, Name: c.Name, At: test.Source.At("cases", i),
				Differences: r.run(ctx, test.Given, c),
			})
		}
	}
	for _, rule := range live.Rules {
		if !r.fired[rule.ID] {
			report.Unfired = append(report.Unfired, Rule{rule.ID, rule.At})
		}
	}
	for _, p := range live.Policies {
		for _, rule := range p.Rules {
			if !r.fired[rule.ID] {
				report.Unfired = append(report.Unfired, Rule{rule.ID, rule.At})
			}
		}
	}
	return report
}

type runner struct {
	live  *catalog.Catalog
	fired map[string]bool
}

func (r *runner) run(ctx context.Context, given document.TestGiven, c document.TestCase) []string {
	request := call.Request{
		ID: "test", Tool: given.Tool, Arguments: c.Args, Entry: call.EntryMCP,
		Principal: call.Principal{Name: "test"},
	}
	if given.Entry != "" {
		request.Entry = call.Entry(given.Entry)
	}
	request.Local = request.Entry == call.EntryCLI
	if p := given.Principal; p != nil {
		request.Principal = call.Principal{Name: p.Name, Roles: p.Roles, Claims: claims(p.Claims)}
	}
	explained := pipeline.Explain(ctx, r.live, request, pipeline.ExplainOptions{Roots: r.roots(given.Tool)})
	got := outcomeOf(explained)
	for _, id := range got.rules {
		r.fired[id] = true
	}
	r.fired[got.settledBy] = true
	c.Expect.Argv = r.withRoots(c.Expect.Argv)
	differences := compare(c.Expect, got)
	if c.Expect.Output != nil {
		differences = append(differences, r.output(given, c)...)
	}
	return differences
}

// roots resolves paths on the disk where the tool's roots are there, and by
// their text alone where they are not.
func (r *runner) roots(name string) tool.Resolver {
	if t := r.live.Tool(name); t != nil {
		for _, name := range t.Roots() {
			if ok, _ := r.live.Roots.Available(name); !ok {
				return root.Lexical{Set: r.live.Roots}
			}
		}
	}
	return r.live.Roots
}

// withRoots replaces ${roots.NAME} in an expected argv by the root's folder,
// so that a test holds on every machine.
func (r *runner) withRoots(argv []string) []string {
	if argv == nil {
		return nil
	}
	expanded := make([]string, len(argv))
	for i, item := range argv {
		for _, name := range r.live.Roots.Names() {
			path, _ := r.live.Roots.Path(name)
			item = strings.ReplaceAll(item, "${roots."+name+"}", path)
		}
		expanded[i] = item
	}
	return expanded
}

// claims turns the numbers of a test principal into canonical values.
func claims(written map[string]any) map[string]any {
	canonical := make(map[string]any, len(written))
	for name, claim := range written {
		if number, ok := claim.(json.Number); ok {
			if n, err := number.Int64(); err == nil {
				claim = n
			}
		}
		canonical[name] = claim
	}
	return canonical
}

// got is the outcome of a case in the words of its expectation.
type got struct {
	decision, risk, confirm, settledBy, reason string

	rules, argv []string
}

func outcomeOf(e pipeline.Explanation) got {
	if e.Rejected != nil {
		return got{decision: "rejected", reason: e.Rejected.Reason}
	}
	g := got{
		decision: e.Decision.Effect, risk: e.Assessment.Risk,
		confirm: e.Decision.Confirmation, settledBy: e.Decision.SettledBy, reason: e.Decision.Message,
	}
	for _, rule := range e.Assessment.Rules {
		g.rules = append(g.rules, rule.ID)
	}
	items, _ := e.Bound()["argv"].([]any)
	for _, item := range items {
		text, _ := value.Text(item)
		g.argv = append(g.argv, text)
	}
	return g
}

func compare(want document.TestExpect, g got) []string {
	var differences []string
	differ := func(what, want, got string) {
		if want != "" && want != got {
			differences = append(differences, fmt.Sprintf("%s: want %s, got %s", what, want, got))
		}
	}
	differ("decision", want.Decision, g.decision)
	if len(differences) > 0 && g.reason != "" {
		differences[0] += " (" + g.reason + ")"
	}
	differ("risk", want.Risk, g.risk)
	differ("confirm", want.Confirm, g.confirm)
	differ("settled_by", want.SettledBy, g.settledBy)
	if want.Rules != nil {
		differ("rules", list(slices.Sorted(slices.Values(want.Rules))), list(slices.Sorted(slices.Values(g.rules))))
	}
	if want.Argv != nil {
		differ("argv", list(want.Argv), list(g.argv))
	}
	return differences
}

func list(items []string) string {
	text, _ := json.Marshal(append([]string{}, items...))
	return strings.ReplaceAll(string(text), `","`, `", "`)
}

// output shapes the raw result that the case gives and compares what a caller
// would see.
func (r *runner) output(given document.TestGiven, c document.TestCase) []string {
	t := r.live.Tool(given.Tool)
	if t == nil {
		return nil
	}
	raw := c.Result
	if raw == "" {
		raw = given.Result
	}
	result := t.Output.Apply(call.Outcome{
		Status: call.Complete, Body: call.Capture{Head: []byte(raw), Total: int64(len(raw))},
	}, nil)
	var want any
	if err := json.Unmarshal(c.Expect.Output, &want); err != nil {
		return []string{fmt.Sprintf("output: read what is expected: %v", err)}
	}
	if text, ok := want.(string); ok {
		if text != result.Output {
			return []string{fmt.Sprintf("output: want %q, got %q", text, result.Output)}
		}
		return nil
	}
	var got any
	text := value.JSON(result.Structured)
	if err := json.Unmarshal(text, &got); err != nil || !slices.Equal(mustJSON(want), mustJSON(got)) {
		return []string{fmt.Sprintf("output: want %s, got %s", c.Expect.Output, text)}
	}
	return nil
}

func mustJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return text
}
