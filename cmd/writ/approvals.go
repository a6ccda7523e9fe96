package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/writ-dev/writ/engine/approval/screen"
	"github.com/writ-dev/writ/engine/control"
)

func (a *app) approvalsCommand() *cobra.Command {
	var watch bool
	c := &cobra.Command{
		Use:   "approvals [ID]",
		Short: "List the calls that wait for an approver",
		Long: `Lists the calls of the running server that wait for an approver, and the last
that were settled. With an ID it shows that one call whole: who asks for what,
how dangerous it is and why, and the exact effect.

Looking decides nothing. writ approve and writ reject decide.`,
		Example: `  writ approvals
  writ approvals --watch
  writ approvals r7fk2m9qx4b8t1dzc --json`,
		Args:        positional(cobra.MaximumNArgs(1)),
		Annotations: map[string]string{exitCodes: "0 listed\n2 could not run, no server is running, or there is no such ticket"},
		RunE: func(c *cobra.Command, args []string) error {
			p, err := a.place(c, false)
			if err != nil {
				return err
			}
			q := approvalsQuestion{}
			if len(args) == 1 {
				q.ID = args[0]
			}
			if watch {
				return a.watchTickets(c.Context(), p, q)
			}
			list, err := a.tickets(c.Context(), p, q)
			if err != nil {
				return err
			}
			return a.printTickets(list)
		},
	}
	c.Flags().BoolVar(&watch, "watch", false, "keep the list up to date until interrupted")
	return c
}

func (a *app) tickets(ctx context.Context, p *place, q approvalsQuestion) ([]ticketInfo, error) {
	var list []ticketInfo
	err := control.Ask(ctx, p.state, control.Question{Do: "approvals", With: q, Into: &list})
	if errors.Is(err, control.ErrNobody) {
		return nil, fmt.Errorf("%w (%s): calls wait only at a server, so start writ serve", err, p.state)
	}
	return list, err
}

func (a *app) printTickets(list []ticketInfo) error {
	if a.json {
		return a.printJSON(list)
	}
	if len(list) == 1 && list[0].Lines != nil {
		for _, line := range list[0].Lines {
			fmt.Fprintln(a.out, line)
		}
		return nil
	}
	if len(list) == 0 {
		fmt.Fprintln(a.out, "nothing waits for an approver")
		return nil
	}
	rows := [][]string{{"TICKET", "STATE", "TOOL", "CALLER", "ENTRY", "RISK", "CONFIRM", "LEFT"}}
	for _, t := range list {
		left := ""
		if t.State == "pending" || t.State == "approved" {
			left = t.Expires.Sub(a.now()).Round(time.Second).String()
		}
		rows = append(rows, []string{t.ID, t.State, screen.Inline(t.Tool), screen.Inline(t.Principal), t.Entry, t.Risk, t.Confirm, left})
	}
	table(a.out, rows)
	return nil
}

// watchTickets prints the list again whenever it changes.
func (a *app) watchTickets(ctx context.Context, p *place, q approvalsQuestion) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	shown := ""
	for {
		list, err := a.tickets(ctx, p, q)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		if now := signature(list); now != shown {
			shown = now
			if a.terminal(a.out) && !a.json {
				fmt.Fprint(a.out, "\x1b[H\x1b[2J")
			}
			if err := a.printTickets(list); err != nil {
				return err
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func signature(list []ticketInfo) string {
	var b strings.Builder
	for _, t := range list {
		fmt.Fprint(&b, t.ID, t.State, t.Waiting, len(t.Votes), " ")
	}
	return b.String()
}

func (a *app) approveCommand() *cobra.Command {
	var reason string
	var remember bool
	c := &cobra.Command{
		Use:   "approve ID",
		Short: "Approve one call that waits",
		Long: `Shows one call whole and, after all of it has been on the screen, asks for a
yes, for the phrase when the call demands one, and for your approver's token.
What you approve is exactly what runs: when anything that was shown has changed
by then, the approval is void.

It needs a terminal, because an approval is given by a person. approvers: in
writ.yaml lists who may approve; no token that can call a tool is one.`,
		Example: `  writ approvals
  writ approve r7fk2m9qx4b8t1dzc
  writ approve r7fk2m9qx4b8t1dzc --reason OPS-118`,
		Args:        positional(cobra.ExactArgs(1)),
		Annotations: map[string]string{exitCodes: "0 the approval was taken\n1 you said no, or it was not taken\n2 could not run, or there is no terminal"},
		RunE: func(c *cobra.Command, args []string) error {
			return a.decide(c, args[0], verdictQuestion{Approve: true, Reason: reason, Remember: remember})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for the record")
	c.Flags().BoolVar(&remember, "remember", false, "also approve identical calls of this session for 15 minutes, at most 20")
	return c
}

func (a *app) rejectCommand() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "reject ID",
		Short: "Reject one call that waits",
		Long: `Rejects one call that waits. Its caller is told the reason, and an identical
call is refused at once for ten minutes. It needs a terminal and your
approver's token, as writ approve does.`,
		Example:     `  writ reject r7fk2m9qx4b8t1dzc --reason "not during the freeze"`,
		Args:        positional(cobra.ExactArgs(1)),
		Annotations: map[string]string{exitCodes: "0 the call was rejected\n1 it was not taken\n2 could not run, or there is no terminal"},
		RunE: func(c *cobra.Command, args []string) error {
			return a.decide(c, args[0], verdictQuestion{Reason: reason})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for the caller and the record")
	return c
}

// decide shows a ticket, asks the person, and sends the verdict.
func (a *app) decide(c *cobra.Command, id string, q verdictQuestion) error {
	if !a.terminal(a.in) {
		return errNoTerminal
	}
	terminal, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return errNoTerminal
	}
	defer terminal.Close()
	p, err := a.place(c, false)
	if err != nil {
		return err
	}
	list, err := a.tickets(c.Context(), p, approvalsQuestion{ID: id})
	if err != nil {
		return err
	}
	t := list[0]
	if t.State != "pending" {
		_ = a.printTickets(list)
		return fmt.Errorf("ticket %s is %s", id, t.State)
	}
	if err := q.Effect.UnmarshalText([]byte(t.Effect)); err != nil {
		return fmt.Errorf("read answer of the running server: %w", err)
	}
	q.ID = id
	person := &person{terminal: terminal, input: bufio.NewReader(terminal)}
	if err := person.read(t.Lines); err != nil {
		return err
	}
	if q.Approve {
		if err := person.confirm(t, &q); err != nil {
			return err
		}
	}
	if q.Token, err = person.token(); err != nil {
		return err
	}
	var settled ticketInfo
	if err := control.Ask(c.Context(), p.state, control.Question{Do: "verdict", With: q, Into: &settled}); err != nil {
		fmt.Fprintf(a.errors, "writ: not taken: %v\n", err)
		return ended{exitFailed}
	}
	fmt.Fprintf(a.out, "ticket %s is %s\n", id, settled.State)
	return nil
}

var errNoTerminal = errors.New("an approval is given by a person: run this on a terminal")

// person is who sits at the terminal. All that is asked and answered goes
// through the terminal itself, wherever the standard streams lead.
type person struct {
	terminal *os.File
	input    *bufio.Reader
}

// errNo is the answer of a person who does not approve.
var errNo = errors.New("not approved; the call still waits")

// read shows all lines, a screen at a time, and returns after the last.
func (p *person) read(lines []string) error {
	width, height, err := term.GetSize(int(p.terminal.Fd()))
	if err != nil || height < 4 || width < 20 {
		width, height = 80, 24
	}
	rows := 0
	for _, line := range lines {
		rows += 1 + len([]rune(line))/width
		if rows >= height-1 {
			if _, err := p.ask("-- enter for the rest, of which nothing is left out -- "); err != nil {
				return err
			}
			rows = 1
		}
		fmt.Fprintln(p.terminal, line)
	}
	fmt.Fprintln(p.terminal)
	return nil
}

func (p *person) ask(prompt string) (string, error) {
	fmt.Fprint(p.terminal, prompt)
	line, err := p.input.ReadString('\n')
	if err != nil {
		return "", errNo
	}
	return strings.TrimRight(line, "\r\n"), nil
}

// confirm asks for the yes and the phrase.
func (p *person) confirm(t ticketInfo, q *verdictQuestion) error {
	answer, err := p.ask("type yes to approve: ")
	if err != nil || answer != "yes" {
		return errNo
	}
	if t.Phrase == "" {
		return nil
	}
	if q.Phrase, err = p.ask(fmt.Sprintf("type %s: ", t.Phrase)); err != nil || q.Phrase != t.Phrase {
		return errNo
	}
	return nil
}

// token asks for the approver's token without showing it.
func (p *person) token() (string, error) {
	fmt.Fprint(p.terminal, "your approver's token: ")
	token, err := term.ReadPassword(int(p.terminal.Fd()))
	fmt.Fprintln(p.terminal)
	if err != nil {
		return "", fmt.Errorf("read the token: %w", err)
	}
	return strings.TrimSpace(string(token)), nil
}
