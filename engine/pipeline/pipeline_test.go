package pipeline_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-dev/writ/engine/approval"
	"github.com/writ-dev/writ/engine/approval/approvaltest"
	"github.com/writ-dev/writ/engine/audit"
	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/executor"
	"github.com/writ-dev/writ/engine/pipeline"
)

func TestReadRunsAndIsRecordedOnce(t *testing.T) {
	b := newBench(t, oneTool("read_only"))
	result := b.call("t", `{"n": "7"}`)
	if !result.Success || result.Output != "done" || b.kind.executions() != 1 {
		t.Fatalf("got %+v after %d executions", result, b.kind.executions())
	}
	if len(b.journal.intents) != 0 || len(b.journal.outcomes) != 1 {
		t.Fatalf("%d intents and %d outcomes", len(b.journal.intents), len(b.journal.outcomes))
	}
	record := b.journal.last()
	if record.Result != audit.Success || record.Tool != "t" || record.Decision != "permit" ||
		record.Principal != "ann" || record.ArgumentDigest == "" || record.Generation != 1 {
		t.Errorf("record %+v", record)
	}
}

func TestWhatNeedsAPersonIsRefused(t *testing.T) {
	for _, risk := range []string{"mutating", "dangerous", "critical"} {
		b := newBench(t, oneTool(risk))
		result := b.call("t", `{}`)
		if result.Success || result.Code != "approval_required" || result.Status != call.Refused {
			t.Errorf("%s: %+v", risk, result)
		}
		if n := b.kind.executions(); n != 0 {
			t.Errorf("%s: executed %d times", risk, n)
		}
		if record := b.journal.last(); record.Result != audit.Refused || record.Approval != "not_requested" || len(b.journal.intents) != 0 {
			t.Errorf("%s: record %+v", risk, record)
		}
	}
}

// A per_call tool counts as read_only in the maximum.
func TestPerCallFloor(t *testing.T) {
	b := newBench(t, oneTool("per_call"))
	if result := b.call("t", `{}`); !result.Success {
		t.Errorf("got %+v", result)
	}
	if hints := b.live.Current().Tool("t").Annotations(); hints.ReadOnly || !hints.Destructive || !hints.OpenWorld {
		t.Errorf("a per_call tool is announced as %+v", hints)
	}
}

func TestRefusals(t *testing.T) {
	set := oneTool("read_only")
	set.Tools[0].Refuse = []document.Refuse{{ID: "odd", When: "args.n % 2 == 1", Message: "only even numbers"}}
	set.Policies = []*document.ApprovalPolicy{{
		Header: document.Header{Name: "p"},
		Deny:   []document.DenyRule{{ID: "big", When: "args.n > 100", Message: "too big"}},
	}}
	for name, c := range map[string]struct{ tool, arguments, code, reason string }{
		"unknown tool":    {"nope", `{}`, "unknown_tool", "no tool"},
		"not an object":   {"t", `[]`, "invalid_arguments", ""},
		"unknown field":   {"t", `{"m": 1}`, "invalid_arguments", "m"},
		"duplicate key":   {"t", `{"n": 2, "n": 4}`, "invalid_arguments", ""},
		"other case":      {"t", `{"N": 2}`, "invalid_arguments", ""},
		"trailing data":   {"t", `{} {}`, "invalid_arguments", ""},
		"too many bytes":  {"t", `{"n": ` + strings.Repeat(" ", 17<<10) + `2}`, "invalid_arguments", "bytes"},
		"refuse check":    {"t", `{"n": 3}`, "refused", "only even numbers"},
		"refuse overflow": {"t", `{"n": 9223372036854775808}`, "invalid_arguments", ""},
		"denied":          {"t", `{"n": 102}`, "denied", "too big"},
	} {
		b := newBench(t, set)
		result := b.call(c.tool, c.arguments)
		if result.Success || result.Code != c.code || result.Status != call.Refused || !strings.Contains(result.Reason, c.reason) {
			t.Errorf("%s: %+v", name, result)
		}
		if b.kind.executions() != 0 {
			t.Errorf("%s: executed", name)
		}
		if record := b.journal.last(); record.Result != audit.Refused || record.Code != c.code {
			t.Errorf("%s: record %+v", name, record)
		}
	}
}

// The name of a tool that does not exist is text of the caller.
func TestUnknownToolIsNotRecordedByName(t *testing.T) {
	b := newBench(t, oneTool("read_only"))
	b.call("secret-name", `{}`)
	if record := b.journal.last(); record.Tool != audit.UnsupportedTool {
		t.Errorf("recorded as %q", record.Tool)
	}
}

func TestPanicRefusesThatCallOnly(t *testing.T) {
	for name, set := range map[string]func(*fakeKind){
		"prepare": func(k *fakeKind) { k.prepare = func(context.Context, executor.Input) error { panic("/etc/secret") } },
		"execute": func(k *fakeKind) { k.run = func(context.Context) call.Outcome { panic("/etc/secret") } },
	} {
		b := newBench(t, oneTool("read_only"))
		set(b.kind)
		result := b.call("t", `{}`)
		if result.Success || result.Code != "internal" || strings.Contains(result.Reason, "secret") {
			t.Errorf("%s: %+v", name, result)
		}
		if record := b.journal.last(); record.Result != audit.Error {
			t.Errorf("%s: record %+v", name, record)
		}
		b.kind.prepare, b.kind.run = nil, nil
		if result := b.call("t", `{}`); !result.Success {
			t.Errorf("%s: the next call: %+v", name, result)
		}
	}
}

// A full disk refuses before anything is executed, reads included.
func TestUnrecordedIsNotExecuted(t *testing.T) {
	b := newBench(t, oneTool("read_only"))
	b.journal.failReserve = true
	if result := b.call("t", `{}`); result.Code != "unrecorded" || b.kind.executions() != 0 {
		t.Errorf("a read without a record: %+v", result)
	}
	b.journal.failReserve = false
	b.publish(oneTool("mutating"))
	prepared := b.prepared(t)
	b.journal.failIntent = true
	authorization := approvaltest.Approve(prepared, time.Now().Add(time.Minute))
	if result := b.pipeline.Execute(context.Background(), authorization); result.Code != "unrecorded" || b.kind.executions() != 0 {
		t.Errorf("an intent that is not durable: %+v", result)
	}
}

// prepared prepares one call of tool t as the pipeline does for an approver.
func (b *bench) prepared(t *testing.T) call.Prepared {
	t.Helper()
	prepared, err := b.pipeline.Prepare(context.Background(), request("t", `{"n": 5}`))
	if err != nil {
		t.Fatal(err)
	}
	return prepared
}

func TestApprovedCallRunsExactlyOnce(t *testing.T) {
	b := newBench(t, oneTool("dangerous"))
	authorization := approvaltest.Approve(b.prepared(t), time.Now().Add(time.Minute))
	var group sync.WaitGroup
	var mu sync.Mutex
	succeeded := 0
	for range 8 {
		group.Go(func() {
			result := b.pipeline.Execute(context.Background(), authorization)
			mu.Lock()
			defer mu.Unlock()
			if result.Success {
				succeeded++
			} else if result.Code != "void" {
				t.Errorf("a loser got %+v", result)
			}
		})
	}
	group.Wait()
	if succeeded != 1 || b.kind.executions() != 1 || len(b.journal.intents) != 1 {
		t.Errorf("%d succeeded, %d executed, %d intents", succeeded, b.kind.executions(), len(b.journal.intents))
	}
	if b.kind.previous == 0 {
		t.Error("the approved effect was not given to the second preparation")
	}
}

func TestApprovalIsVoid(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*bench)
		code   string
	}{
		"the target changed": {func(b *bench) { b.kind.changed = "other" }, "void"},
		"a deny rule came": {func(b *bench) {
			set := oneTool("mutating")
			set.Policies = []*document.ApprovalPolicy{{Header: document.Header{Name: "p"},
				Deny: []document.DenyRule{{ID: "stop", When: "args.n == 5", Message: "no"}}}}
			b.publish(set)
		}, "denied"},
		"a risk rule came": {func(b *bench) {
			set := oneTool("mutating")
			set.RiskRules = []*document.RiskRules{{Header: document.Header{Name: "r"},
				Rules: []document.RiskRule{{ID: "worse", When: "args.n == 5", Risk: "critical", Message: "worse"}}}}
			b.publish(set)
		}, "void"},
		"the tool changed": {func(b *bench) {
			set := oneTool("mutating")
			set.Tools[0].Description = "Another tool."
			b.publish(set)
		}, "void"},
		"the tool is gone": {func(b *bench) { b.publish(&document.Set{}) }, "unknown_tool"},
	} {
		b := newBench(t, oneTool("mutating"))
		authorization := approvaltest.Approve(b.prepared(t), time.Now().Add(time.Minute))
		c.change(b)
		if result := b.pipeline.Execute(context.Background(), authorization); result.Code != c.code || b.kind.executions() != 0 {
			t.Errorf("%s: %+v", name, result)
		}
	}
}

// An edit that changes nothing for the call voids nothing.
func TestApprovalSurvivesAnotherGeneration(t *testing.T) {
	b := newBench(t, oneTool("mutating"))
	authorization := approvaltest.Approve(b.prepared(t), time.Now().Add(time.Minute))
	set := oneTool("mutating")
	set.Tools = append(set.Tools, newTool("u", "read_only"))
	b.publish(set)
	if result := b.pipeline.Execute(context.Background(), authorization); !result.Success {
		t.Errorf("got %+v", result)
	}
}

func TestExpiredAndZeroAuthorizations(t *testing.T) {
	b := newBench(t, oneTool("mutating"))
	expired := approvaltest.Approve(b.prepared(t), time.Now())
	if result := b.pipeline.Execute(context.Background(), expired); result.Code != "void" {
		t.Errorf("expired: %+v", result)
	}
	var none approval.Authorization
	if result := b.pipeline.Execute(context.Background(), none); result.Success || b.kind.executions() != 0 {
		t.Errorf("zero: %+v", result)
	}
}

func TestAdmission(t *testing.T) {
	b := newBench(t, oneTool("read_only"))
	enter, leave := make(chan struct{}), make(chan struct{})
	b.kind.run = func(context.Context) call.Outcome {
		enter <- struct{}{}
		<-leave
		return call.Outcome{Status: call.Complete}
	}
	limit := pipeline.DefaultLimits().PerPrincipal
	var group sync.WaitGroup
	for range limit {
		group.Go(func() { b.call("t", `{}`) })
		<-enter
	}
	if result := b.call("t", `{}`); result.Code != "busy" {
		t.Errorf("one more: %+v", result)
	}
	other := request("nope", `{}`)
	other.Principal.Name = "bob"
	if result := b.pipeline.Call(context.Background(), other); result.Code != "unknown_tool" {
		t.Errorf("another principal: %+v", result)
	}
	close(leave)
	group.Wait()
	if b.kind.run = nil; b.call("t", `{}`).Code == "busy" {
		t.Error("places were not given back")
	}
}

func TestLocksAreHeldToTheEnd(t *testing.T) {
	set := oneTool("read_only")
	set.Tools[0].Locks = []string{"thing:${args.n}"}
	b := newBench(t, set)
	inside := 0
	b.kind.run = func(context.Context) call.Outcome {
		inside++ // the race detector sees two
		inside--
		return call.Outcome{Status: call.Complete}
	}
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() { b.call("t", `{"n": 1}`) })
	}
	group.Wait()
}

func TestTimeoutAndCancel(t *testing.T) {
	set := oneTool("read_only")
	set.Tools[0].Timeout = document.Duration(10 * time.Millisecond)
	b := newBench(t, set)
	b.kind.run = func(ctx context.Context) call.Outcome {
		<-ctx.Done()
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return call.Outcome{Status: call.TimedOut, Reason: "too slow"}
		}
		return call.Outcome{Status: call.Cancelled, Reason: "cancelled"}
	}
	if result := b.call("t", `{}`); result.Status != call.TimedOut || b.journal.last().Result != audit.TimedOut {
		t.Errorf("timeout: %+v", result)
	}
	set.Tools[0].Timeout = 0
	b.publish(&document.Set{Tools: []*document.Tool{newTool("t", "read_only")}})
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(10*time.Millisecond, cancel)
	result := b.pipeline.Call(ctx, request("t", `{}`))
	if result.Status != call.Cancelled || b.journal.last().Result != audit.Cancelled {
		t.Errorf("cancel: %+v", result)
	}
}

// A reload between deciding and executing fails no call that nobody had to
// approve: it starts over under what is in force now.
func TestReloadUnderACall(t *testing.T) {
	b := newBench(t, oneTool("read_only"))
	times := 0
	b.kind.prepare = func(context.Context, executor.Input) error {
		if times++; times == 1 {
			set := oneTool("read_only")
			set.Tools[0].Description = "Another text."
			b.publish(set)
		}
		return nil
	}
	if result := b.call("t", `{}`); !result.Success || result.Generation != 2 || b.kind.executions() != 1 {
		t.Errorf("got %+v after %d executions", result, b.kind.executions())
	}
	b.kind.prepare = func(context.Context, executor.Input) error {
		set := oneTool("read_only")
		set.Policies = []*document.ApprovalPolicy{{Header: document.Header{Name: "p"},
			Deny: []document.DenyRule{{ID: "stop", When: "args.n == 1", Message: "no"}}}}
		b.publish(set)
		b.kind.prepare = nil
		return nil
	}
	if result := b.call("t", `{}`); result.Code != "denied" || b.kind.executions() != 1 {
		t.Errorf("a deny rule that came: %+v", result)
	}
}
