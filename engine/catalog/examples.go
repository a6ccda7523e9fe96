package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/risk"
	"github.com/writ-dev/writ/engine/value"
)

// examples checks what rules say of themselves: each of fires must fire the
// rule, and none of silent may.
func (b *build) examples() {
	for _, r := range b.catalog.Rules {
		if len(r.Fires)+len(r.Silent) == 0 {
			continue
		}
		bound := b.boundTo(r)
		for _, example := range r.Fires {
			b.checkExample(r, bound, example, true)
		}
		for _, example := range r.Silent {
			b.checkExample(r, bound, example, false)
		}
	}
}

// boundRule is a rule as it is bound to one tool.
type boundRule struct {
	tool  *Tool
	bound risk.Bound
}

func (b *build) boundTo(r *risk.Rule) []boundRule {
	var list []boundRule
	for _, t := range b.covered(r.Selector) {
		for _, bound := range t.Rules {
			if bound.Rule == r.Rule {
				list = append(list, boundRule{t, bound})
			}
		}
	}
	return list
}

func (b *build) checkExample(r *risk.Rule, rules []boundRule, example risk.Example, wantFires bool) {
	if len(rules) == 0 {
		return // that the rule applies to nothing has been said
	}
	var reason error
	for _, rule := range rules {
		fires, why, err := rule.try(example.Raw)
		if err != nil {
			reason = err
			continue
		}
		if fires != wantFires {
			verdict := map[bool]string{true: "fires", false: "does not fire"}[fires]
			b.problems.Errorf(example.At, "wrong-example", "rule %s %s on this example (tool %s: %s)", r.ID, verdict, rule.tool.Name, why)
		}
		return
	}
	b.problems.Errorf(example.At, "invalid-example", "the example fits no tool that rule %s applies to: %v", r.ID, reason)
}

// try evaluates the rule on a partial call of the tool.
func (r boundRule) try(raw json.RawMessage) (fires bool, why string, err error) {
	long, err := longForm(raw)
	if err != nil {
		return false, "", err
	}
	arguments, err := r.tool.Arguments.Partial(long.Args)
	if err != nil {
		return false, "", err
	}
	request := call.Request{Tool: r.tool.Name, Entry: call.EntryMCP, Principal: long.Principal}
	if long.Entry != "" {
		request.Entry = long.Entry
	}
	scope := map[string]any{}
	for key, text := range long.Scope {
		scope[key] = text
	}
	environment := r.tool.Values(request, arguments, scope, nil)
	explained := r.bound.Condition.Explain(&environment)
	why = explained.Part
	if explained.Err != nil {
		why = explained.Err.Error()
	}
	return explained.Holds || explained.Err != nil, why, nil
}

// exampleCall is the long form of an example.
type exampleCall struct {
	Args      json.RawMessage   `json:"args"`
	Scope     map[string]string `json:"scope"`
	Principal call.Principal    `json:"principal"`
	Entry     call.Entry        `json:"entry"`
}

// longForm reads either form of an example: a partial argument object, or an
// object that has args and nothing but the keys of the long form.
func longForm(raw json.RawMessage) (exampleCall, error) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(raw, &keys); err != nil {
		return exampleCall{}, fmt.Errorf("read the example: %w", err)
	}
	if _, ok := keys["args"]; !ok {
		return exampleCall{Args: raw}, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	var long exampleCall
	if err := decoder.Decode(&long); err != nil {
		return exampleCall{}, fmt.Errorf("read the example (%v): %w", value.Keys(keys), err)
	}
	return long, nil
}
