package pipeline

import (
	"strings"

	"github.com/writ-dev/writ/engine/approval"
	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/policy"
)

// approve turns the decision into an authorization, or says why there is none.
func (p *Pipeline) approve(f *flight) (approval.Authorization, *refusalError) {
	begin := p.Now()
	defer func() { f.record.Stages.Approve += p.Now().Sub(begin).Microseconds() }()
	f.prepared.Digest = f.binding()
	switch f.decision.Effect {
	case policy.Permit:
		authorization, err := p.Desk.Authorize(f.prepared, f.decision)
		if err != nil {
			return approval.Authorization{}, refusal("internal", "the call could not be authorized")
		}
		f.record.Approval = authorization.By()
		return authorization, nil
	case policy.RequireApproval:
		f.record.Approval = approval.NotRequested
		return approval.Authorization{}, refusal("approval_required",
			"a person has to approve this call (risk %s%s), and approvals come with the next version",
			f.assessment.Level, f.reasons())
	}
	f.record.Approval = approval.NotRequested
	return approval.Authorization{}, f.denied()
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
	})
}
