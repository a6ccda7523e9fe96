package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/catalog"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/match"
	"github.com/writ-dev/writ/engine/policy"
	"github.com/writ-dev/writ/engine/risk"
)

// Goals of the decision path. Expr runs the programs of the rules that apply
// in about 3 µs where the goals were set, json.Unmarshal takes about 1.3 µs.
const (
	decisionGoal     = 3 * time.Microsecond
	decodeGoal       = 8 * time.Microsecond
	growthGoal       = 1.5 // of 10,000 rules by 1,000
	decisionExprGoal = 1.0
	decodeJSONGoal   = 6.0
)

// everyTool is how many rules apply to all tools, perTool how many to one.
const (
	everyTool = 5
	perTool   = 10
)

func rules(b *bench) error {
	few, err := b.decision(100)
	if err != nil {
		return err
	}
	many, err := b.decision(1000)
	if err != nil {
		return err
	}
	plain, err := exprRules()
	if err != nil {
		return err
	}
	decode, err := b.decode()
	if err != nil {
		return err
	}
	unmarshal := func() error {
		var into map[string]any
		return json.Unmarshal([]byte(fourFields), &into)
	}
	figures, err := turns(4*b.rounds(), each(few), each(many), each(plain), each(decode), each(unmarshal))
	if err != nil {
		return err
	}
	b.duration(fmt.Sprintf("decide, %d of 1,005 rules can apply", perTool+everyTool), median(figures[0]), decisionGoal)
	b.duration(fmt.Sprintf("decide, %d of 10,005 rules can apply", perTool+everyTool), median(figures[1]), decisionGoal)
	b.note("the same rules as Expr programs", "%s", show(median(figures[2])))
	b.atMost("10,005 rules by 1,005 rules", ratio(figures[1], figures[0]), growthGoal)
	b.atMost("1,005 rules by Expr", ratio(figures[0], figures[2]), decisionExprGoal)
	b.duration("decode, coerce, fill and check four fields", median(figures[3]), decodeGoal)
	b.note("json.Unmarshal of the same bytes", "%s", show(median(figures[4])))
	b.atMost("decoding by json.Unmarshal", ratio(figures[3], figures[4]), decodeJSONGoal)
	return nil
}

const fourFields = `{"path":"/home/ann/file.txt","limit":"10","mode":"plain","note":"hello"}`

// sampleTool is a tool with four arguments.
func sampleTool(name string) *document.Tool {
	return &document.Tool{
		Header: document.Header{Kind: "Tool", Name: name}, Description: "A tool.", Risk: "read_only",
		Args: document.Arguments{
			{Name: "path", Schema: []byte(`{"type":"string","default":"/"}`)},
			{Name: "limit", Schema: []byte(`{"type":"integer","minimum":0,"maximum":1000,"default":1}`)},
			{Name: "mode", Schema: []byte(`{"type":"string","enum":["plain","short"],"default":"plain"}`)},
			{Name: "note", Optional: true, Schema: []byte(`{"type":"string","maxLength":100,"optional":true}`)},
		},
		Scope:   map[string]string{"mode": "${args.mode}"},
		Command: &document.Command{Argv: []string{"true", "${args.path}"}},
	}
}

// everywhere are the rules that apply to all tools.
func everywhere() []string {
	var list []string
	for i := range everyTool {
		list = append(list, fmt.Sprintf("principal.name == 'nobody%d' or entry == 'a2a'", i))
	}
	return list
}

func ruleDocument(name string, m *document.Match, when []string) *document.RiskRules {
	d := &document.RiskRules{Header: document.Header{Kind: "RiskRules", Name: name}, Match: m}
	for i, text := range when {
		d.Rules = append(d.Rules, document.RiskRule{ID: fmt.Sprintf("%s-%d", name, i), When: text, Risk: "mutating", Message: "m"})
	}
	return d
}

// compiled is a catalog of a number of tools with ten rules each.
func (b *bench) compiled(tools int) (*catalog.Catalog, error) {
	compiler, inputs, err := b.compiler()
	if err != nil {
		return nil, err
	}
	set := &document.Set{}
	for i := range tools {
		name := fmt.Sprintf("tool_%d", i)
		set.Tools = append(set.Tools, sampleTool(name))
		set.RiskRules = append(set.RiskRules, ruleDocument(name, &document.Match{Tools: []string{name}}, conditions(perTool)))
	}
	set.RiskRules = append(set.RiskRules, ruleDocument("all", nil, everywhere()))
	live, problems := compiler.Compile(set, inputs)
	if live == nil {
		return nil, fmt.Errorf("compile the sample: %w", problems.Err())
	}
	return live, nil
}

func caller() call.Principal {
	return call.Principal{Name: "ann", Roles: []string{"dev", "ops"}}
}

// decision is assessing and deciding one call.
func (b *bench) decision(tools int) (func() error, error) {
	live, err := b.compiled(tools)
	if err != nil {
		return nil, err
	}
	t := live.Tool("tool_7")
	arguments, err := t.Arguments.Decode([]byte(fourFields))
	if err != nil {
		return nil, err
	}
	if want := perTool + everyTool; len(t.Rules) != want {
		return nil, fmt.Errorf("%d rules can apply, and not %d", len(t.Rules), want)
	}
	scope := map[string]any{"mode": "plain"}
	environment := t.Values(call.Request{Principal: caller(), Entry: call.EntryMCP}, arguments, scope, nil)
	return func() error {
		subject := match.Subject{Principal: caller(), Entry: call.EntryMCP, Scope: scope}
		assessment := risk.Evaluate(t.Floor, t.Rules, subject, &environment)
		subject.Risk = assessment.Level
		decision := policy.Decide(t.Policies, policy.Input{Subject: subject, Environment: &environment})
		if decision.Effect != policy.Permit {
			return fmt.Errorf("decided %s, and not to permit", decision.Effect)
		}
		return nil
	}, nil
}

// exprRules runs the rules that apply as programs of the Expr library, over
// maps as most programs use it.
func exprRules() (func() error, error) {
	who := caller()
	environment := map[string]any{
		"args":      map[string]any{"path": "/home/ann/file.txt", "limit": 10, "mode": "plain", "note": "hello"},
		"principal": map[string]any{"name": who.Name, "roles": who.Roles},
		"entry":     string(call.EntryMCP),
	}
	var programs []*vm.Program
	for _, when := range append(conditions(perTool), everywhere()...) {
		program, err := expr.Compile(when, expr.Env(environment), expr.AsBool())
		if err != nil {
			return nil, fmt.Errorf("compile with Expr: %w", err)
		}
		programs = append(programs, program)
	}
	var machine vm.VM
	return func() error {
		for _, program := range programs {
			result, err := machine.Run(program, environment)
			if err != nil {
				return err
			}
			if result == true {
				return fmt.Errorf("a rule fires")
			}
		}
		return nil
	}, nil
}

func (b *bench) decode() (func() error, error) {
	live, err := b.compiled(1)
	if err != nil {
		return nil, err
	}
	schema := live.Tool("tool_0").Arguments
	return func() error {
		_, err := schema.Decode([]byte(fourFields))
		return err
	}, nil
}
