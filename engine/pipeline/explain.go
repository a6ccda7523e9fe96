package pipeline

import (
	"context"
	"encoding/json"
	"time"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/catalog"
	"github.com/writ-dev/writ/engine/condition"
	"github.com/writ-dev/writ/engine/grant"
	"github.com/writ-dev/writ/engine/match"
	"github.com/writ-dev/writ/engine/policy"
	"github.com/writ-dev/writ/engine/tool"
	"github.com/writ-dev/writ/engine/value"
)

// Explanation is what would become of a call, and why. Either Rejected is set
// or the three stages are.
type Explanation struct {
	Tool       string `json:"tool"`
	Principal  string `json:"principal"`
	Entry      string `json:"entry"`
	Generation uint64 `json:"generation"`
	// Unavailable says why the tool could not be called here although it can
	// be explained, or is empty.
	Unavailable string             `json:"unavailable,omitempty"`
	Rejected    *Rejection         `json:"rejected,omitempty"`
	Prepared    *ExplainedCall     `json:"prepared,omitempty"`
	Assessment  *ExplainedRisk     `json:"assessment,omitempty"`
	Decision    *ExplainedDecision `json:"decision,omitempty"`
	// Grants are those that name the tool, where a person would be asked.
	Grants      []ExplainedGrant `json:"grants,omitempty"`
	prepared    call.Prepared    // for tests of the users
	environment condition.Environment
}

// Rejection is why a call could not even be prepared.
type Rejection struct {
	Code   string `json:"code"`
	Reason string `json:"reason"`
}

// ExplainedCall is the prepared call.
type ExplainedCall struct {
	Arguments  json.RawMessage `json:"arguments"`
	Scope      json.RawMessage `json:"scope"`
	Effect     json.RawMessage `json:"effect"`
	Facts      json.RawMessage `json:"facts,omitempty"`
	Preview    string          `json:"preview"`
	Locks      []string        `json:"locks,omitempty"`
	Unresolved []string        `json:"unresolved,omitempty"`
}

// ExplainedRisk is the assessment with the rules on both sides.
type ExplainedRisk struct {
	Risk   string          `json:"risk"`
	Floor  string          `json:"floor"`
	Rules  []ExplainedRule `json:"rules"`  // that fired, the one that raised most first
	Silent []ExplainedRule `json:"silent"` // that applied and did not fire
}

// ExplainedRule is one rule and what it saw.
type ExplainedRule struct {
	ID      string `json:"id"`
	Risk    string `json:"risk,omitempty"`
	Message string `json:"message"`
	At      string `json:"at"`
	// Part is what settled the rule: its first false part when it is silent.
	Part  string                     `json:"part,omitempty"`
	Saw   map[string]json.RawMessage `json:"saw,omitempty"`
	Error string                     `json:"error,omitempty"`
	// Unmatched says that the rule's match leaves out this caller.
	Unmatched bool `json:"unmatched,omitempty"`
}

// ExplainedDecision is the decision.
type ExplainedDecision struct {
	Effect       string `json:"effect"`
	Confirmation string `json:"confirmation"`
	SettledBy    string `json:"settled_by"`
	Posture      string `json:"posture,omitempty"`
	Message      string `json:"message,omitempty"`
	At           string `json:"at,omitempty"`
	Error        string `json:"error,omitempty"`
	// Denials are the deny rules that applied and did not hold.
	Denials []ExplainedRule `json:"denials,omitempty"`
}

// Bound is the canonical effect, for tests of the users.
func (e *Explanation) Bound() map[string]any { return e.prepared.Effect.Bound }

// ExplainOptions say how far an explanation may go.
type ExplainOptions struct {
	// Fetch looks up programs and fetches what prepare would fetch.
	Fetch bool
	// Roots resolves path arguments; nil uses those of the generation.
	Roots tool.Resolver
	// Now is when the call would be made; without it no grant is looked at.
	Now time.Time
	// DangerousGrants is that of the pipeline.
	DangerousGrants bool
	// GrantState says why the state folder lets a grant that covers the call
	// release nothing, or ""; nil when it is not known.
	GrantState func(g grant.Bound, tool string, digest call.Digest) string
}

// Explain prepares, assesses and decides a request under a generation, and
// executes and records nothing. Without Fetch it needs neither the program
// nor the network.
func Explain(ctx context.Context, live *catalog.Catalog, request call.Request, options ExplainOptions) Explanation {
	e := Explanation{
		Tool: request.Tool, Principal: request.Principal.Name, Entry: string(request.Entry), Generation: live.Generation,
	}
	f := &flight{request: request, live: live, tool: live.Tool(request.Tool)}
	if f.tool == nil || !f.tool.Enabled {
		e.Rejected = &Rejection{"unknown_tool", "there is no tool of this name"}
		return e
	}
	e.Unavailable = f.tool.Unavailable
	if options.Roots == nil {
		options.Roots = live.Roots
	}
	arguments, err := f.tool.Decode(request, options.Roots)
	if err == nil {
		f.prepared, f.environment, err = f.tool.Prepare(ctx, request, arguments, !options.Fetch, nil)
	}
	if err != nil {
		refused := explainFailure(err)
		e.Rejected = &Rejection{refused.code, refused.reason}
		return e
	}
	f.decide()
	e.prepared, e.environment = f.prepared, f.environment
	e.Prepared = &ExplainedCall{
		Arguments: value.JSON(f.prepared.Arguments), Scope: value.JSON(f.prepared.Scope),
		Effect: value.JSON(f.prepared.Effect.Bound), Preview: f.prepared.Effect.Preview,
		Locks: f.prepared.Locks, Unresolved: f.prepared.Effect.Unresolved,
	}
	if f.prepared.Effect.Facts != nil {
		e.Prepared.Facts = value.JSON(f.prepared.Effect.Facts)
	}
	e.Assessment, e.Decision = f.explainRisk(), f.explainDecision()
	if f.decision.Effect == policy.RequireApproval && !options.Now.IsZero() {
		e.Grants = f.explainGrants(grantTime{options.Now, options.DangerousGrants}, options.GrantState)
	}
	return e
}

func (f *flight) explainRisk() *ExplainedRisk {
	explained := &ExplainedRisk{
		Risk: f.assessment.Level.String(), Floor: f.assessment.Floor.String(),
		Rules: []ExplainedRule{}, Silent: []ExplainedRule{},
	}
	details := map[string]ExplainedRule{}
	subject := match.Subject{Principal: f.request.Principal, Entry: f.request.Entry, Scope: f.prepared.Scope}
	for _, bound := range f.tool.Rules {
		rule := f.explainRule(bound.ID, bound.Message, bound.At.String(), bound.Condition)
		rule.Risk = bound.Level.String()
		rule.Unmatched = !bound.Selector.MayMatch(subject)
		details[bound.ID] = rule
	}
	for _, finding := range f.assessment.Fired {
		explained.Rules = append(explained.Rules, details[finding.ID])
		delete(details, finding.ID)
	}
	for _, id := range value.Keys(details) {
		explained.Silent = append(explained.Silent, details[id])
	}
	return explained
}

func (f *flight) explainRule(id, message, at string, c *condition.Condition) ExplainedRule {
	explained := c.Explain(&f.environment)
	rule := ExplainedRule{ID: id, Message: message, At: at, Part: explained.Part}
	if explained.Err != nil {
		rule.Error = explained.Err.Error()
	}
	for _, seen := range explained.Saw {
		if rule.Saw == nil {
			rule.Saw = map[string]json.RawMessage{}
		}
		if seen.Present {
			rule.Saw[seen.Field] = value.JSON(seen.Value)
		} else {
			rule.Saw[seen.Field] = json.RawMessage(`"(absent)"`)
		}
	}
	return rule
}

func (f *flight) explainDecision() *ExplainedDecision {
	d := f.decision
	explained := &ExplainedDecision{
		Effect: d.Effect.String(), Confirmation: d.Confirmation.String(), SettledBy: d.SettledBy,
		Posture: d.Posture, Message: d.Message, Error: d.Error,
	}
	if !d.At.IsZero() {
		explained.At = d.At.String()
	}
	if d.Effect == policy.Deny {
		return explained
	}
	subject := match.Subject{Principal: f.request.Principal, Entry: f.request.Entry, Scope: f.prepared.Scope, Risk: f.assessment.Level}
	for _, p := range f.tool.Policies {
		for _, deny := range p.Deny {
			rule := f.explainRule(deny.ID, deny.Message, deny.At.String(), deny.Condition)
			rule.Unmatched = !p.Selector.MayMatch(subject)
			explained.Denials = append(explained.Denials, rule)
		}
	}
	return explained
}
