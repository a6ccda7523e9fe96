package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/writ-dev/writ/engine/audit"
	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/catalog"
	"github.com/writ-dev/writ/engine/control"
	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/pipeline"
	"github.com/writ-dev/writ/engine/store"
)

// The questions that commands put to the owner of a state folder, or to an
// engine of their own when nobody owns it. Both answer in the same way.

// callQuestion asks for one call. Token is that of the caller As; without As
// the caller is the user of this machine.
type callQuestion struct {
	Tool  string `json:"tool"`
	Given typed  `json:"given"`
	As    string `json:"as,omitempty"`
	Token string `json:"token,omitempty"`
}

// explainQuestion asks what would become of a call, or, with Rule, where a
// rule applies.
type explainQuestion struct {
	Tool  string `json:"tool,omitempty"`
	Given typed  `json:"given"`
	As    string `json:"as,omitempty"`
	Entry string `json:"entry,omitempty"`
	Fetch bool   `json:"fetch,omitempty"`
	Rule  string `json:"rule,omitempty"`
}

type toolsQuestion struct {
	Name string `json:"name,omitempty"`
}

type auditQuestion struct {
	Filter    audit.Filter `json:"filter"`
	RequestID string       `json:"request_id,omitempty"`
	Sequence  int64        `json:"sequence,omitempty"`
}

// verbs are the answers of an engine.
func (e *engine) verbs() map[string]control.Verb {
	return map[string]control.Verb{
		"status":  func(context.Context, json.RawMessage, func(any)) (any, error) { return e.status(), nil },
		"reload":  e.answerReload,
		"call":    e.answerCall,
		"explain": e.answerExplain,
		"tools":   e.answerTools,
		"audit":   e.answerAudit,
		"head":    e.answerHead,

		"grants":       e.answerGrants,
		"revoke-grant": e.answerRevokeGrant,

		"approvals": e.answerApprovals,
		"verdict":   e.answerVerdict,
		"freeze":    e.answerFreeze,
		"thaw":      e.answerThaw,
	}
}

func (e *engine) answerReload(ctx context.Context, _ json.RawMessage, _ func(any)) (any, error) {
	return e.reloader.Reload(context.WithoutCancel(ctx)), nil // half a reload helps nobody
}

func (e *engine) answerCall(ctx context.Context, with json.RawMessage, _ func(any)) (any, error) {
	var q callQuestion
	if err := json.Unmarshal(with, &q); err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	if e.pipeline == nil {
		return nil, errors.New("nothing can be called without a state folder")
	}
	request := call.Request{Tool: q.Tool, Entry: call.EntryCLI, Local: q.As == "", Unattended: e.alone}
	var err error
	if request.Principal, err = e.caller(q.As, q.Token); err != nil {
		return nil, err
	}
	if request.Arguments, err = q.Given.raw(e.live.Current().Tool(q.Tool)); err != nil {
		return call.Result{Tool: q.Tool, Status: call.Refused, Code: "invalid_arguments", Reason: err.Error()}, nil
	}
	return e.pipeline.Call(ctx, request), nil
}

// caller is who calls from the command line.
func (e *engine) caller(as, token string) (call.Principal, error) {
	callers := e.callers.Load()
	if as == "" {
		return callers.Local(e.app.user()), nil
	}
	if token == "" {
		return call.Principal{}, fmt.Errorf("--as %s needs the token of that caller in WRIT_TOKEN", as)
	}
	principal, ok := callers.Authenticate(token)
	if !ok || principal.Name != as {
		return call.Principal{}, fmt.Errorf("WRIT_TOKEN is not the token of %s", as)
	}
	return principal, nil
}

func (e *engine) answerExplain(ctx context.Context, with json.RawMessage, _ func(any)) (any, error) {
	var q explainQuestion
	if err := json.Unmarshal(with, &q); err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	current := e.live.Current()
	if q.Rule != "" {
		return explainRule(current, q.Rule)
	}
	request := call.Request{ID: "explain", Tool: q.Tool, Entry: call.EntryCLI, Principal: e.callers.Load().Local(e.app.user())}
	if q.As != "" {
		principal, known := e.callers.Load().Named(q.As)
		if !known {
			return nil, fmt.Errorf("there is no caller %q%s", q.As, suffix(diag.DidYouMean(q.As, e.callers.Load().Names())))
		}
		request.Principal = principal
	}
	if q.Entry != "" {
		request.Entry = call.Entry(q.Entry)
	}
	request.Local = request.Entry == call.EntryCLI && q.As == ""
	raw, err := q.Given.raw(current.Tool(q.Tool))
	if err != nil {
		return pipeline.Explanation{
			Tool: q.Tool, Principal: request.Principal.Name, Entry: string(request.Entry), Generation: current.Generation,
			Rejected: &pipeline.Rejection{Code: "invalid_arguments", Reason: err.Error()},
		}, nil
	}
	request.Arguments = raw
	state, err := e.grantState(ctx)
	if err != nil {
		return nil, err
	}
	return pipeline.Explain(ctx, current, request, pipeline.ExplainOptions{
		Fetch: q.Fetch, Now: e.app.now(), DangerousGrants: e.app.dangerousGrants, GrantState: state,
	}), nil
}

// appliesTo is the answer to explain --rule.
type appliesTo struct {
	Rule    string            `json:"rule"`
	At      string            `json:"at"`
	Effect  string            `json:"effect"` // a risk, or deny
	Message string            `json:"message"`
	Tools   []string          `json:"tools"`
	Skipped map[string]string `json:"skipped,omitempty"` // tools that its match covers, and why it does not apply
}

func explainRule(current *catalog.Catalog, id string) (appliesTo, error) {
	answer := appliesTo{Rule: id, Tools: []string{}, Skipped: current.Skipped[id]}
	var known []string
	for _, r := range current.Rules {
		known = append(known, r.ID)
		if r.ID == id {
			answer.At, answer.Effect, answer.Message = r.At.String(), r.Level.String(), r.Message
		}
	}
	for _, p := range current.Policies {
		for _, r := range p.Rules {
			known = append(known, r.ID)
			if r.ID == id {
				answer.At, answer.Effect, answer.Message = r.At.String(), "deny", r.Message
			}
		}
	}
	if answer.Effect == "" {
		return answer, fmt.Errorf("there is no rule %q%s", id, suffix(diag.DidYouMean(id, known)))
	}
	for _, t := range current.Tools() {
		if boundTo(t, id) {
			answer.Tools = append(answer.Tools, t.Name)
		}
	}
	return answer, nil
}

func boundTo(t *catalog.Tool, id string) bool {
	for _, r := range t.Rules {
		if r.ID == id {
			return true
		}
	}
	for _, p := range t.Policies {
		for _, r := range p.Deny {
			if r.ID == id {
				return true
			}
		}
	}
	return false
}

// toolInfo is one tool as `writ tools` prints it.
type toolInfo struct {
	Name         string              `json:"name"`
	Title        string              `json:"title,omitempty"`
	Description  string              `json:"description"`
	Group        string              `json:"group,omitempty"`
	Labels       map[string]string   `json:"labels,omitempty"`
	Kind         string              `json:"kind"`
	Floor        string              `json:"floor"`
	Risk         string              `json:"risk"` // the worst that a rule can raise a call to
	Enabled      bool                `json:"enabled"`
	Available    bool                `json:"available"`
	Unavailable  string              `json:"unavailable,omitempty"`
	Timeout      string              `json:"timeout"`
	Annotations  catalog.Annotations `json:"annotations"`
	At           string              `json:"at"`
	Rules        []string            `json:"rules"`
	InputSchema  json.RawMessage     `json:"inputSchema"`
	OutputSchema json.RawMessage     `json:"outputSchema,omitempty"`
}

func (e *engine) answerTools(_ context.Context, with json.RawMessage, _ func(any)) (any, error) {
	var q toolsQuestion
	if err := json.Unmarshal(with, &q); err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	list := []toolInfo{}
	var names []string
	for _, t := range e.live.Current().Tools() {
		names = append(names, t.Name)
		if q.Name == "" || q.Name == t.Name {
			list = append(list, infoOf(t))
		}
	}
	if q.Name != "" && len(list) == 0 {
		return nil, fmt.Errorf("there is no tool %q%s", q.Name, suffix(diag.DidYouMean(q.Name, names)))
	}
	return list, nil
}

func infoOf(t *catalog.Tool) toolInfo {
	info := toolInfo{
		Name: t.Name, Title: t.Title, Description: t.ShownDescription(), Group: t.Group, Labels: t.Labels, Kind: t.Kind,
		Floor: t.Floor.String(), Risk: worst(t), Enabled: t.Enabled, Available: t.Unavailable == "", Unavailable: t.Unavailable,
		Timeout: time.Duration(t.Timeout).String(), Annotations: t.Annotations(), At: t.Document.Source.Start().String(),
		Rules: []string{}, InputSchema: t.Arguments.Projection(), OutputSchema: t.OutputSchema,
	}
	if t.PerCall {
		info.Floor = "per_call"
	}
	for _, r := range t.Rules {
		info.Rules = append(info.Rules, r.ID)
	}
	for _, p := range t.Policies {
		for _, r := range p.Deny {
			info.Rules = append(info.Rules, r.ID)
		}
	}
	return info
}

func (e *engine) answerAudit(ctx context.Context, with json.RawMessage, _ func(any)) (any, error) {
	var q auditQuestion
	if err := json.Unmarshal(with, &q); err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	if e.store == nil {
		return nil, errors.New("there are no records without a state folder")
	}
	var one audit.Record
	var err error
	switch {
	case q.RequestID != "":
		one, err = e.store.Record(ctx, q.RequestID)
	case q.Sequence != 0:
		one, err = e.store.Numbered(ctx, q.Sequence)
	default:
		return e.store.Records(ctx, q.Filter)
	}
	if errors.Is(err, store.ErrNoRecord) {
		return nil, fmt.Errorf("%w: writ audit list prints the numbers and request ids", err)
	}
	return []audit.Record{one}, err
}

// suffix sets a hint in brackets.
func suffix(hint string) string {
	if hint == "" {
		return ""
	}
	return " (" + hint + ")"
}
