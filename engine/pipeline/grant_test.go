package pipeline_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/writ-dev/writ/engine/approval"
	"github.com/writ-dev/writ/engine/audit"
	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/catalog"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/pipeline"
	"github.com/writ-dev/writ/engine/store"
)

// granting is a bench whose journal is a real store.
type granting struct {
	*bench
	store *store.Store
	path  string
}

func newGranting(t *testing.T, set *document.Set) *granting {
	g := &granting{bench: newBench(t, set), path: t.TempDir()}
	g.reopen()
	t.Cleanup(func() { _ = g.store.Close(context.Background()) })
	g.put(set)
	return g
}

func (g *granting) reopen() {
	g.t.Helper()
	if g.store != nil {
		if err := g.store.Close(context.Background()); err != nil {
			g.t.Fatal(err)
		}
	}
	var err error
	g.store, err = store.Open(context.Background(), g.path, store.Options{Log: slog.New(slog.DiscardHandler), Now: time.Now})
	if err != nil {
		g.t.Fatal(err)
	}
	options := g.pipeline.Options
	options.Journal = g.store
	options.Limits = pipeline.Limits{Calls: 64, PerPrincipal: 64, ArgumentsBytes: 1 << 10}
	g.pipeline = pipeline.New(options)
}

// put brings a configuration into force as a server does.
func (g *granting) put(set *document.Set) {
	g.t.Helper()
	next, problems := g.compiler.Compile(set, catalog.Inputs{Roots: g.roots})
	if err := problems.Err(); err != nil {
		g.t.Fatal(err)
	}
	var list []store.InForce
	for _, known := range next.Grants {
		tools := map[string]string{}
		for name, digest := range known.Patterned {
			tools[name] = digest.String()
		}
		list = append(list, store.InForce{Name: known.Name, Uses: known.Uses, Reviewed: known.Reviewed, Tools: tools})
	}
	if err := g.store.EnterGrants(list); err != nil {
		g.t.Fatal(err)
	}
	g.live.Publish(next)
}

func (g *granting) used(name string) int64 {
	g.t.Helper()
	kept, err := g.store.Grants(context.Background())
	if err != nil {
		g.t.Fatal(err)
	}
	return kept[name].Used
}

func (g *granting) lastRecord() audit.Record {
	g.t.Helper()
	records, err := g.store.Records(context.Background(), audit.Filter{Limit: 1})
	if err != nil || len(records) != 1 {
		g.t.Fatalf("%d records, %v", len(records), err)
	}
	return records[0]
}

func newGrant(name string, uses int64, change func(*document.Grant)) *document.Grant {
	d := &document.Grant{
		Header: document.Header{Kind: "Grant", Name: name}, Match: &document.Match{Tools: []string{"t"}},
		ExpiresAt: "2999-01-01T00:00:00Z", Uses: uses, Reason: "r",
	}
	if change != nil {
		change(d)
	}
	return d
}

func granted(risk string, grants ...*document.Grant) *document.Set {
	set := oneTool(risk)
	set.Grants = grants
	return set
}

func TestGrantReleases(t *testing.T) {
	g := newGranting(t, granted("mutating", newGrant("g", 1, nil)))
	if result := g.call("t", `{}`); result.Status != call.Complete {
		t.Fatalf("%+v", result)
	}
	record := g.lastRecord()
	if record.Approval != approval.ApprovedByGrant || record.Grant != "g" || record.SettledBy != "grant g" || record.Risk != call.Mutating {
		t.Errorf("record %+v", record)
	}
	if result := g.call("t", `{}`); result.Code != "approval_required" {
		t.Errorf("a spent grant: %+v", result)
	}
	if record := g.lastRecord(); record.Grant != "" || record.Approval != approval.NotRequested || record.SettledBy == "grant g" {
		t.Errorf("record of a spent grant %+v", record)
	}
	if g.kind.executions() != 1 {
		t.Errorf("executed %d times", g.kind.executions())
	}
}

// TestGrantsConsumeOnlyWhereNeeded is contract P-57, P-58 and P-76.
func TestGrantsConsumeOnlyWhereNeeded(t *testing.T) {
	deny := &document.ApprovalPolicy{
		Header: document.Header{Kind: "ApprovalPolicy", Name: "p"},
		Deny:   []document.DenyRule{{ID: "d", When: "args.n == 9", Message: "m"}},
	}
	raise := &document.RiskRules{
		Header: document.Header{Kind: "RiskRules", Name: "r"},
		Rules:  []document.RiskRule{{ID: "raised", When: "args.n == 8", Risk: "dangerous", Message: "m"}},
	}
	except := &document.ApprovalPolicy{
		Header: document.Header{Kind: "ApprovalPolicy", Name: "p"}, Match: &document.Match{Tools: []string{"t"}}, Grants: new(bool),
	}
	for name, c := range map[string]struct {
		set       *document.Set
		arguments string
		code      string
	}{
		"a read":         {granted("read_only", newGrant("g", 1, nil)), `{}`, ""},
		"denied":         {&document.Set{Tools: oneTool("mutating").Tools, Grants: []*document.Grant{newGrant("g", 1, nil)}, Policies: []*document.ApprovalPolicy{deny}}, `{"n": 9}`, "denied"},
		"raised":         {&document.Set{Tools: oneTool("mutating").Tools, Grants: []*document.Grant{newGrant("g", 1, nil)}, RiskRules: []*document.RiskRules{raise}}, `{"n": 8}`, "approval_required"},
		"excepted":       {&document.Set{Tools: oneTool("mutating").Tools, Grants: []*document.Grant{newGrant("g", 1, nil)}, Policies: []*document.ApprovalPolicy{except}}, `{}`, "approval_required"},
		"critical":       {granted("critical", newGrant("g", 1, nil)), `{}`, "approval_required"},
		"expired":        {granted("mutating", newGrant("g", 1, func(d *document.Grant) { d.ExpiresAt = "2020-01-01T00:00:00Z" })), `{}`, "approval_required"},
		"does not match": {granted("mutating", newGrant("g", 1, func(d *document.Grant) { d.When = "args.n > 5" })), `{"n": 5}`, "approval_required"},
	} {
		g := newGranting(t, c.set)
		if result := g.call("t", c.arguments); result.Code != c.code {
			t.Errorf("%s: %+v", name, result)
		}
		if used := g.used("g"); used != 0 {
			t.Errorf("%s: %d uses were counted", name, used)
		}
	}
}

// TestGrantsInOrder tries them by name; a spent one hides no other (P-63).
func TestGrantsInOrder(t *testing.T) {
	g := newGranting(t, granted("mutating", newGrant("b", 1, nil), newGrant("c", 1, nil), newGrant("a", 1, func(d *document.Grant) { d.When = "args.n > 5" })))
	for i, want := range []string{"b", "c", ""} {
		g.call("t", `{}`)
		if got := g.lastRecord().Grant; got != want {
			t.Errorf("call %d was released by %q, want %q", i, got, want)
		}
	}
	if err := g.store.RevokeGrant("a", "bob"); err != nil {
		t.Fatal(err)
	}
	if result := g.call("t", `{"n": 6}`); result.Code != "approval_required" {
		t.Errorf("a revoked grant: %+v", result)
	}
}

// TestUnattendedCallIsReleased gives to a call for which nobody can be asked
// what it needs.
func TestUnattendedCallIsReleased(t *testing.T) {
	g := newGranting(t, granted("mutating", newGrant("g", 1, nil)))
	r := request("t", `{}`)
	r.Unattended = true
	if result := g.pipeline.Call(context.Background(), r); result.Status != call.Complete {
		t.Errorf("%+v", result)
	}
}

// TestUncountedUse refuses the call, asks nobody, and executes nothing (P-70).
func TestUncountedUse(t *testing.T) {
	g := newGranting(t, granted("mutating", newGrant("g", 3, nil)))
	g.pipeline.Approvers = func() []approval.Approver { return []approval.Approver{{Name: "bob"}} }
	next, problems := g.compiler.Compile(granted("mutating", newGrant("never_noted", 3, nil)), catalog.Inputs{Roots: g.roots})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	g.live.Publish(next)
	if result := g.call("t", `{}`); result.Code != "grant_state" {
		t.Errorf("a grant whose state is not there: %+v", result)
	}
	options := g.pipeline.Options
	options.Journal = g.journal // which cannot count
	g.pipeline = pipeline.New(options)
	if result := g.call("t", `{}`); result.Code != "grant_state" {
		t.Errorf("a journal that cannot count: %+v", result)
	}
	if n := len(g.desk.Tickets()); n != 0 || g.kind.executions() != 0 {
		t.Errorf("%d tickets, %d executions", n, g.kind.executions())
	}
}

// TestPatternCoversWhatWasThere adds and changes a tool under a pattern.
func TestPatternCoversWhatWasThere(t *testing.T) {
	pattern := func(reviewed string) *document.Grant {
		return newGrant("g", 0, func(d *document.Grant) { d.Match.Tools, d.Reviewed = []string{"t*"}, reviewed })
	}
	set := granted("mutating", pattern(""))
	g := newGranting(t, set)
	if result := g.call("t", `{}`); result.Status != call.Complete {
		t.Fatalf("%+v", result)
	}
	changed := newTool("t", "mutating")
	changed.Description = "Another tool."
	more := &document.Set{Tools: []*document.Tool{changed, newTool("t2", "mutating")}, Grants: set.Grants}
	g.put(more)
	for _, name := range []string{"t", "t2"} {
		if result := g.call(name, `{}`); result.Code != "approval_required" {
			t.Errorf("%s is covered without a review: %+v", name, result)
		}
	}
	more.Grants = []*document.Grant{pattern("2026-12-01")}
	g.put(more)
	for _, name := range []string{"t", "t2"} {
		if result := g.call(name, `{}`); result.Status != call.Complete {
			t.Errorf("%s is not covered after a review: %+v", name, result)
		}
	}
}

// TestTwentyReleases lets 64 callers race for 20 uses while generations come
// and go, and again after a restart.
func TestTwentyReleases(t *testing.T) {
	g := newGranting(t, granted("mutating", newGrant("g", 12, nil), newGrant("h", 8, nil)))
	race := func() (released int) {
		var group sync.WaitGroup
		var mu sync.Mutex
		for i := range 64 {
			group.Go(func() {
				result := g.call("t", fmt.Sprintf(`{"n": %d}`, i%3))
				mu.Lock()
				defer mu.Unlock()
				switch {
				case result.Status == call.Complete:
					released++
				case result.Code != "approval_required" && result.Code != "busy":
					t.Errorf("%+v", result)
				}
			})
		}
		for range 3 {
			g.put(granted("mutating", newGrant("g", 12, nil), newGrant("h", 8, nil)))
		}
		group.Wait()
		return released
	}
	released := race()
	g.put(oneTool("mutating")) // removed
	g.put(granted("mutating", newGrant("g", 50, nil), newGrant("h", 50, nil)))
	g.reopen()
	released += race()
	for g.call("t", `{}`).Status == call.Complete { // what was told to be busy
		released++
	}
	if released != 20 || g.kind.executions() != 20 || g.used("g")+g.used("h") != 20 {
		t.Errorf("%d releases, %d executions, %d and %d uses; want 20", released, g.kind.executions(), g.used("g"), g.used("h"))
	}
}

// TestTruncatedState ends with a refusal to open, and never with new uses.
func TestTruncatedState(t *testing.T) {
	g := newGranting(t, granted("mutating", newGrant("g", 1, nil)))
	g.call("t", `{}`)
	if err := g.store.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(g.path, "writ.db"), 5000); err != nil {
		t.Fatal(err)
	}
	opened, err := store.Open(context.Background(), g.path, store.Options{Log: slog.New(slog.DiscardHandler), Now: time.Now})
	if err == nil {
		_ = opened.Close(context.Background())
		t.Error("a truncated state folder was opened")
	}
	if g.kind.executions() != 1 {
		t.Errorf("executed %d times", g.kind.executions())
	}
}

// TestDangerousNeedsBothKeys is contract P-59, and that even both release
// nothing which needs a phrase.
func TestDangerousNeedsBothKeys(t *testing.T) {
	for name, c := range map[string]struct {
		file, flag, local bool
		want              call.Status
	}{
		"both":            {true, true, true, call.Complete},
		"file alone":      {true, false, true, call.Refused},
		"both, not local": {true, true, false, call.Refused},
	} {
		set := granted("dangerous", newGrant("g", 1, func(d *document.Grant) { d.MaxRisk = "dangerous" }))
		set.Policies = []*document.ApprovalPolicy{{Header: document.Header{Kind: "ApprovalPolicy", Name: "p"}, Posture: "permissive"}}
		g := newGranting(t, oneTool("dangerous"))
		next, problems := g.compiler.Compile(set, catalog.Inputs{Roots: g.roots, DangerousGrants: c.file})
		if err := problems.Err(); err != nil {
			t.Fatal(err)
		}
		if err := g.store.EnterGrants([]store.InForce{{Name: "g", Uses: 1}}); err != nil {
			t.Fatal(err)
		}
		g.live.Publish(next)
		options := g.pipeline.Options
		options.DangerousGrants = c.flag
		g.pipeline = pipeline.New(options)
		r := request("t", `{}`)
		r.Entry, r.Local = call.EntryCLI, c.local
		if result := g.pipeline.Call(context.Background(), r); result.Status != c.want {
			t.Errorf("%s: %+v", name, result)
		}
	}
}
