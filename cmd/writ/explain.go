package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/pipeline"
	"github.com/writ-dev/writ/engine/value"
)

func (a *app) explainCommand() *cobra.Command {
	var q explainQuestion
	var object string
	c := &cobra.Command{
		Use:   "explain TOOL [key=value…] | explain --rule ID",
		Short: "Say what would become of a call, and why",
		Long: `Prepares, assesses and decides a call without executing or recording anything,
and prints the canonical arguments, the exact effect, each rule that fired with
its place and the values it saw, the rules that applied and did not fire with
their first false part, the decision, and what settled it.

Arguments are given as to writ call. Neither the program nor the network is
needed; --fetch looks up programs and reads what the call itself would read.
--as and --entry explain the call of another caller; no token is needed, since
nothing happens. --rule lists the tools that a rule applies to instead.`,
		Example: `  writ explain git_push repo=work remote=origin
  writ explain git_push repo=work --as ci-bot --entry mcp --json
  writ explain --rule push-to-main`,
		Args: func(_ *cobra.Command, args []string) error {
			if (q.Rule == "") == (len(args) == 0) {
				return usagef("name a tool, or a rule with --rule")
			}
			return nil
		},
		ValidArgsFunction: a.completeCall,
		Annotations:       map[string]string{exitCodes: "0 explained, whatever the decision\n1 mistakes in the configuration\n2 could not run\n4 there is no such tool, or the arguments are invalid"},
		RunE: func(c *cobra.Command, args []string) error {
			p, err := a.place(c, false)
			if err != nil {
				return err
			}
			if q.Rule != "" {
				return a.explainRule(c, p, q)
			}
			if q.Entry != "" && !contains(call.Entries(), q.Entry) {
				return usagef("there is no entry %q: use %s", q.Entry, diag.OneOf(call.Entries()))
			}
			if q.Given, err = parseGiven(object, args[1:]); err != nil {
				return err
			}
			q.Tool = args[0]
			var e pipeline.Explanation
			if err := a.ask(c.Context(), p, question{verb: "explain", with: q, into: &e}); err != nil {
				return err
			}
			if a.json {
				err = a.printJSON(e)
			} else {
				a.printExplanation(e)
			}
			if err == nil && e.Rejected != nil {
				return ended{exitInvalid}
			}
			return err
		},
	}
	flags := c.Flags()
	flags.StringVar(&q.As, "as", "", "explain the call of `PRINCIPAL`")
	flags.StringVar(&q.Entry, "entry", "", "explain a call that came in by `ENTRY`: "+strings.Join(call.Entries(), ", ")+" (default cli)")
	flags.StringVar(&q.Rule, "rule", "", "list the tools that the rule `ID` applies to")
	flags.BoolVar(&q.Fetch, "fetch", false, "look up programs and read what the call would read")
	flags.StringVar(&object, "args", "", "all arguments as one `JSON` object")
	_ = c.RegisterFlagCompletionFunc("entry", cobra.FixedCompletions(call.Entries(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

func contains(list []string, word string) bool {
	for _, item := range list {
		if item == word {
			return true
		}
	}
	return false
}

func (a *app) explainRule(c *cobra.Command, p *place, q explainQuestion) error {
	var answer appliesTo
	if err := a.ask(c.Context(), p, question{verb: "explain", with: q, into: &answer}); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(answer)
	}
	fmt.Fprintf(a.out, "%s  %s  %s\n  %s\n", a.paint(a.out, bold, answer.Rule), answer.Effect, a.where(answer.At), clean(answer.Message))
	a.list("applies to", answer.Tools)
	var skipped []string
	for _, name := range value.Keys(answer.Skipped) {
		skipped = append(skipped, name+": "+answer.Skipped[name])
	}
	if len(skipped) > 0 {
		a.list("covers, but does not apply to", skipped)
	}
	return nil
}

func (a *app) list(title string, items []string) {
	if len(items) == 0 {
		items = []string{"nothing"}
	}
	fmt.Fprintln(a.out, title)
	for _, item := range items {
		fmt.Fprintln(a.out, "  "+clean(item))
	}
}

func (a *app) printExplanation(e pipeline.Explanation) {
	w := a.out
	fmt.Fprintf(w, "%s  called by %s over %s, generation %d\n", a.paint(w, bold, e.Tool), clean(e.Principal), e.Entry, e.Generation)
	if e.Unavailable != "" {
		fmt.Fprintf(w, "%s here: %s\n", a.paint(w, yellow, "unavailable"), clean(e.Unavailable))
	}
	if e.Rejected != nil {
		fmt.Fprintf(w, "\n%s\n  %s: %s\n", a.paint(w, red, "rejected"), e.Rejected.Code, clean(e.Rejected.Reason))
		return
	}
	if e.Prepared != nil {
		a.printPrepared(w, e.Prepared)
	}
	if e.Assessment != nil {
		a.printAssessment(w, e.Assessment)
	}
	if e.Decision != nil {
		a.printDecision(w, e.Decision)
	}
	if len(e.Grants) > 0 {
		a.printExplainedGrants(w, e.Grants)
	}
}

func (a *app) printPrepared(w io.Writer, p *pipeline.ExplainedCall) {
	for _, part := range []struct {
		title string
		data  json.RawMessage
	}{{"arguments", p.Arguments}, {"scope", p.Scope}, {"facts", p.Facts}} {
		if text := string(part.data); text != "" && text != "{}" && text != "null" {
			fmt.Fprintf(w, "\n%s\n  %s\n", part.title, clean(text))
		}
	}
	fmt.Fprintf(w, "\neffect\n%s\n", indent(clean(p.Preview), "  "))
	for _, name := range p.Unresolved {
		fmt.Fprintf(w, "  %s\n", a.paint(w, dim, "not looked up: "+clean(name)))
	}
	if len(p.Locks) > 0 {
		fmt.Fprintf(w, "\nlocks\n  %s\n", clean(strings.Join(p.Locks, "\n  ")))
	}
}

func (a *app) printAssessment(w io.Writer, r *pipeline.ExplainedRisk) {
	fmt.Fprintf(w, "\nrisk\n  %s, floor %s\n", a.paint(w, bold, r.Risk), r.Floor)
	if len(r.Rules) > 0 {
		fmt.Fprintf(w, "\nrules that fired\n")
		a.printRules(w, r.Rules)
	}
	if len(r.Silent) > 0 {
		fmt.Fprintf(w, "\nrules that applied and did not fire\n")
		a.printRules(w, r.Silent)
	}
}

func (a *app) printRules(w io.Writer, rules []pipeline.ExplainedRule) {
	for _, r := range rules {
		fmt.Fprintf(w, "  %s  %s  %s\n", a.paint(w, bold, r.ID), r.Risk, a.where(r.At))
		switch {
		case r.Error != "":
			fmt.Fprintf(w, "    could not be evaluated: %s\n", clean(r.Error))
		case r.Unmatched:
			fmt.Fprintln(w, "    its match leaves out this caller")
		case r.Part != "":
			fmt.Fprintf(w, "    because of: %s\n", clean(r.Part))
		}
		for _, name := range value.Keys(r.Saw) {
			fmt.Fprintf(w, "    %s = %s\n", name, clean(string(r.Saw[name])))
		}
		if r.Message != "" {
			fmt.Fprintf(w, "    %s\n", clean(r.Message))
		}
	}
}

func (a *app) printExplainedGrants(w io.Writer, grants []pipeline.ExplainedGrant) {
	fmt.Fprintln(w, "\ngrants")
	for _, g := range grants {
		answer := "does not cover the call: " + clean(g.Why)
		switch {
		case g.Releases:
			answer = a.paint(w, green, "releases the call")
		case g.Covers:
			answer = "covers the call, but " + clean(g.Why)
		}
		fmt.Fprintf(w, "  %s  %s  %s\n", a.paint(w, bold, g.Name), answer, a.where(g.At))
	}
}

func (a *app) printDecision(w io.Writer, d *pipeline.ExplainedDecision) {
	color := map[string]string{"permit": green, "deny": red}[d.Effect]
	if color == "" {
		color = yellow
	}
	fmt.Fprintf(w, "\ndecision\n  %s", a.paint(w, color, d.Effect))
	if d.Confirmation != "" && d.Confirmation != "none" {
		fmt.Fprintf(w, ", confirmation %s", d.Confirmation)
	}
	fmt.Fprintf(w, "\n  settled by %s", clean(d.SettledBy))
	if d.At != "" {
		fmt.Fprintf(w, "  %s", a.where(d.At))
	}
	fmt.Fprintln(w)
	for _, text := range []string{d.Message, d.Error} {
		if text != "" {
			fmt.Fprintf(w, "  %s\n", clean(text))
		}
	}
	if len(d.Denials) > 0 {
		fmt.Fprintf(w, "\ndeny rules that applied and did not hold\n")
		a.printRules(w, d.Denials)
	}
}

// where prints a position.
func (a *app) where(at string) string {
	return a.paint(a.out, dim, clean(a.shown(at)))
}
