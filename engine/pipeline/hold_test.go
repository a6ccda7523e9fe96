package pipeline_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-dev/writ/engine/approval/approvaltest"
	"github.com/writ-dev/writ/engine/audit"
	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/executor"
	"github.com/writ-dev/writ/engine/root"
)

func onePolicy(policy document.ApprovalPolicy) []*document.ApprovalPolicy {
	policy.Kind, policy.Name = "ApprovalPolicy", "p"
	return []*document.ApprovalPolicy{&policy}
}

// What one person approved is void once other people have to approve it.
func TestApprovalBindsItsRoute(t *testing.T) {
	lead := &document.Approvers{Roles: []string{"lead"}}
	for name, c := range map[string]struct {
		before, after *document.ApprovalPolicy
		code          string
	}{
		"the same":       {&document.ApprovalPolicy{Approvers: lead}, &document.ApprovalPolicy{Approvers: lead}, ""},
		"a set came":     {&document.ApprovalPolicy{}, &document.ApprovalPolicy{Approvers: lead}, "void"},
		"another role":   {&document.ApprovalPolicy{Approvers: lead}, &document.ApprovalPolicy{Approvers: &document.Approvers{Roles: []string{"sre"}}}, "void"},
		"two people":     {&document.ApprovalPolicy{Approvers: lead}, &document.ApprovalPolicy{Approvers: &document.Approvers{Roles: []string{"lead"}, Count: 2}}, "void"},
		"never oneself":  {&document.ApprovalPolicy{Approvers: lead}, &document.ApprovalPolicy{Approvers: &document.Approvers{Roles: []string{"lead"}, Self: "never"}}, "void"},
		"nobody to ask":  {&document.ApprovalPolicy{}, &document.ApprovalPolicy{Entries: map[string]document.EntryPolicy{"mcp": {Unattended: "deny"}}}, "void"},
		"another phrase": {&document.ApprovalPolicy{}, &document.ApprovalPolicy{Confirm: map[string]string{"mutating": "phrase"}}, "void"},
	} {
		set := oneTool("mutating")
		set.Policies = onePolicy(*c.before)
		b := newBench(t, set)
		authorization := approvaltest.Approve(b.prepared(t), time.Now().Add(time.Minute))
		set = oneTool("mutating")
		set.Policies = onePolicy(*c.after)
		b.publish(set)
		result := b.pipeline.Execute(context.Background(), authorization)
		if ran := b.kind.executions() == 1; result.Code != c.code || ran != (c.code == "") {
			t.Errorf("%s: %+v", name, result)
		}
	}
}

// A policy that matches a scope holds for a call that leaves the scope out.
func TestScopeLeftOutEscapesNothing(t *testing.T) {
	set := oneTool("read_only")
	set.Tools[0].Args = append(set.Tools[0].Args, document.Argument{Name: "env", Optional: true, Schema: []byte(`{"type":"string","optional":true}`)})
	set.Tools[0].Scope = map[string]string{"env": "${args.env}"}
	set.Policies = onePolicy(document.ApprovalPolicy{
		Match: &document.Match{Scope: map[string][]string{"env": {"prod"}}},
		Deny:  []document.DenyRule{{ID: "closed", When: "true", Message: "closed"}},
	})
	b := newBench(t, set)
	for arguments, code := range map[string]string{`{"env":"dev"}`: "", `{"env":"prod"}`: "denied", `{}`: "denied", `{"env":null}`: "denied"} {
		if result := b.call("t", arguments); result.Code != code {
			t.Errorf("%s: %+v", arguments, result)
		}
	}
}

// A process that dies leaves an intent, which must say what the call was.
func TestIntentSaysWhatTheCallIs(t *testing.T) {
	for _, risk := range []string{"mutating", "per_call"} {
		b := newBench(t, oneTool(risk))
		if risk == "per_call" {
			b.call("t", `{"n": 5}`)
		} else {
			b.pipeline.Execute(context.Background(), approvaltest.Approve(b.prepared(t), time.Now().Add(time.Minute)))
		}
		if len(b.journal.intents) != 1 {
			t.Fatalf("%s: %d intents", risk, len(b.journal.intents))
		}
		intent, outcome := b.journal.intents[0], b.journal.last()
		if intent.ArgumentDigest == "" || intent.ArgumentDigest != outcome.ArgumentDigest || intent.EffectDigest == "" ||
			intent.EffectDigest != outcome.EffectDigest || intent.Tool != "t" || intent.Decision == "" || intent.Approval == "" {
			t.Errorf("%s: intent %+v", risk, intent)
		}
	}
}

// Whatever goes wrong while a call is judged, it is not executed.
func TestWhenEvaluationFails(t *testing.T) {
	// n * n is beyond int64, so that no expression can say anything of it.
	const arguments, broken = `{"n": 9000000000000000000}`, "args.n * args.n == 1"
	optional := document.Argument{Name: "who", Optional: true, Schema: []byte(`{"type":"object","additionalProperties":{"type":"string"},"optional":true}`)}
	for name, c := range map[string]struct {
		change func(*document.Set)
		code   string
	}{
		"risk rule": {func(set *document.Set) {
			set.RiskRules = []*document.RiskRules{{Header: document.Header{Name: "r"},
				Rules: []document.RiskRule{{ID: "odd", When: broken, Risk: "critical", Message: "odd"}}}}
		}, "approval_required"},
		"deny rule": {func(set *document.Set) {
			set.Policies = onePolicy(document.ApprovalPolicy{Deny: []document.DenyRule{{ID: "odd", When: broken, Message: "odd"}}})
		}, "denied"},
		"refuse": {func(set *document.Set) {
			set.Tools[0].Refuse = []document.Refuse{{ID: "odd", When: broken, Message: "odd"}}
		}, "refused"},
		"scope": {func(set *document.Set) {
			set.Tools[0].Args = append(set.Tools[0].Args, optional)
			set.Tools[0].Args[1].Schema = []byte(`{"type":"object","additionalProperties":{"type":"string"},"default":{}}`)
			set.Tools[0].Scope = map[string]string{"who": "is ${args.who.name}"}
		}, "invalid_arguments"},
		"lock": {func(set *document.Set) {
			set.Tools[0].Args = append(set.Tools[0].Args, optional)
			set.Tools[0].Args[1].Schema = []byte(`{"type":"object","additionalProperties":{"type":"string"},"default":{}}`)
			set.Tools[0].Locks = []string{"${args.who.name}"}
		}, "invalid_arguments"},
		"availability": {func(set *document.Set) {
			set.Tools[0].Requires = &document.Requires{Commands: []string{"no-such-program-anywhere"}}
		}, "unavailable"},
	} {
		set := oneTool("read_only")
		c.change(set)
		b := newBench(t, set)
		result := b.call("t", arguments)
		if result.Success || result.Code != c.code || b.kind.executions() != 0 {
			t.Errorf("%s: %+v", name, result)
		}
		if record := b.journal.last(); record.Code != c.code || record.Result != audit.Refused {
			t.Errorf("%s: record %+v", name, record)
		}
	}
}

// An error of the executor while it prepares is a refusal, and its locks and
// places are free afterwards.
func TestPlacesComeBackOnEveryPath(t *testing.T) {
	set := oneTool("read_only")
	set.Tools[0].Locks = []string{"thing"}
	b := newBench(t, set)
	for name, change := range map[string]func(){
		"prepare fails":  func() { b.kind.prepare = func(context.Context, executor.Input) error { return errors.New("no") } },
		"prepare panics": func() { b.kind.prepare = func(context.Context, executor.Input) error { panic("no") } },
		"execute panics": func() { b.kind.run = func(context.Context) call.Outcome { panic("no") } },
		"says nothing":   func() { b.kind.run = func(context.Context) call.Outcome { return call.Outcome{} } },
		"no structure": func() {
			b.kind.run = func(context.Context) call.Outcome { return call.Outcome{Status: call.Complete, Value: struct{}{}} }
		},
	} {
		change()
		for range 20 { // more than one principal may have under way
			if result := b.call("t", `{}`); result.Success && name != "no structure" || result.Code == "busy" {
				t.Errorf("%s: %+v", name, result)
			}
		}
		b.kind.prepare, b.kind.run = nil, nil
		if result := b.call("t", `{}`); !result.Success {
			t.Errorf("after %s: %+v", name, result)
		}
	}
	b.journal.mu.Lock()
	defer b.journal.mu.Unlock()
	if b.journal.reserved != len(b.journal.outcomes) || b.journal.released != b.journal.reserved {
		t.Errorf("%d reserved, %d outcomes, %d released", b.journal.reserved, len(b.journal.outcomes), b.journal.released)
	}
}

// Who watches a call cannot make it fail.
func TestFaultsOfWatchersStayTheirs(t *testing.T) {
	set := oneTool("read_only")
	set.Tools[0].Output = &document.Output{As: "lines"}
	b := newBench(t, set)
	b.pipeline.Observe = func(audit.Record) { panic("observer") }
	told := atomic.Bool{}
	b.kind.watch = func(run executor.Run) {
		done := make(chan struct{})
		go func() { defer close(done); run.Line(1) }()
		<-done
	}
	r := request("t", `{}`)
	r.Progress = func(call.Progress) { told.Store(true); panic("progress") }
	if result := b.pipeline.Call(context.Background(), r); !result.Success || !told.Load() {
		t.Errorf("%+v, told %t", result, told.Load())
	}
}

// Prepare is as safe as Call.
func TestPrepareSurvivesPanics(t *testing.T) {
	b := newBench(t, oneTool("mutating"))
	b.kind.prepare = func(context.Context, executor.Input) error { panic("/etc/secret") }
	if _, err := b.pipeline.Prepare(context.Background(), request("t", `{}`)); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}

// An authorization is good for its own request only, whatever the generation
// is and however often it is tried.
func TestReplay(t *testing.T) {
	b := newBench(t, oneTool("mutating"))
	authorization := approvaltest.Approve(b.prepared(t), time.Now().Add(time.Minute))
	var codes []string
	for range 3 {
		codes = append(codes, b.pipeline.Execute(context.Background(), authorization).Code)
		b.publish(oneTool("mutating"))
	}
	if !slices.Equal(codes, []string{"", "void", "void"}) || b.kind.executions() != 1 {
		t.Errorf("%q after %d executions", codes, b.kind.executions())
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	fresh := approvaltest.Approve(b.prepared(t), time.Now().Add(time.Minute))
	if result := b.pipeline.Execute(ctx, fresh); result.Success || b.kind.executions() != 1 {
		t.Errorf("a cancelled caller: %+v", result)
	}
}

// What a path leads to is found out again once the locks are held.
func TestPathsAreResolvedUnderTheLock(t *testing.T) {
	top := t.TempDir()
	link := filepath.Join(top, "work", "link")
	swap := func(to string) {
		if err := errors.Join(os.RemoveAll(link), os.Symlink(to, link)); err != nil {
			t.Skipf("this system makes no symlinks: %v", err)
		}
	}
	if err := os.MkdirAll(filepath.Join(top, "work", "inside"), 0o700); err != nil {
		t.Fatal(err)
	}
	set := oneTool("read_only")
	set.Tools[0].Args = append(set.Tools[0].Args, document.Argument{Name: "p", Schema: []byte(`{"type":"string","format":"path","under":["work"],"default":"link"}`)})
	set.Tools[0].Locks = []string{"thing"}
	b := newBench(t, &document.Set{})
	roots, err := root.Open(map[string]string{"work": filepath.Join(top, "work")}, top, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.roots = roots
	b.publish(set)
	swap("inside")
	entered, leave := make(chan struct{}), make(chan struct{})
	b.kind.run = func(context.Context) call.Outcome {
		close(entered)
		<-leave
		return call.Outcome{Status: call.Complete}
	}
	var group sync.WaitGroup
	group.Go(func() { b.call("t", `{"n": 1}`) })
	<-entered
	waiting := make(chan call.Result)
	ctx := &noticed{Context: context.Background(), asked: make(chan struct{}, 16)}
	go func() { waiting <- b.pipeline.Call(ctx, request("t", `{"n": 2}`)) }()
	<-ctx.asked // it waits for the lock, or is about to
	swap("/")
	close(leave)
	group.Wait()
	if result := <-waiting; result.Code != "invalid_arguments" || b.kind.executions() != 1 {
		t.Errorf("%+v after %d executions", result, b.kind.executions())
	}
}

// noticed is a context that tells when somebody is about to wait for it.
type noticed struct {
	context.Context
	asked chan struct{}
}

func (n *noticed) Done() <-chan struct{} {
	select {
	case n.asked <- struct{}{}:
	default:
	}
	return n.Context.Done()
}
