package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/engine/catalog"
	"github.com/writ-dev/writ/engine/diag"
)

func (a *app) checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Look for mistakes in the configuration",
		Long: `Reads writ.yaml and all documents, and reports every mistake of every file at
once: what is wrong, where, and what would be right. Nothing is served and no
state is touched, so it is safe in CI. Examples of rules and tools are checked
too; the tests are run by writ test.`,
		Example: `  writ check
  writ check --config mytools --json`,
		Args:        positional(cobra.NoArgs),
		Annotations: map[string]string{exitCodes: "0 no mistakes\n1 mistakes\n2 could not run"},
		RunE: func(c *cobra.Command, _ []string) error {
			current, problems, err := a.offline(c)
			if err != nil {
				return err
			}
			return a.printCheck(current, problems)
		},
	}
}

// offline builds a generation without touching state. A nil catalog means that
// there are mistakes.
func (a *app) offline(c *cobra.Command) (*catalog.Catalog, diag.List, error) {
	p, err := a.place(c, false)
	if wrong, ok := err.(mistakes); ok {
		return nil, wrong.list, nil
	}
	if err != nil {
		return nil, nil, err
	}
	e, err := a.open(c.Context(), p, assembly{log: a.quietLog()})
	if err != nil {
		return nil, nil, err
	}
	outcome := e.reloader.Load(c.Context())
	return e.live.Current(), outcome.Problems, nil
}

// checked is the answer of check as JSON.
type checked struct {
	Valid       bool              `json:"valid"`
	Errors      int               `json:"errors"`
	Warnings    int               `json:"warnings"`
	Documents   int               `json:"documents"`
	Tools       int               `json:"tools"`
	Rules       int               `json:"rules"`
	Unavailable map[string]string `json:"unavailable,omitempty"`
	Problems    diag.List         `json:"problems"`
}

func (a *app) printCheck(current *catalog.Catalog, problems diag.List) error {
	answer := checked{Problems: problems.Sorted(), Errors: problems.Errors(), Valid: current != nil}
	if answer.Problems == nil {
		answer.Problems = diag.List{}
	}
	answer.Warnings = len(answer.Problems) - answer.Errors
	if current != nil {
		answer.Documents, answer.Tools, answer.Rules = current.Documents, len(current.Tools()), current.RuleCount
		answer.Unavailable = unavailable(current)
	}
	if a.json {
		if err := a.printJSON(answer); err != nil {
			return err
		}
	} else {
		a.diagnostics(a.out, problems)
		a.printVerdict(answer)
	}
	if !answer.Valid {
		return ended{exitFailed}
	}
	return nil
}

func (a *app) printVerdict(answer checked) {
	if !answer.Valid {
		fmt.Fprintf(a.out, "%s, %s\n", a.paint(a.out, red, count(answer.Errors, "mistake")), count(answer.Warnings, "warning"))
		return
	}
	fmt.Fprintf(a.out, "%s: %s, %s, %s", a.paint(a.out, green, "ok"),
		count(answer.Tools, "tool"), count(answer.Rules, "rule"), count(answer.Documents, "document"))
	if answer.Warnings > 0 {
		fmt.Fprintf(a.out, ", %s", a.paint(a.out, yellow, count(answer.Warnings, "warning")))
	}
	if n := len(answer.Unavailable); n > 0 {
		fmt.Fprintf(a.out, "; %s unavailable on this machine (writ tools says why)", count(n, "tool"))
	}
	fmt.Fprintln(a.out)
}

func unavailable(current *catalog.Catalog) map[string]string {
	found := map[string]string{}
	for _, t := range current.Tools() {
		if t.Enabled && t.Unavailable != "" {
			found[t.Name] = t.Unavailable
		}
	}
	return found
}
