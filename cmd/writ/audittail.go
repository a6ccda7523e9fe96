package main

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/engine/audit"
	"github.com/writ-dev/writ/engine/store"
)

// tailEvery is how often new records are looked for.
const tailEvery = 300 * time.Millisecond

func (a *app) auditTailCommand() *cobra.Command {
	var lines int
	c := &cobra.Command{
		Use:   "tail",
		Short: "Show records as they come",
		Long: `Shows the newest records, and then each one when its call has ended, until it is
interrupted. With --json each record is one line. Programs that must not miss
any use writ audit export --after.`,
		Example: `  writ audit tail
  writ audit tail --lines 100 --json`,
		Args: positional(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if lines < 0 || lines > audit.MaxLimit {
				return usagef("--lines %d: use 0 to %d", lines, audit.MaxLimit)
			}
			trail, _, err := a.trail(c)
			if err != nil {
				return err
			}
			defer trail.Close()
			last, err := trail.Last(c.Context())
			if err != nil {
				return err
			}
			err = (&follower{trail: trail, last: max(0, last-int64(lines)), show: a.showRecord}).run(c.Context())
			if c.Context().Err() != nil {
				return nil
			}
			return err
		},
	}
	c.Flags().IntVar(&lines, "lines", 10, "begin with this `NUMBER` of records")
	return c
}

func (a *app) showRecord(r audit.Record) error {
	if !a.json {
		a.printRecordLine(r)
		return nil
	}
	out := json.NewEncoder(a.out)
	out.SetEscapeHTML(false)
	return out.Encode(r)
}

// follower shows each record once, when it is complete.
type follower struct {
	trail *store.Trail
	last  int64   // the highest number that was seen
	open  []int64 // seen, and not complete
	show  func(audit.Record) error
}

func (f *follower) run(ctx context.Context) error {
	ticker := time.NewTicker(tailEvery)
	defer ticker.Stop()
	for {
		if err := f.look(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

func (f *follower) look(ctx context.Context) error {
	before := f.open
	f.open = nil
	for _, sequence := range before {
		record, err := f.trail.Numbered(ctx, sequence)
		if errors.Is(err, store.ErrNoRecord) {
			continue
		} else if err != nil {
			return err
		}
		if err := f.take(record); err != nil {
			return err
		}
	}
	for {
		records, err := f.trail.After(ctx, f.last, audit.MaxLimit)
		if err != nil {
			return err
		}
		for _, record := range records {
			f.last = record.Sequence
			if err := f.take(record); err != nil {
				return err
			}
		}
		if len(records) < audit.MaxLimit {
			return nil
		}
	}
}

func (f *follower) take(r audit.Record) error {
	if r.Phase == audit.Intent {
		f.open = append(f.open, r.Sequence)
		return nil
	}
	return f.show(r)
}
