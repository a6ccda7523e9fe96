package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/engine/control"
	"github.com/writ-dev/writ/engine/reload"
)

func (a *app) reloadCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "reload",
		Short: "Make the running server read its files now",
		Long: `Makes the running server read writ.yaml and all documents now, and prints what
came of it. Mistakes leave the generation in force as it is. A server reloads
by itself unless writ.yaml says reload: manual; SIGHUP does the same.`,
		Example: `  writ reload
  writ reload --config mytools --json`,
		Args:        positional(cobra.NoArgs),
		Annotations: map[string]string{exitCodes: "0 the files are in force\n1 mistakes; the last good generation stays in force\n2 could not run, or no server is running"},
		RunE: func(c *cobra.Command, _ []string) error {
			p, err := a.place(c, false)
			if err != nil {
				return err
			}
			var outcome reload.Outcome
			err = control.Ask(c.Context(), p.state, control.Question{Do: "reload", Into: &outcome})
			if errors.Is(err, control.ErrNobody) {
				return fmt.Errorf("%w (%s): start writ serve, or look for mistakes with writ check", err, p.state)
			}
			if err != nil {
				return err
			}
			return a.printOutcome(outcome)
		},
	}
}

func (a *app) printOutcome(outcome reload.Outcome) error {
	if a.json {
		if err := a.printJSON(outcome); err != nil {
			return err
		}
	} else {
		a.diagnostics(a.out, outcome.Problems)
		for _, name := range outcome.Loosens {
			fmt.Fprintf(a.out, "%s: %s is gone\n", a.paint(a.out, yellow, "note"), clean(name))
		}
		word := "is in force"
		if !outcome.Published {
			word = "stays in force"
		}
		fmt.Fprintf(a.out, "generation %d %s\n", outcome.Generation, word)
	}
	if outcome.Problems.HasErrors() {
		return ended{exitFailed}
	}
	return nil
}
