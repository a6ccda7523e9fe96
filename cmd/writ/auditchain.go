package main

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/engine/audit"
	"github.com/writ-dev/writ/engine/control"
	"github.com/writ-dev/writ/engine/store"
)

func (a *app) auditVerifyCommand() *cobra.Command {
	var file, head, key string
	c := &cobra.Command{
		Use:   "verify",
		Short: "Check that no record was changed or removed",
		Long: `Follows the chain of hashes over all records and checks the signed marks in it.
A record that was changed, removed or moved is named.

Records that were cut off at the end leave a chain that is whole. So the end is
compared with what the running server knows, or with --head, a head that was
kept elsewhere: the server prints one at start and stop, and so do the metrics,
exports and this command. Without either, the end is not anchored.

With --file an export is checked, wherever it is.`,
		Example: `  writ audit verify
  writ audit verify --head 1042:5f0c…
  writ audit verify --file audit.jsonl --key 9a1b…`,
		Args:        positional(cobra.NoArgs),
		Annotations: map[string]string{exitCodes: "0 the chain holds\n1 a record was changed or is missing\n2 could not run", unableOnMistakes: "yes"},
		RunE: func(c *cobra.Command, _ []string) error {
			var anchor audit.Head
			var public audit.Signature
			var err error
			if head != "" {
				if anchor, err = audit.ParseHead(head); err != nil {
					return usagef("--head: %w", err)
				}
			}
			if key != "" {
				if public, err = hex.DecodeString(key); err != nil || file == "" {
					return usagef("--key: write the hexadecimal digits that writ audit verify printed, together with --file")
				}
			}
			report, err := a.verifyChain(c, file, anchor, public)
			if err != nil {
				return err
			}
			return a.reportChain(report)
		},
	}
	flags := c.Flags()
	flags.StringVar(&file, "file", "", "check the export in `FILE` instead of the state folder; - is standard input")
	flags.StringVar(&head, "head", "", "the chain has to contain this `COUNT:HASH`")
	flags.StringVar(&key, "key", "", "marks of the export have to be signed with this public `KEY`")
	return c
}

func (a *app) verifyChain(c *cobra.Command, file string, anchor audit.Head, key audit.Signature) (audit.Report, error) {
	if file != "" {
		return a.verifyFile(file, &audit.Verifier{Key: key, Anchor: anchor})
	}
	trail, known, err := a.trail(c)
	if err != nil {
		return audit.Report{}, err
	}
	defer trail.Close()
	if anchor.Count == 0 {
		anchor = known
	}
	return trail.Verify(c.Context(), anchor)
}

func (a *app) verifyFile(path string, v *audit.Verifier) (audit.Report, error) {
	in := a.in
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return audit.Report{}, err
		}
		defer f.Close()
		in = f
	}
	lines := json.NewDecoder(bufio.NewReader(in))
	for n := 1; ; n++ {
		var e audit.Entry
		if err := lines.Decode(&e); errors.Is(err, io.EOF) {
			return v.Report(), nil
		} else if err != nil {
			return audit.Report{}, fmt.Errorf("entry %d of %s is not one of an export: %w", n, path, err)
		}
		v.Add(e)
	}
}

// trail opens the chain of the state folder beside its owner, and tells the
// head that the owner knows. Without an owner the head is zero.
func (a *app) trail(c *cobra.Command) (*store.Trail, audit.Head, error) {
	var known audit.Head
	p, err := a.place(c, false)
	if err != nil {
		return nil, known, err
	}
	err = control.Ask(c.Context(), p.state, control.Question{Do: "head", Into: &known})
	if err != nil && !errors.Is(err, control.ErrNobody) && !errors.Is(err, control.ErrUnavailable) {
		return nil, known, err
	}
	dir, err := store.OpenDir(p.state)
	if err != nil {
		return nil, known, err
	}
	trail, err := store.OpenTrail(c.Context(), dir)
	return trail, known, err
}

// answerHead tells the head after everything that was answered before.
func (e *engine) answerHead(context.Context, json.RawMessage, func(any)) (any, error) {
	if e.store == nil {
		return nil, errors.New("there are no records without a state folder")
	}
	err := e.store.Flush()
	return e.store.Head(), err
}

func (a *app) reportChain(r audit.Report) error {
	if a.json {
		if err := a.printJSON(r); err != nil {
			return err
		}
	} else {
		a.describeReport(r)
	}
	if len(r.Problems) > 0 {
		return ended{exitFailed}
	}
	return nil
}

func (a *app) describeReport(r audit.Report) {
	for _, p := range r.Problems {
		fmt.Fprintln(a.out, a.paint(a.out, red, "broken")+": "+p.Text)
	}
	if r.More > 0 {
		fmt.Fprintf(a.out, "and %s more\n", count(r.More, "problem"))
	}
	rows := [][]string{{"entries", strconv.FormatInt(r.Head.Count, 10)}, {"signed marks", strconv.Itoa(r.Marks)}}
	if r.First > 1 {
		rows[0][1] = fmt.Sprintf("%d to %d", r.First, r.Head.Count)
	}
	if r.Head.Count > 0 {
		rows = append(rows, []string{"head", r.Head.String()}, []string{"key", dash(r.Key.String())})
	}
	if r.Unchained > 0 {
		rows = append(rows, []string{"before the chain", count(int(r.Unchained), "record") + " of an older version, not checked"})
	}
	table(a.out, rows)
	switch {
	case len(r.Problems) > 0:
	case r.Anchored:
		fmt.Fprintln(a.out, "consistent, up to the end that is known")
	default:
		fmt.Fprintln(a.out, "consistent, end not anchored: give --head to notice records that were cut off at the end")
	}
}

func (a *app) auditExportCommand() *cobra.Command {
	var after int64
	var since string
	c := &cobra.Command{
		Use:   "export",
		Short: "Write the chain of records as JSON Lines",
		Long: `Writes one JSON object for each entry of the chain, in order. A call above
read_only has two: its intent, of which only the digest is kept once it is
completed, and its outcome. The lines are all that writ audit verify --file
needs. The last position leads on: --after continues behind it. The head is
printed on standard error at the end; keep it apart from the export.`,
		Example: `  writ audit export > audit.jsonl
  writ audit export --after 1042 >> audit.jsonl
  writ audit export --since 24h | jq .event.detail.risk`,
		Args: positional(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if after < 0 {
				return usagef("--after %d: write the position of the last line", after)
			}
			from, err := a.moment("since", since)
			if err != nil {
				return err
			}
			return a.export(c, after, from)
		},
	}
	flags := c.Flags()
	flags.Int64Var(&after, "after", 0, "the entries behind this `POSITION`")
	flags.StringVar(&since, "since", "", "begin at the first entry since `TIME`: 2026-01-31T10:00:00Z, or 24h for so long ago")
	return c
}

func (a *app) export(c *cobra.Command, after int64, since time.Time) error {
	trail, _, err := a.trail(c)
	if err != nil {
		return err
	}
	defer trail.Close()
	buffer := bufio.NewWriter(a.out)
	out := json.NewEncoder(buffer)
	out.SetEscapeHTML(false) // the bytes of an event are what its digest is of
	begun := since.IsZero()
	var head audit.Head
	err = trail.Entries(c.Context(), after, func(e audit.Entry) error {
		if !begun && eventTime(e).Before(since) {
			return nil
		}
		begun, head = true, audit.Head{Count: e.Position, Hash: e.Hash}
		return out.Encode(e)
	})
	if err = errors.Join(err, buffer.Flush()); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	if head.Count > 0 {
		fmt.Fprintln(a.errors, "head", head)
	}
	return nil
}

// eventTime is when an event was, or zero.
func eventTime(e audit.Entry) time.Time {
	var at struct {
		Started int64 `json:"started_us"`
		At      int64 `json:"at_us"`
	}
	if json.Unmarshal(e.Event, &at) != nil {
		return time.Time{}
	}
	return time.UnixMicro(max(at.Started, at.At))
}
