package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/engine/control"
	"github.com/writ-dev/writ/engine/store"
)

func (a *app) freezeCommand() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "freeze",
		Short: "Refuse all calls at once",
		Long: `Refuses all calls at once, whoever makes them: waiting calls are void, sessions
are closed, and nothing is executed any more. What runs already ends. It holds
across restarts, until writ thaw.`,
		Example:     `  writ freeze --reason "incident 7"`,
		Args:        positional(cobra.NoArgs),
		Annotations: map[string]string{exitCodes: "0 calls are frozen\n2 could not run"},
		RunE: func(c *cobra.Command, _ []string) error {
			p, err := a.place(c, false)
			if err != nil {
				return err
			}
			if err := a.freeze(c.Context(), p, reason); err != nil {
				return err
			}
			fmt.Fprintln(a.out, "all calls are frozen; writ thaw ends it")
			return nil
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why; callers are told")
	return c
}

func (a *app) freeze(ctx context.Context, p *place, reason string) error {
	err := control.Ask(ctx, p.state, control.Question{Do: "freeze", With: freezeQuestion{Reason: reason}})
	if !errors.Is(err, control.ErrNobody) && !errors.Is(err, control.ErrUnavailable) {
		return err
	}
	dir, err := store.OpenDir(p.state)
	if err != nil {
		return err
	}
	return dir.Freeze(reason)
}

func (a *app) thawCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "thaw",
		Short: "Let calls through again after a freeze",
		Long: `Ends a freeze. It needs a terminal and, where writ.yaml lists approvers, the
token of one of them: a program that was stopped must not let itself go on.`,
		Example:     `  writ thaw`,
		Args:        positional(cobra.NoArgs),
		Annotations: map[string]string{exitCodes: "0 calls are let through\n1 not taken\n2 could not run, or there is no terminal"},
		RunE: func(c *cobra.Command, _ []string) error {
			p, err := a.place(c, false)
			if err != nil {
				return err
			}
			token, err := a.askToken()
			if err != nil {
				return err
			}
			var answer struct{}
			err = a.ask(c.Context(), p, question{verb: "thaw", with: thawQuestion{Token: token}, into: &answer, state: true})
			if err != nil {
				fmt.Fprintf(a.errors, "writ: not taken: %v\n", err)
				return ended{exitFailed}
			}
			fmt.Fprintln(a.out, "calls are let through")
			return nil
		},
	}
}

// askToken asks the person at the terminal for an approver's token.
func (a *app) askToken() (string, error) {
	if !a.terminal(a.in) {
		return "", errNoTerminal
	}
	terminal, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return "", errNoTerminal
	}
	defer terminal.Close()
	return (&person{terminal: terminal, input: bufio.NewReader(terminal)}).token()
}

type freezeQuestion struct {
	Reason string `json:"reason"`
}

type thawQuestion struct {
	Token string `json:"token"`
}

func (e *engine) answerFreeze(_ context.Context, with json.RawMessage, _ func(any)) (any, error) {
	var q freezeQuestion
	if err := json.Unmarshal(with, &q); err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	if e.store == nil {
		return nil, errors.New("nothing can be frozen without a state folder")
	}
	e.frozen.Store(&q.Reason) // at once, also when the disk does not take it
	voided := e.desk.Void("all calls are frozen")
	if e.endSessions != nil {
		e.endSessions()
	}
	e.log.Warn("all calls are frozen", "reason", q.Reason, "voided", voided)
	return struct{}{}, e.store.Dir().Freeze(q.Reason)
}

func (e *engine) answerThaw(_ context.Context, with json.RawMessage, _ func(any)) (any, error) {
	var q thawQuestion
	if err := json.Unmarshal(with, &q); err != nil {
		return nil, errors.New("read request: it is not a token")
	}
	if e.store == nil {
		return nil, errors.New("nothing is frozen without a state folder")
	}
	approvers := e.approvers.Load()
	if who, ok := approvers.Authenticate(q.Token); ok {
		e.log.Warn("calls are let through again", "approver", who.Name)
	} else if len(approvers.People()) > 0 {
		return nil, errors.New("this is not the token of an approver")
	}
	if err := e.store.Dir().Thaw(); err != nil {
		return nil, err
	}
	e.frozen.Store(nil)
	return struct{}{}, nil
}

// isFrozen is what the pipeline asks at each call.
func (e *engine) isFrozen() (reason string, frozen bool) {
	if said := e.frozen.Load(); said != nil {
		return *said, true
	}
	return "", false
}
