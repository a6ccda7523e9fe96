package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/engine/verify"
)

func (a *app) testCommand() *cobra.Command {
	var coverage bool
	c := &cobra.Command{
		Use:   "test",
		Short: "Run the tests of the configuration",
		Long: `Runs every case of the Test documents (*_test.yaml): the call is prepared,
assessed and decided as it would be, and never executed. Neither the programs
nor the network are needed. What a case does not mention is not asserted.`,
		Example: `  writ test
  writ test --coverage         also name the rules that no case fires`,
		Args:        positional(cobra.NoArgs),
		Annotations: map[string]string{exitCodes: "0 all cases hold\n1 a case does not hold, or mistakes in the configuration\n2 could not run"},
		RunE: func(c *cobra.Command, _ []string) error {
			current, problems, err := a.offline(c)
			if err != nil {
				return err
			}
			if current == nil {
				return mistakes{problems}
			}
			return a.printReport(verify.Run(c.Context(), current), coverage)
		},
	}
	c.Flags().BoolVar(&coverage, "coverage", false, "name the rules that no case fires")
	return c
}

func (a *app) printReport(report verify.Report, coverage bool) error {
	if a.json {
		if err := a.printJSON(report); err != nil {
			return err
		}
	} else {
		a.printCases(report, coverage)
	}
	if report.Failed() > 0 {
		return ended{exitFailed}
	}
	return nil
}

func (a *app) printCases(report verify.Report, coverage bool) {
	for _, c := range report.Cases {
		if len(c.Differences) == 0 {
			continue
		}
		fmt.Fprintf(a.out, "%s: %s: %s / %s\n", a.where(c.At.String()), a.paint(a.out, red, "failed"), clean(c.Test), clean(c.Name))
		for _, difference := range c.Differences {
			fmt.Fprintln(a.out, indent(clean(difference), "    "))
		}
	}
	if coverage {
		for _, r := range report.Unfired {
			fmt.Fprintf(a.out, "%s: no case fires rule %s\n", a.where(r.At.String()), r.ID)
		}
	}
	failed, verdict := report.Failed(), a.paint(a.out, green, "ok")
	if failed > 0 {
		verdict = a.paint(a.out, red, fmt.Sprintf("%d failed", failed))
	}
	fmt.Fprintf(a.out, "%s: %s", verdict, count(len(report.Cases), "case"))
	if coverage {
		fmt.Fprintf(a.out, ", %s not covered", count(len(report.Unfired), "rule"))
	}
	fmt.Fprintln(a.out)
}
