package risk

import (
	"encoding/json"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/match"
	"github.com/writ-dev/writ/engine/rule"
)

// Rule raises the level of the calls for which it holds.
type Rule struct {
	*rule.Rule
	Level  call.Level
	Fires  []Example
	Silent []Example
}

// Bound is a rule bound to one tool.
type Bound struct {
	*rule.Bound
	Level call.Level
}

// Example is a call that a rule's author says fires it, or does not.
type Example struct {
	At  diag.Position
	Raw json.RawMessage
}

// Compile parses the rules of one document.
func Compile(doc *document.RiskRules) ([]*Rule, diag.List) {
	var problems diag.List
	var rules []*Rule
	selector := match.Compile(doc.Match)
	if doc.Match != nil && doc.Match.MinRisk != "" {
		problems.Errorf(doc.Source.Key("match", "min_risk"), "circular",
			"min_risk in RiskRules would let the risk depend on itself").
			Hinted("select by tools, groups, labels, principals, roles, entries or scope")
	}
	for i, written := range doc.Rules {
		parsed, found := rule.Parse(rule.Rule{
			ID:       written.ID,
			Message:  written.Message,
			At:       doc.Source.At("rules", i),
			When:     doc.Source.At("rules", i, "when"),
			Selector: selector,
		}, written.When)
		problems = append(problems, found...)
		level, err := call.ParseLevel(written.Risk)
		if err != nil {
			problems.Errorf(doc.Source.At("rules", i, "risk"), "unknown-risk", "%v", err)
		}
		if found.HasErrors() {
			continue
		}
		rules = append(rules, &Rule{Rule: parsed, Level: level,
			Fires:  examples(doc, i, "fires", written.Fires),
			Silent: examples(doc, i, "silent", written.Silent)})
	}
	return rules, problems
}

func examples(doc *document.RiskRules, i int, key string, raws []json.RawMessage) []Example {
	list := make([]Example, len(raws))
	for j, raw := range raws {
		list[j] = Example{At: doc.Source.At("rules", i, key, j), Raw: raw}
	}
	return list
}
