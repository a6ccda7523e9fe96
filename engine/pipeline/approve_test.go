package pipeline_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/writ-dev/writ/engine/approval"
	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/document"
)

// attended is a bench where bob can approve.
func attended(t *testing.T, set *document.Set) *bench {
	b := newBench(t, set)
	b.pipeline.Approvers = func() []approval.Approver { return []approval.Approver{{Name: "bob"}} }
	return b
}

// start makes a call in the background and returns when it waits for a person.
func (b *bench) start(ctx context.Context, arguments string) (<-chan call.Result, approval.Ticket) {
	b.t.Helper()
	changes, cancel := b.desk.Subscribe()
	defer cancel()
	results := make(chan call.Result, 1)
	go func() { results <- b.pipeline.Call(ctx, request("t", arguments)) }()
	for {
		for _, ticket := range b.desk.Tickets() {
			if ticket.State == approval.Pending {
				return results, ticket
			}
		}
		select {
		case <-changes:
		case result := <-results:
			b.t.Fatalf("the call did not wait: %+v", result)
		}
	}
}

func (b *bench) approve(ticket approval.Ticket) {
	b.t.Helper()
	err := b.desk.Decide(ticket.ID, approval.Approver{Name: "bob"}, approval.Verdict{
		Approve: true, Effect: ticket.Prepared.Effect.Digest(), Phrase: ticket.Phrase(),
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func TestApprovedCallRuns(t *testing.T) {
	for _, risk := range []string{"mutating", "dangerous", "critical"} {
		b := attended(t, oneTool(risk))
		results, ticket := b.start(context.Background(), `{"n": 5}`)
		if b.kind.executions() != 0 {
			t.Fatalf("%s: executed before the yes", risk)
		}
		b.approve(ticket)
		result := <-results
		if !result.Success || result.Ticket != ticket.ID || b.kind.executions() != 1 {
			t.Errorf("%s: %+v after %d executions", risk, result, b.kind.executions())
		}
		if record := b.journal.last(); record.Approval != approval.ApprovedOnce || len(b.journal.intents) != 1 {
			t.Errorf("%s: record %+v, %d intents", risk, record, len(b.journal.intents))
		}
	}
}

// What changes while a person reads voids the approval, and says why.
func TestChangesVoidTheApproval(t *testing.T) {
	for name, c := range map[string]struct {
		change       func(*bench)
		code, reason string
	}{
		"the target": {func(b *bench) { b.kind.mu.Lock(); b.kind.changed = "other"; b.kind.mu.Unlock() }, "void", "what the call would do changed"},
		"a deny rule": {func(b *bench) {
			set := oneTool("mutating")
			set.Policies = []*document.ApprovalPolicy{{Header: document.Header{Name: "p"},
				Deny: []document.DenyRule{{ID: "stop", When: "args.n == 5", Message: "not now"}}}}
			b.publish(set)
		}, "denied", "not now"},
		"a risk rule": {func(b *bench) {
			set := oneTool("mutating")
			set.RiskRules = []*document.RiskRules{{Header: document.Header{Name: "r"},
				Rules: []document.RiskRule{{ID: "worse", When: "args.n == 5", Risk: "dangerous", Message: "worse"}}}}
			b.publish(set)
		}, "void", "rules that apply changed"},
	} {
		b := attended(t, oneTool("mutating"))
		results, ticket := b.start(context.Background(), `{"n": 5}`)
		c.change(b)
		b.approve(ticket)
		result := <-results
		if result.Code != c.code || !strings.Contains(result.Reason, c.reason) || b.kind.executions() != 0 {
			t.Errorf("%s: %+v", name, result)
		}
	}
}

// A caller that leaves while its approved call runs stops nothing; a
// repetition gets the result instead of a second execution.
func TestCallerLeavesDuringExecution(t *testing.T) {
	b := attended(t, oneTool("mutating"))
	entered, leave := make(chan struct{}), make(chan struct{})
	b.kind.run = func(ctx context.Context) call.Outcome {
		close(entered)
		<-leave
		if ctx.Err() != nil {
			return call.Outcome{Status: call.Cancelled}
		}
		return call.Outcome{Status: call.Complete, Body: call.Capture{Head: []byte("done"), Total: 4}}
	}
	ctx, cancel := context.WithCancel(context.Background())
	results, ticket := b.start(ctx, `{"n": 5}`)
	b.approve(ticket)
	<-entered
	cancel()
	close(leave)
	<-results
	again := b.call("t", `{"n": 5}`)
	if !again.Success || !again.Replayed || again.Output != "done" || b.kind.executions() != 1 {
		t.Errorf("the repetition: %+v after %d executions", again, b.kind.executions())
	}
	b.kind.run = nil
	ctx, cancel = context.WithCancel(context.Background())
	results, _ = b.start(ctx, `{"n": 5}`) // the result is given once; this is a new request
	cancel()
	<-results
}

func TestNobodyMayApprove(t *testing.T) {
	for name, c := range map[string]struct {
		approvers *document.Approvers
		people    []approval.Approver
		want      string
	}{
		"nobody at all":      {nil, nil, "approval_required"},
		"not in the set":     {&document.Approvers{People: []string{"cy"}}, []approval.Approver{{Name: "bob"}}, "approval_required"},
		"too few":            {&document.Approvers{Count: 2}, []approval.Approver{{Name: "bob"}}, "approval_required"},
		"only the requester": {&document.Approvers{Self: "never"}, []approval.Approver{{Name: "ann"}}, "approval_required"},
	} {
		set := oneTool("mutating")
		set.Policies = []*document.ApprovalPolicy{{Header: document.Header{Name: "p"}, Approvers: c.approvers}}
		b := newBench(t, set)
		b.pipeline.Approvers = func() []approval.Approver { return c.people }
		if result := b.call("t", `{}`); result.Code != c.want || len(b.desk.Tickets()) != 0 {
			t.Errorf("%s: %+v", name, result)
		}
	}
}

func TestUnattended(t *testing.T) {
	set := oneTool("mutating")
	set.Policies = []*document.ApprovalPolicy{{Header: document.Header{Name: "p"},
		Entries: map[string]document.EntryPolicy{"mcp": {Unattended: "deny"}}}}
	b := attended(t, set)
	if result := b.call("t", `{}`); result.Code != "unattended" || len(b.desk.Tickets()) != 0 {
		t.Errorf("by policy: %+v", result)
	}
	b = attended(t, oneTool("mutating"))
	alone := request("t", `{}`)
	alone.Unattended = true
	if result := b.pipeline.Call(context.Background(), alone); result.Code != "unattended" {
		t.Errorf("by the caller: %+v", result)
	}
}

// Locks are free while a person reads.
func TestLocksAreFreeWhileWaiting(t *testing.T) {
	set := oneTool("mutating")
	set.Tools[0].Locks = []string{"thing"}
	reader := newTool("reader", "read_only")
	reader.Locks = []string{"thing"}
	set.Tools = append(set.Tools, reader)
	b := attended(t, set)
	results, ticket := b.start(context.Background(), `{"n": 5}`)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if result := b.pipeline.Call(ctx, request("reader", `{}`)); !result.Success {
		t.Errorf("a reader of the same lock: %+v", result)
	}
	b.approve(ticket)
	if result := <-results; !result.Success {
		t.Errorf("got %+v", result)
	}
}

func TestFrozen(t *testing.T) {
	b := attended(t, oneTool("mutating"))
	results, ticket := b.start(context.Background(), `{"n": 5}`)
	b.pipeline.Frozen = func() (string, bool) { return "incident 7", true }
	b.approve(ticket)
	if result := <-results; result.Code != "frozen" || b.kind.executions() != 0 {
		t.Errorf("an approved call: %+v", result)
	}
	if result := b.call("t", `{}`); result.Code != "frozen" || !strings.Contains(result.Reason, "incident 7") {
		t.Errorf("a new call: %+v", result)
	}
}
