package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-dev/writ/engine/approval"
	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/policy"
	"github.com/writ-dev/writ/engine/value"
)

// approve turns the decision into an authorization, or into the result of a
// call that gets none. When a person is needed it waits for one, with the
// locks given back.
func (p *Pipeline) approve(ctx context.Context, f *flight) (approval.Authorization, *call.Result) {
	begin := p.Now()
	defer func() { f.record.Stages.Approve += p.Now().Sub(begin).Microseconds() }()
	f.prepared.Digest = f.binding()
	f.record.Approval = approval.NotRequested
	switch f.decision.Effect {
	case policy.Permit:
		authorization, err := p.Desk.Authorize(f.prepared, f.decision)
		if err != nil {
			return f.stop(refusal("internal", "the call could not be authorized"))
		}
		return authorization, nil
	case policy.RequireApproval:
		return p.ask(ctx, f)
	}
	return f.stop(f.denied())
}

// stop is the end of a call without authorization.
func (f *flight) stop(refused *refusalError) (approval.Authorization, *call.Result) {
	result := f.refuse(refused)
	return approval.Authorization{}, &result
}

// ask waits for a person.
func (p *Pipeline) ask(ctx context.Context, f *flight) (approval.Authorization, *call.Result) {
	if !p.answerable(f) {
		return f.stop(refusal("approval_required",
			"a person has to approve this call (risk %s%s), and there is nobody who may", f.assessment.Level, f.reasons()))
	}
	if f.decision.Unattended || f.request.Unattended {
		return f.stop(refusal("unattended",
			"a person would have to approve this call (risk %s%s), and nobody can be asked here", f.assessment.Level, f.reasons()))
	}
	f.unlock()
	question := approval.Question{Prepared: f.prepared, Assessment: f.assessment, Decision: f.decision}
	if result, refused, found := p.replays.take(ctx, question.Key(), f.decision.Pending.AnswerAfter); found {
		f.record.Approval = "replayed"
		if refused != nil {
			return f.stop(refused)
		}
		result.RequestID = f.request.ID
		return approval.Authorization{}, &result
	}
	answer := p.Desk.Ask(ctx, question)
	f.ticket = answer.Ticket
	if _, ok := answer.Authorization.Prepared(); ok {
		f.key = question.Key()
		return answer.Authorization, nil
	}
	f.record.Approval = answer.Code
	refused := refusal(answer.Code, "%s", answer.Reason)
	switch answer.Code {
	case "cancelled":
		refused.status = call.Cancelled
	case "approval_pending":
		refused.reason = fmt.Sprintf("%s (risk %s%s)", answer.Reason, f.assessment.Level, f.reasons())
	}
	return f.stop(refused)
}

// answerable reports whether enough people exist for every set of approvers.
func (p *Pipeline) answerable(f *flight) bool {
	if p.Approvers == nil {
		return false
	}
	people := p.Approvers()
	sets := f.decision.Approvers
	if len(sets) == 0 {
		sets = []policy.Approvers{{}}
	}
	for _, set := range sets {
		able := 0
		for _, person := range people {
			self := person.Name == f.request.Principal.Name && !set.AllowsSelf(person.Terminal)
			if set.Includes(person.Name, person.Roles) && !self {
				able++
			}
		}
		if able < max(1, set.Count) {
			return false
		}
	}
	return true
}

func (f *flight) denied() *refusalError {
	if f.decision.Message == "" {
		return refusal("denied", "denied by %s", f.decision.SettledBy)
	}
	return refusal("denied", "denied by %s: %s", f.decision.SettledBy, f.decision.Message)
}

// reasons tells the messages of the rules that fired.
func (f *flight) reasons() string {
	var b strings.Builder
	for _, finding := range f.assessment.Fired {
		b.WriteString("; " + finding.ID + ": " + finding.Message)
	}
	return b.String()
}

// binding sums everything that an approval binds. The generation is not part
// of it: an edit that changes nothing for this call voids nothing.
func (f *flight) binding() call.Digest {
	rules := make([]any, len(f.assessment.Fired))
	for i, finding := range f.assessment.Fired {
		rules[i] = finding.ID
	}
	facts := f.prepared.Effect.Facts
	if facts == nil {
		facts = map[string]any{}
	}
	return call.DigestOf(map[string]any{
		"principal":    f.request.Principal.Name,
		"entry":        string(f.request.Entry),
		"tool":         f.prepared.ToolDigest.String(),
		"arguments":    f.prepared.Arguments,
		"scope":        f.prepared.Scope,
		"effect":       f.prepared.Effect.Bound,
		"facts":        facts,
		"rules":        rules,
		"risk":         f.assessment.Level.String(),
		"confirmation": f.decision.Confirmation.String(),
		"route":        route(f.decision.Approvers),
		"unattended":   f.decision.Unattended,
	})
}

// route is who had to approve, in one order whatever the policies are called.
func route(sets []policy.Approvers) []any {
	list := make([]any, len(sets))
	for i, set := range sets {
		list[i] = map[string]any{
			"people": texts(set.People), "roles": texts(set.Roles),
			"count": int64(max(1, set.Count)), "self": int64(set.Self), "reason": set.Reason,
		}
	}
	slices.SortFunc(list, func(a, b any) int { return bytes.Compare(value.JSON(a), value.JSON(b)) })
	return list
}

func texts(names []string) []any {
	list := make([]any, len(names))
	for i, name := range slices.Sorted(slices.Values(names)) {
		list[i] = name
	}
	return list
}
