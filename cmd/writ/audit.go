package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/engine/audit"
)

func (a *app) auditCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "audit",
		Short: "Show what was called",
		Long: `Shows the records of calls. Every call leaves one, whatever became of it:
who called what, which rules fired, what was decided and how it ended.
Arguments and output are not kept, only digests of them. A chain of hashes runs
through all records, so that none can be changed or removed unnoticed.`,
		Example: `  writ audit list --tool git_push --since 24h
  writ audit show 42
  writ audit verify`,
		Args: positional(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.auditListCommand(), a.auditShowCommand(), a.auditTailCommand(), a.auditExportCommand(), a.auditVerifyCommand())
	return c
}

func (a *app) auditListCommand() *cobra.Command {
	var q auditQuestion
	var since, until, result string
	c := &cobra.Command{
		Use:   "list",
		Short: "List records",
		Long: `Lists records, the newest last. Without --after the newest are listed; with it
those that follow a sequence number, so that a script can read all of them
piece by piece.`,
		Example: `  writ audit list --limit 20
  writ audit list --result refused --since 24h
  writ audit list --after 1200 --limit 1000 --json`,
		Args: positional(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			var err error
			if q.Filter.Since, err = a.moment("since", since); err != nil {
				return err
			}
			if q.Filter.Until, err = a.moment("until", until); err != nil {
				return err
			}
			q.Filter.Result = audit.Result(result)
			if err := q.Filter.Check(); err != nil {
				return usage{err}
			}
			records, err := a.records(c, q)
			switch {
			case err != nil:
				return err
			case a.json:
				return a.printJSON(records)
			}
			a.printRecords(records)
			return nil
		},
	}
	flags := c.Flags()
	flags.StringVar(&q.Filter.Tool, "tool", "", "only calls of the tool `NAME`")
	flags.StringVar(&q.Filter.Principal, "principal", "", "only calls of the caller `NAME`")
	flags.StringVar(&result, "result", "", "only calls that ended as `RESULT`: "+strings.Join(audit.Results(), ", "))
	flags.StringVar(&since, "since", "", "only calls that began since `TIME`: 2026-01-31T10:00:00Z, or 24h for so long ago")
	flags.StringVar(&until, "until", "", "only calls that began until `TIME`")
	flags.Int64Var(&q.Filter.After, "after", 0, "the records that follow this sequence `NUMBER`")
	flags.IntVar(&q.Filter.Limit, "limit", audit.DefaultLimit, fmt.Sprintf("at most this `NUMBER`, up to %d", audit.MaxLimit))
	_ = c.RegisterFlagCompletionFunc("tool", a.completeTool)
	_ = c.RegisterFlagCompletionFunc("result", cobra.FixedCompletions(audit.Results(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (a *app) auditShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show NUMBER|REQUEST-ID",
		Short: "Show one record",
		Long: `Shows all that is recorded of one call, found by its sequence number or by the
request id that its result carried.`,
		Example: `  writ audit show 42
  writ audit show 42 --json`,
		Args: positional(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			var q auditQuestion
			if n, err := strconv.ParseInt(args[0], 10, 64); err == nil && n > 0 {
				q.Sequence = n
			} else {
				q.RequestID = args[0]
			}
			records, err := a.records(c, q)
			switch {
			case err != nil:
				return err
			case a.json:
				return a.printJSON(records[0])
			}
			a.printRecord(records[0])
			return nil
		},
	}
}

func (a *app) records(c *cobra.Command, q auditQuestion) ([]audit.Record, error) {
	p, err := a.place(c, false)
	if err != nil {
		return nil, err
	}
	var records []audit.Record
	err = a.ask(c.Context(), p, question{verb: "audit", with: q, into: &records, state: true, stateAlone: true})
	return records, err
}

// moment reads a time, or how long ago it was.
func (a *app) moment(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return a.now().Add(-ago), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, usagef("--%s %q: write a time such as 2026-01-31T10:00:00Z, or how long ago, such as 24h", flag, text)
	}
	return at, nil
}

func (a *app) printRecords(records []audit.Record) {
	rows := [][]string{{"NUMBER", "TIME", "TOOL", "PRINCIPAL", "ENTRY", "RISK", "DECISION", "RESULT", "TOOK"}}
	for _, r := range records {
		rows = append(rows, []string{
			strconv.FormatInt(r.Sequence, 10), r.Started.Local().Format("2006-01-02 15:04:05"), r.Tool, r.Principal,
			string(r.Entry), r.Risk.String(), dash(r.Decision), outcomeOf(r), (time.Duration(r.DurationMS) * time.Millisecond).String(),
		})
	}
	table(a.out, rows)
}

// printRecordLine is for records that come one by one, so no table is made.
func (a *app) printRecordLine(r audit.Record) {
	fmt.Fprintf(a.out, "%d  %s  %s  %s  %s  %s  %s  %s\n", r.Sequence, r.Started.Local().Format("2006-01-02 15:04:05"), r.Tool, r.Principal,
		r.Entry, r.Risk, dash(r.Decision), outcomeOf(r))
}

// outcomeOf is how a call ended, or how far it has come.
func outcomeOf(r audit.Record) string {
	switch {
	case r.Phase == audit.Intent:
		return "running"
	case r.Phase == audit.Interrupted:
		return "interrupted"
	}
	text := string(r.Result)
	if r.Code != "" && r.Code != string(r.Status) {
		text += " (" + r.Code + ")"
	}
	if r.Count > 1 {
		text += fmt.Sprintf(", %d times", r.Count)
	}
	return text
}

func (a *app) printRecord(r audit.Record) {
	rules := strings.Join(r.Rules, ", ")
	if more := r.RulesFired - len(r.Rules); more > 0 {
		rules += fmt.Sprintf(" and %d more", more)
	}
	rows := [][]string{
		{"number", strconv.FormatInt(r.Sequence, 10)}, {"request", r.RequestID}, {"began", r.Started.Local().Format(time.RFC3339Nano)},
		{"tool", r.Tool}, {"principal", r.Principal}, {"entry", string(r.Entry)}, {"session", r.Session},
		{"generation", strconv.FormatUint(r.Generation, 10)}, {"risk", r.Risk.String()}, {"rules", rules},
		{"decision", r.Decision}, {"settled by", r.SettledBy}, {"confirmation", r.Confirmation}, {"approval", r.Approval},
		{"result", outcomeOf(r)}, {"status", string(r.Status)}, {"took", (time.Duration(r.DurationMS) * time.Millisecond).String()},
		{"stages", fmt.Sprintf("prepare %dµs, assess %dµs, approve %dµs, execute %dµs", r.Stages.Prepare, r.Stages.Assess, r.Stages.Approve, r.Stages.Execute)},
		{"tool digest", r.ToolDigest}, {"argument digest", r.ArgumentDigest}, {"effect digest", r.EffectDigest}, {"uid", strconv.Itoa(r.UID)},
	}
	for _, row := range rows {
		row[1] = dash(row[1])
	}
	table(a.out, rows)
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
