package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/writ-dev/writ/engine/approval"
	"github.com/writ-dev/writ/engine/approval/screen"
	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/policy"
)

// approvalsQuestion asks for all tickets, or for one with its screen.
type approvalsQuestion struct {
	ID string `json:"id,omitempty"`
}

// ticketInfo is one ticket as commands print it.
type ticketInfo struct {
	ID        string    `json:"id"`
	State     string    `json:"state"`
	Tool      string    `json:"tool"`
	Principal string    `json:"principal"`
	Entry     string    `json:"entry"`
	Risk      string    `json:"risk"`
	Confirm   string    `json:"confirm"`
	Rules     []string  `json:"rules"`
	Created   time.Time `json:"created"`
	Expires   time.Time `json:"expires"`
	Waiting   int       `json:"waiting"`
	Votes     []string  `json:"votes,omitempty"`
	Reason    string    `json:"reason,omitempty"`
	// Effect is the digest of what Lines show. A verdict names it.
	Effect string   `json:"effect,omitempty"`
	Phrase string   `json:"phrase,omitempty"`
	Lines  []string `json:"lines,omitempty"`
}

// verdictQuestion carries a verdict with the approver's own token. There is no
// other way to answer, and no token of a caller is one.
type verdictQuestion struct {
	ID       string      `json:"id"`
	Approve  bool        `json:"approve"`
	Effect   call.Digest `json:"effect"`
	Phrase   string      `json:"phrase,omitempty"`
	Reason   string      `json:"reason,omitempty"`
	Remember bool        `json:"remember,omitempty"`
	Token    string      `json:"token"`
}

func (e *engine) answerApprovals(_ context.Context, with json.RawMessage, _ func(any)) (any, error) {
	var q approvalsQuestion
	if err := json.Unmarshal(with, &q); err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	if e.desk == nil {
		return nil, errors.New("nothing can be approved without a state folder")
	}
	list := []ticketInfo{}
	for _, t := range e.desk.Tickets() {
		if q.ID == "" {
			list = append(list, e.ticketInfo(t, false))
		} else if q.ID == t.ID {
			list = append(list, e.ticketInfo(t, true))
		}
	}
	if q.ID != "" && len(list) == 0 {
		return nil, approval.ErrNoTicket
	}
	return list, nil
}

func (e *engine) ticketInfo(t approval.Ticket, whole bool) ticketInfo {
	info := ticketInfo{
		ID: t.ID, State: string(t.State), Tool: t.Prepared.Request.Tool,
		Principal: t.Prepared.Request.Principal.Name, Entry: string(t.Prepared.Request.Entry),
		Risk: t.Assessment.Level.String(), Confirm: t.Decision.Confirmation.String(), Rules: t.Assessment.Rules(),
		Created: t.Created, Expires: t.Expires, Waiting: t.Waiting, Reason: t.Reason,
	}
	for _, vote := range t.Votes {
		info.Votes = append(info.Votes, vote.Approver)
	}
	if whole {
		info.Lines = screen.Lines(t, e.app.now(), e.place.configuration.Dir)
	}
	if whole && t.State == approval.Pending {
		info.Effect = t.Prepared.Effect.Digest().String()
		if t.Decision.Confirmation == policy.Phrase {
			info.Phrase = t.Phrase()
		}
	}
	return info
}

func (e *engine) answerVerdict(_ context.Context, with json.RawMessage, _ func(any)) (any, error) {
	var q verdictQuestion
	if err := json.Unmarshal(with, &q); err != nil {
		return nil, errors.New("read request: it is not a verdict")
	}
	if e.desk == nil {
		return nil, errors.New("nothing can be approved without a state folder")
	}
	who, ok := e.approvers.Load().Authenticate(q.Token)
	if !ok {
		e.log.Warn("a verdict was refused", "ticket", q.ID, "reason", "the token is no approver's")
		return nil, errors.New("this is not the token of an approver")
	}
	err := e.desk.Decide(q.ID, approval.Approver{Name: who.Name, Roles: who.Roles}, approval.Verdict{
		Approve: q.Approve, Effect: q.Effect, Phrase: q.Phrase, Reason: q.Reason, Remember: q.Remember,
	})
	if err != nil {
		return nil, err
	}
	t, _ := e.desk.Ticket(q.ID)
	e.log.Info("a verdict was given", "ticket", q.ID, "approver", who.Name, "approve", q.Approve, "state", string(t.State))
	return e.ticketInfo(t, false), nil
}

// mayApprove lists who can be asked at all, for the pipeline.
func (e *engine) mayApprove() []approval.Approver {
	var list []approval.Approver
	for _, person := range e.approvers.Load().People() {
		list = append(list, approval.Approver{Name: person.Name, Roles: person.Roles})
	}
	return list
}

// announce tells the person at the terminal of a server, in one line, what
// waits for an approver.
func (e *engine) announce(ctx context.Context) {
	changes, cancel := e.desk.Subscribe()
	defer cancel()
	told := map[string]bool{}
	for {
		select {
		case <-changes:
		case <-ctx.Done():
			return
		}
		open := map[string]bool{}
		for _, t := range e.desk.Tickets() {
			if t.State != approval.Pending {
				continue
			}
			open[t.ID] = true
			if told[t.ID] {
				continue
			}
			r := t.Prepared.Request
			e.log.Info("a call waits for an approver", "ticket", t.ID, "tool", r.Tool, "caller", r.Principal.Name, "risk", t.Assessment.Level.String())
			if e.app.terminal(e.app.out) {
				fmt.Fprintf(e.app.out, "%s %s for %s (%s): writ approve %s\n", e.app.paint(e.app.out, yellow, "waits"),
					screen.Inline(r.Tool), screen.Inline(r.Principal.Name), t.Assessment.Level, t.ID)
			}
		}
		told = open
	}
}
