package approval_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/writ-dev/writ/engine/approval"
	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/policy"
	"github.com/writ-dev/writ/engine/risk"
)

func newDesk() *approval.Desk {
	var mu sync.Mutex
	n := 0
	return approval.NewDesk(time.Now, func() string { mu.Lock(); defer mu.Unlock(); n++; return "t" + strconv.Itoa(n) })
}

// question is a call of ann, told apart by text.
func question(text string, change ...func(*approval.Question)) approval.Question {
	q := approval.Question{
		Prepared: call.Prepared{
			Request:   call.Request{Tool: "t", Principal: call.Principal{Name: "ann"}, Entry: call.EntryMCP, Session: "s"},
			Arguments: map[string]any{"text": text},
			Effect:    call.Effect{Preview: text, Bound: map[string]any{"argv": []any{text}}},
			Digest:    call.DigestOf(text),
		},
		Assessment: risk.Assessment{Level: call.Mutating},
		Decision: policy.Decision{Effect: policy.RequireApproval, Confirmation: policy.Confirm, Pending: policy.Pending{
			Timeout: policy.DefaultTimeout, AnswerAfter: policy.DefaultAnswerAfter,
			Collect: policy.DefaultCollect, Max: policy.DefaultMaxPending,
		}},
	}
	for _, c := range change {
		c(&q)
	}
	return q
}

var bob = approval.Approver{Name: "bob", Roles: []string{"lead"}}

func yes(t approval.Ticket) approval.Verdict {
	return approval.Verdict{Approve: true, Effect: t.Prepared.Effect.Digest(), Phrase: t.Phrase()}
}

// asked starts to ask in the background and waits until the ticket is there.
func asked(d *approval.Desk, ctx context.Context, q approval.Question) <-chan approval.Answer {
	answers := make(chan approval.Answer, 1)
	go func() { answers <- d.Ask(ctx, q) }()
	synctest.Wait()
	return answers
}

func authorized(a approval.Answer) bool { _, ok := a.Authorization.Prepared(); return ok }

func TestApproveOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		answers := asked(d, t.Context(), question("x"))
		ticket := d.Tickets()[0]
		if err := d.Decide(ticket.ID, bob, yes(ticket)); err != nil {
			t.Fatal(err)
		}
		a := <-answers
		if !authorized(a) || a.Authorization.By() != approval.ApprovedOnce || !a.Authorization.Asked() {
			t.Errorf("got %+v", a)
		}
		if a.Authorization.Spend(time.Now()) != nil || !errors.Is(a.Authorization.Spend(time.Now()), approval.ErrSpent) {
			t.Error("not spent exactly once")
		}
		if err := d.Decide(ticket.ID, bob, yes(ticket)); !errors.Is(err, approval.ErrSettled) {
			t.Errorf("a second verdict: %v", err)
		}
		if settled, _ := d.Ticket(ticket.ID); settled.Prepared.Arguments != nil || settled.Prepared.Effect.Preview != "" {
			t.Error("a settled ticket keeps its arguments")
		}
	})
}

// Each verdict that must not be taken, with the reason.
func TestVerdictsThatAreNotTaken(t *testing.T) {
	ann := approval.Approver{Name: "ann"}
	annAtTerminal := approval.Approver{Name: "ann", Terminal: true}
	sets := func(list ...policy.Approvers) func(*approval.Question) {
		return func(q *approval.Question) { q.Decision.Approvers = list }
	}
	phrase := func(q *approval.Question) { q.Decision.Confirmation = policy.Phrase }
	for name, c := range map[string]struct {
		q    approval.Question
		by   approval.Approver
		v    func(*approval.Verdict)
		want error
	}{
		"another effect":    {question("x"), bob, func(v *approval.Verdict) { v.Effect[0]++ }, approval.ErrStale},
		"no phrase":         {question("x", phrase), bob, func(v *approval.Verdict) { v.Phrase = "" }, approval.ErrPhrase},
		"another's phrase":  {question("x", phrase), bob, func(v *approval.Verdict) { v.Phrase = "APPROVE t9" }, approval.ErrPhrase},
		"the requester":     {question("x"), ann, nil, approval.ErrSelf},
		"at the terminal":   {question("x"), annAtTerminal, nil, nil},
		"never oneself":     {question("x", sets(policy.Approvers{Self: policy.SelfNever})), annAtTerminal, nil, approval.ErrSelf},
		"not in the set":    {question("x", sets(policy.Approvers{Roles: []string{"sre"}})), bob, nil, approval.ErrNotAsked},
		"by role":           {question("x", sets(policy.Approvers{Roles: []string{"lead"}})), bob, nil, nil},
		"without a reason":  {question("x", sets(policy.Approvers{Reason: true})), bob, nil, approval.ErrReason},
		"with a reason":     {question("x", sets(policy.Approvers{Reason: true})), bob, func(v *approval.Verdict) { v.Reason = "OPS-1" }, nil},
		"remember a phrase": {question("x", phrase), bob, func(v *approval.Verdict) { v.Remember = true }, approval.ErrRemember},
		"remember danger": {question("x", func(q *approval.Question) { q.Assessment.Level = call.Dangerous }), bob,
			func(v *approval.Verdict) { v.Remember = true }, approval.ErrRemember},
		"remember for two": {question("x", sets(policy.Approvers{Count: 2})), bob,
			func(v *approval.Verdict) { v.Remember = true }, approval.ErrRemember},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk()
			ctx, cancel := context.WithCancel(t.Context())
			answers := asked(d, ctx, c.q)
			ticket := d.Tickets()[0]
			v := yes(ticket)
			if c.v != nil {
				c.v(&v)
			}
			if err := d.Decide(ticket.ID, c.by, v); !errors.Is(err, c.want) {
				t.Errorf("%s: got %v, want %v", name, err, c.want)
			}
			if now, _ := d.Ticket(ticket.ID); c.want != nil && (now.State != approval.Pending || len(now.Votes) != 0) {
				t.Errorf("%s: the ticket is %s with %d votes", name, now.State, len(now.Votes))
			}
			cancel()
			<-answers
		})
	}
}

func TestTwoDistinctPeople(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		answers := asked(d, t.Context(), question("x", func(q *approval.Question) {
			q.Decision.Approvers = []policy.Approvers{{People: []string{"bob", "cy", "di"}, Count: 2}}
		}))
		ticket := d.Tickets()[0]
		if err := d.Decide(ticket.ID, bob, yes(ticket)); err != nil {
			t.Fatal(err)
		}
		if err := d.Decide(ticket.ID, bob, yes(ticket)); !errors.Is(err, approval.ErrTwice) {
			t.Errorf("the same person again: %v", err)
		}
		if now, _ := d.Ticket(ticket.ID); now.State != approval.Pending {
			t.Fatalf("one of two gives %s", now.State)
		}
		if err := d.Decide(ticket.ID, approval.Approver{Name: "cy"}, yes(ticket)); err != nil {
			t.Fatal(err)
		}
		if a := <-answers; !authorized(a) {
			t.Errorf("got %+v", a)
		}
	})
}

func TestReject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		answers := asked(d, t.Context(), question("x"))
		ticket := d.Tickets()[0]
		if err := d.Decide(ticket.ID, bob, approval.Verdict{Effect: ticket.Prepared.Effect.Digest(), Reason: "not today"}); err != nil {
			t.Fatal(err)
		}
		if a := <-answers; a.Code != "rejected" || !strings.Contains(a.Reason, "not today") {
			t.Errorf("got %+v", a)
		}
		if a := d.Ask(t.Context(), question("x")); a.Code != "rejected" || len(d.Tickets()) != 1 {
			t.Errorf("an identical call: %+v, %d tickets", a, len(d.Tickets()))
		}
		time.Sleep(approval.RejectionMemory)
		ctx, cancel := context.WithCancel(t.Context())
		again := asked(d, ctx, question("x"))
		if n := len(d.Tickets()); n != 2 {
			t.Errorf("after the rejection is forgotten there are %d tickets", n)
		}
		cancel()
		<-again
	})
}

// A caller that is told to come back collects the decision, once.
func TestAnswerAndCollect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		a := d.Ask(t.Context(), question("x"))
		if a.Code != "approval_pending" || a.Ticket == "" {
			t.Fatalf("got %+v", a)
		}
		ticket := d.Tickets()[0]
		if err := d.Decide(ticket.ID, bob, yes(ticket)); err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		var mu sync.Mutex
		codes := map[string]int{}
		for range 5 {
			group.Go(func() {
				a := d.Ask(t.Context(), question("x"))
				mu.Lock()
				defer mu.Unlock()
				if authorized(a) {
					codes["authorized"]++
					return
				}
				codes[a.Code]++
			})
		}
		synctest.Wait()
		// The others ask anew: their call is identical, and nobody runs it any more.
		mu.Lock()
		collected := codes["authorized"]
		mu.Unlock()
		if collected != 1 {
			t.Errorf("%d collected the approval", collected)
		}
		d.Void("the test ends")
		group.Wait()
	})
}

// Callers that wait together share a ticket; one runs and the others are told.
func TestOneOfManyWaitersCollects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		var group sync.WaitGroup
		var mu sync.Mutex
		codes := map[string]int{}
		for range 10 {
			group.Go(func() {
				a := d.Ask(t.Context(), question("x"))
				mu.Lock()
				defer mu.Unlock()
				if authorized(a) {
					a.Code = "authorized"
				}
				codes[a.Code]++
			})
		}
		synctest.Wait()
		if tickets := d.Tickets(); len(tickets) != 1 || tickets[0].Waiting != 10 {
			t.Fatalf("%d tickets, %d wait", len(tickets), tickets[0].Waiting)
		}
		ticket := d.Tickets()[0]
		if err := d.Decide(ticket.ID, bob, yes(ticket)); err != nil {
			t.Fatal(err)
		}
		group.Wait()
		if codes["authorized"] != 1 || codes["collected"] != 9 {
			t.Errorf("got %v", codes)
		}
	})
}

// An approval never starts a call whose caller is gone: it waits for a
// repetition, and not for ever.
func TestCallerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		ctx, cancel := context.WithCancel(t.Context())
		answers := asked(d, ctx, question("x"))
		cancel()
		if a := <-answers; a.Code != "cancelled" {
			t.Errorf("got %+v", a)
		}
		ticket := d.Tickets()[0]
		if ticket.State != approval.Pending || ticket.Waiting != 0 {
			t.Fatalf("the ticket is %s with %d waiting", ticket.State, ticket.Waiting)
		}
		if err := d.Decide(ticket.ID, bob, yes(ticket)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(policy.DefaultCollect)
		if now, _ := d.Ticket(ticket.ID); now.State != approval.Expired {
			t.Errorf("an approval that nobody collects is %s", now.State)
		}
	})
}

func TestExpiryAndVoid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		short := func(q *approval.Question) { q.Decision.Pending.Timeout = 10 * time.Second }
		if a := d.Ask(t.Context(), question("x", short)); a.Code != "expired" {
			t.Errorf("got %+v", a)
		}
		answers := asked(d, t.Context(), question("y"))
		d.Close("the server stops")
		if a := <-answers; a.Code != "void" || a.Reason != "the server stops" {
			t.Errorf("got %+v", a)
		}
		if a := d.Ask(t.Context(), question("z")); a.Code != "void" {
			t.Errorf("a closed desk: %+v", a)
		}
	})
}

func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		ctx, cancel := context.WithCancel(t.Context())
		var all []<-chan approval.Answer
		from := func(principal string, n int) approval.Question {
			return question(fmt.Sprint(principal, n), func(q *approval.Question) { q.Prepared.Request.Principal.Name = principal })
		}
		for n := range approval.MaxPerPrincipal {
			all = append(all, asked(d, ctx, from("ann", n)))
		}
		if a := d.Ask(ctx, from("ann", 99)); a.Code != "too_many_pending" {
			t.Errorf("one more of a principal: %+v", a)
		}
		for n := range policy.DefaultMaxPending - approval.MaxPerPrincipal {
			all = append(all, asked(d, ctx, from("bea", n)))
		}
		if a := d.Ask(ctx, from("cid", 1)); a.Code != "too_many_pending" {
			t.Errorf("one more in all: %+v", a)
		}
		d.Void("enough")
		cancel()
		for _, answers := range all {
			<-answers
		}
		big := question("big", func(q *approval.Question) { q.Prepared.Effect.Preview = strings.Repeat("x", approval.MaxPreview+1) })
		if a := d.Ask(t.Context(), big); a.Code != "void" {
			t.Errorf("a preview that cannot be shown: %+v", a)
		}
		for n := approval.MaxPerPrincipal; n < approval.TicketsPerHour; n++ {
			answers := asked(d, t.Context(), from("ann", 100+n))
			d.Void("next")
			<-answers
		}
		if a := d.Ask(t.Context(), from("ann", 999)); a.Code != "too_many_pending" {
			t.Errorf("one more within an hour: %+v", a)
		}
		time.Sleep(time.Hour)
		answers := asked(d, t.Context(), from("ann", 1000))
		if len(answers) != 0 {
			t.Errorf("after an hour: %+v", <-answers)
		}
		d.Void("the end")
		<-answers
	})
}

func TestRememberForTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		answers := asked(d, t.Context(), question("x"))
		ticket := d.Tickets()[0]
		v := yes(ticket)
		v.Remember = true
		if err := d.Decide(ticket.ID, bob, v); err != nil {
			t.Fatal(err)
		}
		<-answers
		for n := range approval.RememberUses {
			if a := d.Ask(t.Context(), question("x")); !authorized(a) || a.Authorization.By() != approval.ApprovedForSession {
				t.Fatalf("repetition %d: %+v", n, a)
			}
		}
		for name, q := range map[string]approval.Question{
			"used up":         question("x"),
			"another session": question("x", func(q *approval.Question) { q.Prepared.Request.Session = "other" }),
			"another call":    question("y"),
		} {
			answers := asked(d, t.Context(), q)
			if len(answers) != 0 {
				t.Errorf("%s: %+v", name, <-answers)
				continue
			}
			d.Void(name)
			<-answers
		}
	})
}

// A thousand tickets are made, decided, expired and cancelled at once: no
// decision is lost and no call is authorized twice.
func TestManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		changes, cancel := d.Subscribe()
		var approving, asking sync.WaitGroup
		done := make(chan struct{})
		approving.Go(func() {
			for {
				select {
				case <-changes:
				case <-done:
					return
				}
				for n, ticket := range d.Tickets() {
					switch {
					case ticket.State != approval.Pending:
					case n%4 == 3:
						d.Cancel(ticket.ID, "no longer wanted")
					case n%4 == 2:
						_ = d.Decide(ticket.ID, bob, approval.Verdict{Effect: ticket.Prepared.Effect.Digest()})
					default:
						_ = d.Decide(ticket.ID, bob, yes(ticket))
					}
				}
			}
		})
		var mu sync.Mutex
		authorizedOf := map[string]int{}
		for n := range 1000 {
			asking.Go(func() {
				name := fmt.Sprint("p", n)
				a := d.Ask(t.Context(), question(name, func(q *approval.Question) {
					q.Prepared.Request.Principal.Name = name
					q.Decision.Pending.Max = 1000
				}))
				mu.Lock()
				defer mu.Unlock()
				if authorized(a) && a.Authorization.Spend(time.Now()) == nil {
					authorizedOf[name]++
				}
			})
		}
		asking.Wait()
		cancel()
		close(done)
		approving.Wait()
		for name, n := range authorizedOf {
			if n != 1 {
				t.Errorf("%s was authorized %d times", name, n)
			}
		}
		if len(authorizedOf) == 0 {
			t.Error("nothing was authorized")
		}
		for _, ticket := range d.Tickets() {
			if ticket.State == approval.Pending || ticket.State == approval.Approved {
				t.Errorf("ticket %s is still %s", ticket.ID, ticket.State)
			}
		}
	})
}
