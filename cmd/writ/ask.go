package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/writ-dev/writ/engine/control"
)

// question is one request of a command.
type question struct {
	verb string
	with any
	into any
	// state says that answering without an owner takes possession of the
	// state folder.
	state bool
	// stateAlone says that the answer does not depend on the files.
	stateAlone bool
}

// ask puts a question to the owner of the state folder, or, when there is
// none, answers it with an engine of this process.
func (a *app) ask(ctx context.Context, p *place, q question) error {
	err := control.Ask(ctx, p.state, control.Question{Do: q.verb, With: q.with, Into: q.into})
	if !errors.Is(err, control.ErrNobody) && !errors.Is(err, control.ErrUnavailable) {
		return err
	}
	e, err := a.open(ctx, p, assembly{state: q.state, log: a.quietLog()})
	if err != nil {
		return err
	}
	e.alone = true
	return errors.Join(a.answer(ctx, e, q), e.close(ctx))
}

// answer asks an engine of this process, in the same form.
func (a *app) answer(ctx context.Context, e *engine, q question) error {
	if !q.stateAlone {
		if _, err := e.load(ctx); err != nil {
			return err
		}
	}
	with, err := json.Marshal(q.with)
	if err != nil {
		return fmt.Errorf("write request: %w", err)
	}
	answer, err := e.verbs()[q.verb](ctx, with, func(any) {})
	if err != nil {
		return err
	}
	data, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	return json.Unmarshal(data, q.into)
}

// quietLog shows what a person at a command line has to know.
func (a *app) quietLog() *slog.Logger {
	return slog.New(slog.NewTextHandler(a.errors, &slog.HandlerOptions{Level: slog.LevelError + 1}))
}
