package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) toolsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "tools [NAME]",
		Short: "List the tools, or describe one",
		Long: `Lists the tools of the configuration: the group, the risk that a call can reach
at worst, and whether the tool is switched on and available on this machine.
With a name it prints all that is known of the tool, with the schema of its
arguments as clients see it.`,
		Example: `  writ tools
  writ tools git_log
  writ tools --json | jq '.[].name'`,
		Args:              positional(cobra.MaximumNArgs(1)),
		ValidArgsFunction: a.completeTool,
		RunE: func(c *cobra.Command, args []string) error {
			p, err := a.place(c, false)
			if err != nil {
				return err
			}
			var q toolsQuestion
			if len(args) == 1 {
				q.Name = args[0]
			}
			var list []toolInfo
			if err := a.ask(c.Context(), p, question{verb: "tools", with: q, into: &list}); err != nil {
				return err
			}
			switch {
			case a.json && q.Name != "":
				return a.printJSON(list[0])
			case a.json:
				return a.printJSON(list)
			case q.Name != "":
				a.printTool(list[0])
			default:
				a.printTools(list)
			}
			return nil
		},
	}
}

func (a *app) printTools(list []toolInfo) {
	rows := [][]string{{"NAME", "GROUP", "RISK", "STATE", "TITLE"}}
	for _, t := range list {
		rows = append(rows, []string{t.Name, t.Group, riskRange(t), stateOf(t), t.Title})
	}
	table(a.out, rows)
}

// riskRange is the floor, and how far rules can raise it.
func riskRange(t toolInfo) string {
	if t.Floor == t.Risk {
		return t.Risk
	}
	return t.Floor + "–" + t.Risk
}

func stateOf(t toolInfo) string {
	switch {
	case !t.Enabled:
		return "off"
	case !t.Available:
		return "unavailable: " + t.Unavailable
	}
	return "on"
}

func (a *app) printTool(t toolInfo) {
	fmt.Fprintf(a.out, "%s  %s\n%s\n\n", a.paint(a.out, bold, t.Name), clean(t.Title), indent(clean(t.Description), "  "))
	rows := [][]string{
		{"state", stateOf(t)}, {"group", t.Group}, {"risk", riskRange(t)}, {"kind", t.Kind}, {"timeout", t.Timeout},
		{"rules", strings.Join(t.Rules, ", ")}, {"declared", a.shown(t.At)},
	}
	table(a.out, rows)
	var schema bytes.Buffer
	if json.Indent(&schema, t.InputSchema, "  ", "  ") == nil {
		fmt.Fprintf(a.out, "\narguments\n  %s\n", clean(schema.String()))
	}
}
