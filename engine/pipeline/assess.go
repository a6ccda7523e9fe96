package pipeline

import (
	"github.com/writ-dev/writ/engine/match"
	"github.com/writ-dev/writ/engine/policy"
	"github.com/writ-dev/writ/engine/risk"
)

// assess says how dangerous the prepared call is and what may happen to it.
func (p *Pipeline) assess(f *flight) {
	begin := p.Now()
	f.decide()
	f.record.Stages.Assess += p.Now().Sub(begin).Microseconds()
	f.record.Risk = f.assessment.Level
	f.record.Rules = f.assessment.Rules()
	f.record.Decision = f.decision.Effect.String()
	f.record.SettledBy = f.decision.SettledBy
	f.record.Confirmation = f.decision.Confirmation.String()
}

func (f *flight) decide() {
	subject := match.Subject{
		Principal: f.request.Principal, Entry: f.request.Entry, Scope: f.prepared.Scope,
	}
	f.assessment = risk.Evaluate(f.tool.Floor, f.tool.Rules, subject, &f.environment)
	subject.Risk = f.assessment.Level
	f.decision = policy.Decide(f.tool.Policies, policy.Input{
		Subject: subject, Local: f.request.Local, Environment: &f.environment,
	})
}
