package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/engine/approval/screen"
	"github.com/writ-dev/writ/engine/value"
)

func (a *app) grantsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "grants",
		Short: "List the grants, with their uses left",
		Long: `Lists the grants of the configuration with the uses that are left, when they
expire, and their state: active, expired, exhausted, revoked, or removed from
the files. A grant stands in for a person: calls that it covers are released
without asking.

Uses are counted under the name of a grant for good. Moving, removing and adding
it again gives none back; a new name does.`,
		Example: `  writ grants
  writ grants show restart-staging
  writ grants --json`,
		Args:        positional(cobra.NoArgs),
		Annotations: map[string]string{exitCodes: "0 listed\n1 mistakes in the configuration\n2 could not run"},
		RunE: func(c *cobra.Command, _ []string) error {
			list, err := a.grants(c, "")
			if err != nil {
				return err
			}
			return a.printGrants(list)
		},
	}
	c.AddCommand(a.grantsShowCommand(), a.grantsRevokeCommand(), a.grantsAddCommand())
	return c
}

// grants asks for all grants, or for one.
func (a *app) grants(c *cobra.Command, name string) ([]grantInfo, error) {
	p, err := a.place(c, false)
	if err != nil {
		return nil, err
	}
	var list []grantInfo
	err = a.ask(c.Context(), p, question{verb: "grants", with: grantsQuestion{Name: name}, into: &list, state: true})
	return list, err
}

func (a *app) printGrants(list []grantInfo) error {
	if a.json {
		return a.printJSON(list)
	}
	if len(list) == 0 {
		fmt.Fprintln(a.out, "there are no grants")
		return nil
	}
	rows := [][]string{{"GRANT", "STATE", "LEFT", "USED", "EXPIRES", "TOOLS", "NOT COVERED"}}
	for _, g := range list {
		rows = append(rows, []string{
			g.Name, g.State, leftOf(g), fmt.Sprint(g.Used), shownTime(g.Expires), fmt.Sprint(len(g.Tools)), fmt.Sprint(len(g.NotCovered)),
		})
	}
	table(a.out, rows)
	return nil
}

func leftOf(g grantInfo) string {
	if g.Left == nil {
		return "any"
	}
	return fmt.Sprint(*g.Left)
}

func shownTime(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

func (a *app) grantsShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Show one grant whole",
		Long: `Shows one grant: what it covers and until when, what is left of it, and which
tools its patterns select that it does not cover, because they are newer than
the grant or have changed. Raising its reviewed: date covers them.`,
		Example:     `  writ grants show restart-staging`,
		Args:        positional(cobra.ExactArgs(1)),
		Annotations: map[string]string{exitCodes: "0 shown\n1 mistakes in the configuration\n2 could not run, or there is no such grant"},
		RunE: func(c *cobra.Command, args []string) error {
			list, err := a.grants(c, args[0])
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(list[0])
			}
			a.printGrant(list[0])
			return nil
		},
	}
}

func (a *app) printGrant(g grantInfo) {
	rows := [][]string{{"grant", g.Name}, {"state", g.State}, {"left", leftOf(g)}, {"used", fmt.Sprint(g.Used)}}
	add := func(title, text string) {
		if text != "" && text != "-" {
			rows = append(rows, []string{title, screen.Inline(text)})
		}
	}
	add("expires", shownTime(g.Expires))
	add("max risk", g.MaxRisk)
	add("reason", g.Reason)
	if g.Match != nil {
		add("match", string(value.JSON(matchValue(g.Match))))
	}
	add("when", g.When)
	add("reviewed", g.Reviewed)
	add("first used", shownTime(g.FirstUsed))
	if !g.Revoked.IsZero() {
		add("revoked", shownTime(g.Revoked)+" by "+g.RevokedBy)
	}
	if g.At != "" {
		rows = append(rows, []string{"written", a.shown(g.At)})
	}
	table(a.out, rows)
	a.list("covers", g.Tools)
	if len(g.NotCovered) > 0 {
		var lines []string
		for _, name := range value.Keys(g.NotCovered) {
			lines = append(lines, name+": "+g.NotCovered[name])
		}
		a.list("selects, but does not cover", lines)
	}
}

func (a *app) grantsRevokeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke NAME",
		Short: "Take a grant back for good",
		Long: `Takes a grant back, for good: no change of the files brings it back, and a new
authorisation needs a new name. What it has released already goes on.

It needs a terminal and the token of an approver, as writ approve does.`,
		Example:     `  writ grants revoke restart-staging`,
		Args:        positional(cobra.ExactArgs(1)),
		Annotations: map[string]string{exitCodes: "0 the grant is revoked\n1 it was not taken\n2 could not run, or there is no terminal"},
		RunE: func(c *cobra.Command, args []string) error {
			p, err := a.place(c, false)
			if err != nil {
				return err
			}
			token, err := a.askToken()
			if err != nil {
				return err
			}
			var answer struct{}
			err = a.ask(c.Context(), p, question{
				verb: "revoke-grant", with: revokeQuestion{Name: args[0], Token: token}, into: &answer, state: true,
			})
			if err != nil {
				fmt.Fprintf(a.errors, "writ: not taken: %v\n", err)
				return ended{exitFailed}
			}
			fmt.Fprintf(a.out, "grant %s is revoked\n", args[0])
			return nil
		},
	}
}
