package pipeline

import (
	"context"
	"errors"
	"time"

	"github.com/writ-dev/writ/engine/approval"
	"github.com/writ-dev/writ/engine/audit"
	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/grant"
	"github.com/writ-dev/writ/engine/match"
	"github.com/writ-dev/writ/engine/policy"
)

// byGrant releases a call that would need a person, if a grant covers it. The
// grants of the generation in force are tried in the order of their names, and
// the first whose use is counted wins (contract P-57, P-63). Nil means that
// none released it. When a use cannot be counted the call is refused: nobody
// is asked instead (contract P-70).
func (p *Pipeline) byGrant(ctx context.Context, f *flight) *call.Result {
	if f.decision.Effect != policy.RequireApproval {
		return nil
	}
	for _, name := range f.covering(p.clocked()) {
		begin := p.Now()
		f.prepared.Digest = f.binding()
		authorization, err := p.Desk.AuthorizeByGrant(f.prepared, f.decision)
		f.record.Stages.Approve += p.Now().Sub(begin).Microseconds()
		if err != nil {
			continue
		}
		refused := p.commit(ctx, f, authorization, name)
		if refused != nil && refused.code == notReleased {
			f.record.Approval, f.record.Grant, f.record.SettledBy = approval.NotRequested, "", f.decision.SettledBy
			continue
		}
		var result call.Result
		if refused != nil {
			result = f.refuse(refused)
		} else {
			result = p.carryOut(ctx, f)
		}
		return &result
	}
	return nil
}

// notReleased is the code of a grant that turned out to release nothing. It
// never leaves the pipeline.
const notReleased = "not_released"

// covering names the grants that cover a call, as far as that can be told
// without counting.
func (f *flight) covering(at grantTime) []string {
	question := f.question(at)
	if len(f.tool.Grants) == 0 || grant.Excluded(question) != "" {
		return nil
	}
	var names []string
	for i := range f.tool.Grants {
		if g := &f.tool.Grants[i]; g.Covers(question) == "" {
			names = append(names, g.Name)
		}
	}
	return names
}

// grantTime is what grants depend on beside the call: the clock, and whether
// this process lets them release dangerous calls.
type grantTime struct {
	now       time.Time
	dangerous bool
}

func (p *Pipeline) clocked() grantTime { return grantTime{p.Now(), p.DangerousGrants} }

func (f *flight) question(at grantTime) grant.Call {
	return grant.Call{
		Subject: match.Subject{
			Principal: f.request.Principal, Entry: f.request.Entry, Scope: f.prepared.Scope, Risk: f.assessment.Level,
		},
		Decision: f.decision, Environment: &f.environment, Now: at.now, Dangerous: at.dangerous && f.live.DangerousGrants,
	}
}

// use is what is counted when a grant of the generation in force releases the
// call now. The clock is read again (contract P-67).
func (f *flight) use(at grantTime, name string) (audit.Use, bool) {
	for i := range f.tool.Grants {
		g := &f.tool.Grants[i]
		if g.Name != name || g.Covers(f.question(at)) != "" {
			continue
		}
		use := audit.Use{Grant: name, Uses: g.Uses}
		if !g.ByName {
			use.Tool, use.Digest = f.tool.Name, f.tool.Digest.String()
		}
		return use, true
	}
	return audit.Use{}, false
}

// intend makes the intent of a call durable, together with the use of the
// grant that released it.
func (p *Pipeline) intend(ctx context.Context, f *flight, name string) *refusalError {
	if name == "" && f.assessment.Level == call.ReadOnly && !f.tool.PerCall {
		return nil
	}
	f.digest(p.Key)
	if name == "" {
		if err := f.slot.Intent(ctx, f.record); err != nil {
			p.Log.Error("a call was refused because its intent cannot be recorded", "tool", f.tool.Name, "error", err)
			return refusal("unrecorded", "the call cannot be recorded at present, so it was not executed")
		}
		return nil
	}
	use, ok := f.use(p.clocked(), name)
	if !ok {
		return refusal(notReleased, "grant %s no longer covers the call", name)
	}
	f.record.Grant, f.record.SettledBy = name, "grant "+name
	spender, ok := f.slot.(audit.Spender)
	if !ok {
		return refusal("grant_state", "uses of grants cannot be counted here, so the call was not executed")
	}
	switch err := spender.IntentUsing(ctx, f.record, use); {
	case err == nil:
		return nil
	case errors.Is(err, audit.ErrNotReleased):
		return refusal(notReleased, "grant %s has no use left", name)
	case ctx.Err() != nil:
		return stopped(ctx)
	default:
		p.Log.Error("a call was refused because the use of a grant cannot be counted", "tool", f.tool.Name, "grant", name, "error", err)
		return refusal("grant_state", "the use of grant %s cannot be counted at present, so the call was not executed", name)
	}
}

// ExplainedGrant says whether a grant would release a call.
type ExplainedGrant struct {
	Name string `json:"name"`
	// Covers: as far as the grant itself says. Releases: a use is left too.
	Covers   bool `json:"covers"`
	Releases bool `json:"releases"`
	// Why not, or "".
	Why string `json:"why,omitempty"`
	At  string `json:"at"`
}

// explainGrants looks at every grant that names the tool. State says why the
// state folder lets a grant release nothing, or ""; nil when it is not known.
func (f *flight) explainGrants(at grantTime, state func(g grant.Bound, tool string, digest call.Digest) string) []ExplainedGrant {
	var list []ExplainedGrant
	for i := range f.tool.Grants {
		g := &f.tool.Grants[i]
		explained := ExplainedGrant{Name: g.Name, At: g.At.String(), Why: g.Covers(f.question(at))}
		explained.Covers = explained.Why == ""
		switch {
		case explained.Covers && state == nil:
			explained.Why = "whether a use is left is for the running server to say"
		case explained.Covers:
			explained.Why = state(*g, f.tool.Name, f.tool.Digest)
			explained.Releases = explained.Why == ""
		}
		list = append(list, explained)
	}
	return list
}
