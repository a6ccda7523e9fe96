package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/engine/control"
	"github.com/writ-dev/writ/engine/reload"
	"github.com/writ-dev/writ/engine/store"
	"github.com/writ-dev/writ/engine/value"
)

// statusReport is how things stand.
type statusReport struct {
	Running       bool      `json:"running"`
	PID           int       `json:"pid,omitempty"`
	Version       string    `json:"version,omitempty"`
	Started       time.Time `json:"started,omitzero"`
	Address       string    `json:"address,omitempty"`
	Configuration string    `json:"configuration"`
	Reason        string    `json:"reason"`
	State         string    `json:"state"`
	// Journal is ok, or why calls are refused at present.
	Journal     string            `json:"journal,omitempty"`
	Frozen      bool              `json:"frozen"`
	FrozenWhy   string            `json:"frozen_why,omitempty"`
	Recovery    store.Recovery    `json:"recovery"`
	Tools       int               `json:"tools"`
	Callable    int               `json:"callable"`
	Rules       int               `json:"rules"`
	Documents   int               `json:"documents"`
	Unavailable map[string]string `json:"unavailable,omitempty"`
	Reload      reload.Status     `json:"reload"`
	// ProgramsMasked says that programs which Writ starts cannot see its files.
	ProgramsMasked bool   `json:"programs_masked"`
	MaskedWhy      string `json:"programs_masked_why,omitempty"`
}

// status reports on this engine.
func (e *engine) status() statusReport {
	c := e.place.configuration
	s := statusReport{
		Configuration: shownDir(c), Reason: c.Reason, State: e.place.state, Reload: e.reloader.Status(),
		MaskedWhy: "this version does not hide Writ's files and sockets from the programs that tools start",
	}
	if current := e.live.Current(); current != nil {
		s.Tools, s.Callable, s.Rules, s.Documents = len(current.Tools()), current.Callable(), current.RuleCount, current.Documents
		s.Unavailable = unavailable(current)
	}
	if e.store == nil {
		return s
	}
	s.Running, s.PID, s.Version, s.Started = true, os.Getpid(), readBuild().Version, e.started
	s.Recovery, s.Journal = e.store.Recovery(), "ok"
	s.FrozenWhy, s.Frozen = e.isFrozen()
	if err := e.store.Ready(); err != nil {
		s.Journal = err.Error()
	}
	if address := e.address.Load(); address != nil {
		s.Address = *address
	}
	return s
}

func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show how the server fares",
		Long: `Shows which configuration and state folder are used and, when a server runs,
where it listens, what is in force, whether the files on disk are valid, and
whether calls can be recorded.`,
		Example: `  writ status
  writ status --json | jq .reload.valid`,
		Args:        positional(cobra.NoArgs),
		Annotations: map[string]string{exitCodes: "0 the files are valid\n1 the files have mistakes, or calls cannot be recorded\n2 could not run"},
		RunE: func(c *cobra.Command, _ []string) error {
			p, err := a.place(c, false)
			if err != nil {
				return err
			}
			var s statusReport
			err = control.Ask(c.Context(), p.state, control.Question{Do: "status", Into: &s})
			if errors.Is(err, control.ErrNobody) || errors.Is(err, control.ErrUnavailable) {
				var e *engine
				if e, err = a.open(c.Context(), p, assembly{log: a.quietLog()}); err == nil {
					e.reloader.Load(c.Context())
					s = e.status()
				}
			}
			if err != nil {
				return err
			}
			if a.json {
				err = a.printJSON(s)
			} else {
				a.printStatus(s)
			}
			if err == nil && (!s.Reload.Valid || s.Running && s.Journal != "ok") {
				return ended{exitFailed}
			}
			return err
		},
	}
}

func (a *app) printStatus(s statusReport) {
	rows := [][]string{
		{"configuration", s.Configuration + " (" + s.Reason + ")"},
		{"state", s.State},
	}
	if s.Running {
		rows = append(rows, []string{"server", fmt.Sprintf("version %s, process %d, since %s", s.Version, s.PID, s.Started.Local().Format(time.DateTime))})
		if s.Address != "" {
			rows = append(rows, []string{"address", s.Address})
		}
		rows = append(rows, []string{"generation", fmt.Sprintf("%d, in force since %s (%s)", s.Reload.Generation, s.Reload.Published.Local().Format(time.DateTime), s.Reload.Mode)},
			[]string{"records", s.Journal})
		if s.Frozen {
			rows = append(rows, []string{"calls", "FROZEN" + suffix(s.FrozenWhy) + "; writ thaw ends it"})
		}
		if s.Recovery.Unclean {
			rows = append(rows, []string{"", fmt.Sprintf("the process before did not end properly; %s interrupted", count(s.Recovery.Interrupted, "call"))})
		}
	} else {
		rows = append(rows, []string{"server", "none is running"})
	}
	rows = append(rows,
		[]string{"tools", strconv.Itoa(s.Callable) + " of " + strconv.Itoa(s.Tools) + " can be called"},
		[]string{"rules", strconv.Itoa(s.Rules) + " in " + count(s.Documents, "document")})
	for _, name := range value.Keys(s.Unavailable) {
		rows = append(rows, []string{"unavailable", name + ": " + s.Unavailable[name]})
	}
	if !s.ProgramsMasked {
		rows = append(rows, []string{"programs", "not masked: " + s.MaskedWhy})
	}
	table(a.out, rows)
	if len(s.Reload.Problems) > 0 {
		fmt.Fprintln(a.out)
		a.diagnostics(a.out, s.Reload.Problems)
	}
	if !s.Reload.Valid {
		fmt.Fprintln(a.out, a.paint(a.out, red, "the files have mistakes")+"; the last good generation stays in force")
	}
}
