package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/identity"
	"github.com/writ-dev/writ/engine/value"
)

// draft is a grant that is about to be written.
type draft struct {
	document.Grant
	scopes []string // key=value
	life   time.Duration
	file   string
}

func (a *app) grantsAddCommand() *cobra.Command {
	d := &draft{}
	d.Match = &document.Match{}
	c := &cobra.Command{
		Use:   "add NAME --tool TOOL --expires TIME --reason TEXT",
		Short: "Write a grant to a file, after showing it",
		Long: `Writes a grant to a new file of the configuration. It is checked against the
whole configuration first and shown as it will be written; after your yes and
your approver's token the file is there, and a running server takes it up as any
other change. A file that is there already is never written over.

Every scope of the tools must be given, each with the values that are covered.`,
		Example: `  writ grants add restart-staging --tool k8s_rollout_restart --scope env=staging \
    --principal ci-bot --uses 20 --expires 2027-01-01T00:00:00Z --reason OPS-118
  writ grants add push-today --tool git_push --scope repo=/srv/site --for 8h --reason "release day"`,
		Args:        positional(cobra.ExactArgs(1)),
		Annotations: map[string]string{exitCodes: "0 written\n1 mistakes in the grant, or you said no\n2 could not run, or there is no terminal"},
		RunE: func(c *cobra.Command, args []string) error {
			d.Name = args[0]
			return a.addGrant(c, d)
		},
	}
	f := c.Flags()
	f.StringArrayVar(&d.Match.Tools, "tool", nil, "`TOOL` that it covers, or a pattern; may be repeated")
	f.StringArrayVar(&d.scopes, "scope", nil, "scope that it covers, as `KEY=VALUE`; may be repeated")
	f.StringArrayVar(&d.Match.Principals, "principal", nil, "`CALLER` whom it covers; may be repeated")
	f.StringArrayVar(&d.Match.Roles, "role", nil, "`ROLE` whose callers it covers; may be repeated")
	f.StringArrayVar(&d.Match.Entries, "entry", nil, "`ENTRY` by which the call arrives; may be repeated")
	f.StringVar(&d.When, "when", "", "`EXPRESSION` that must hold")
	f.StringVar(&d.MaxRisk, "max-risk", "", "highest `RISK` that it covers (default mutating)")
	f.StringVar(&d.ExpiresAt, "expires", "", "`TIME` from which it covers nothing, as 2027-01-01T00:00:00Z")
	f.DurationVar(&d.life, "for", 0, "instead of --expires: for how long it covers, as `8h`")
	f.Int64Var(&d.Uses, "uses", 0, "how many calls it releases in all (default any number)")
	f.StringVar(&d.Reason, "reason", "", "`TEXT`: why it is given")
	f.StringVar(&d.file, "file", "", "write to `FILE` instead of policies/grants/NAME.yaml of the configuration")
	return c
}

// complete fills in what flags say in other words, and refuses what no file
// could hold.
func (d *draft) complete(now time.Time) error {
	switch {
	case !regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`).MatchString(d.Name):
		return usagef("%q is no name: use lower-case letters, digits, _ and -", d.Name)
	case len(d.Match.Tools) == 0:
		return usagef("name a tool with --tool")
	case (d.ExpiresAt == "") == (d.life == 0):
		return usagef("say how long it covers, with either --expires or --for")
	case d.Reason == "":
		return usagef("say why, with --reason")
	case d.Uses < 0 || d.life < 0:
		return usagef("--uses and --for are not negative")
	}
	if d.life > 0 {
		d.ExpiresAt = now.Add(d.life).UTC().Format(time.RFC3339)
	}
	d.Reviewed = now.UTC().Format(time.DateOnly)
	for _, pair := range d.scopes {
		key, text, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return usagef("--scope %q: write KEY=VALUE", pair)
		}
		if d.Match.Scope == nil {
			d.Match.Scope = map[string][]string{}
		}
		d.Match.Scope[key] = append(d.Match.Scope[key], text)
	}
	return nil
}

// text is the file. Every value is quoted, so that nothing in it is syntax.
func (d *draft) text() string {
	var b strings.Builder
	line := func(key string, v any) {
		data, _ := json.Marshal(v) // texts, numbers and lists of them always encode
		fmt.Fprintf(&b, "%s: %s\n", key, data)
	}
	b.WriteString("kind: Grant\nname: " + d.Name + "\n")
	line("match", d.Match)
	if d.When != "" {
		line("when", d.When)
	}
	if d.MaxRisk != "" {
		line("max_risk", d.MaxRisk)
	}
	line("expires_at", d.ExpiresAt)
	if d.Uses > 0 {
		line("uses", d.Uses)
	}
	line("reason", d.Reason)
	line("reviewed", d.Reviewed)
	return b.String()
}

func (a *app) addGrant(c *cobra.Command, d *draft) error {
	if err := d.complete(a.now()); err != nil {
		return err
	}
	p, err := a.place(c, false)
	if err != nil {
		return err
	}
	if p.configuration.Embedded {
		return errors.New("the packs in the binary take no grants: writ init writes a configuration of your own")
	}
	if !a.terminal(a.in) {
		return errNoTerminal
	}
	terminal, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return errNoTerminal
	}
	defer terminal.Close()
	target := d.file
	if target == "" {
		target = filepath.Join(p.configuration.Dir, "policies", "grants", d.Name+".yaml")
	}
	if _, err := os.Lstat(target); err == nil {
		return fmt.Errorf("%s is there already: choose another name", target)
	}
	approvers, err := a.checkGrant(c.Context(), p, d, target)
	if err != nil {
		return err
	}
	person := &person{terminal: terminal, input: bufio.NewReader(terminal)}
	lines := append([]string{"to be written to " + clean(target), ""}, strings.Split(strings.TrimSpace(clean(d.text())), "\n")...)
	if err := person.agree(lines, approvers); err != nil {
		fmt.Fprintf(a.errors, "writ: nothing was written: %v\n", err)
		return ended{exitFailed}
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return fmt.Errorf("write the grant: %w", err)
	}
	if err := create(target, []byte(d.text())); err != nil {
		return fmt.Errorf("write the grant: %w", err)
	}
	fmt.Fprintln(a.out, target)
	return nil
}

// agree shows a text and returns when a person who may approve agreed to it.
func (p *person) agree(lines []string, approvers *identity.Approvers) error {
	if len(approvers.People()) == 0 {
		return errors.New("writ.yaml lists no approver who could agree to it")
	}
	if err := p.read(lines); err != nil {
		return err
	}
	if answer, err := p.ask("type yes to write it: "); err != nil || answer != "yes" {
		return errors.New("you did not agree")
	}
	token, err := p.token()
	if err != nil {
		return err
	}
	if _, ok := approvers.Authenticate(token); !ok {
		return errors.New("this is not the token of an approver")
	}
	return nil
}

// checkGrant compiles the configuration together with the grant, from a
// private file, and returns who may agree to it.
func (a *app) checkGrant(ctx context.Context, p *place, d *draft, target string) (*identity.Approvers, error) {
	folder, err := os.MkdirTemp("", "writ-grant-")
	if err != nil {
		return nil, fmt.Errorf("check the grant: %w", err)
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, d.Name+".yaml")
	if err := os.WriteFile(path, []byte(d.text()), 0o600); err != nil {
		return nil, fmt.Errorf("check the grant: %w", err)
	}
	e, err := a.open(ctx, p, assembly{log: a.quietLog()})
	if err != nil {
		return nil, err
	}
	e.documents.also = []string{path}
	candidate := e.build(ctx)
	problems := slices.DeleteFunc(candidate.Problems, func(found diag.Diagnostic) bool {
		return found.Severity != diag.Error
	})
	for i := range problems {
		if problems[i].At.File == path {
			problems[i].At.File = target // where it would stand
		}
	}
	if problems.HasErrors() {
		return nil, mistakes{problems}
	}
	candidate.Commit()
	return e.approvers.Load(), nil
}

// matchValue is a match as a canonical value, without what is not written.
func matchValue(m *document.Match) map[string]any {
	out := map[string]any{}
	for key, items := range map[string][]string{"tools": m.Tools, "principals": m.Principals, "roles": m.Roles, "entries": m.Entries} {
		if len(items) > 0 {
			out[key] = listValue(items)
		}
	}
	if len(m.Scope) > 0 {
		scope := map[string]any{}
		for _, key := range value.Keys(m.Scope) {
			scope[key] = listValue(m.Scope[key])
		}
		out["scope"] = scope
	}
	return out
}

func listValue(items []string) []any {
	list := make([]any, len(items))
	for i, item := range items {
		list[i] = item
	}
	return list
}
