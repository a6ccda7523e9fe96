package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// slack is how much of its goal a ratio must reach.
const slack = 0.8

// report collects figures and prints those of a section as a table.
type report struct {
	out    io.Writer
	rows   []row
	missed []string
}

type row struct{ name, measured, goal, verdict string }

func (r *report) begin(s section) { fmt.Fprintf(r.out, "\n%s: %s\n", s.name, s.about) }

func (r *report) end() {
	w := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', 0)
	for _, row := range r.rows {
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", row.name, row.measured, row.goal, row.verdict)
	}
	_ = w.Flush()
	r.rows = nil
}

// conclude names what missed.
func (r *report) conclude() error {
	if len(r.missed) == 0 {
		fmt.Fprintln(r.out, "\nok")
		return nil
	}
	fmt.Fprintf(r.out, "\n%d missed:\n", len(r.missed))
	for _, name := range r.missed {
		fmt.Fprintln(r.out, " ", name)
	}
	return errMissed
}

// atLeast fails a ratio below the slack of its goal.
func (r *report) atLeast(name string, measured, goal float64) {
	r.add(name, fmt.Sprintf("%.2f", measured), fmt.Sprintf("at least %.2f (fails under %.2f)", goal, goal*slack),
		measured >= goal, measured >= goal*slack)
}

// atMost fails a ratio above its goal by more than the slack.
func (r *report) atMost(name string, measured, goal float64) {
	r.add(name, fmt.Sprintf("%.2f", measured), fmt.Sprintf("at most %.2f (fails over %.2f)", goal, goal/slack),
		measured <= goal, measured <= goal/slack)
}

// sizeAtMost fails a size above its goal. Sizes hardly depend on what else the
// machine does.
func (r *report) sizeAtMost(name string, measured, goal int64) {
	r.add(name, fmt.Sprintf("%.1f MiB", mebi(measured)), fmt.Sprintf("at most %.1f MiB", mebi(goal)), measured <= goal, measured <= goal)
}

func mebi(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// holds fails when something that must be so is not.
func (r *report) holds(name, measured, goal string, ok bool) { r.add(name, measured, goal, ok, ok) }

func (r *report) add(name, measured, goal string, reached, passed bool) {
	verdict := "ok"
	switch {
	case !passed:
		verdict = "MISS"
		r.missed = append(r.missed, name+": "+measured+", "+goal)
	case !reached:
		verdict = "ok within the slack"
	}
	r.rows = append(r.rows, row{name, measured, goal, verdict})
}

// duration prints a time beside its goal, and never fails.
func (r *report) duration(name string, measured, goal time.Duration) {
	text := ""
	if goal > 0 {
		text = "not gated: at most " + goal.String()
		if measured > goal {
			text += ", OVER here and now"
		}
	}
	r.rows = append(r.rows, row{name, show(measured), text, ""})
}

// note prints a figure that has no goal.
func (r *report) note(name, format string, args ...any) {
	r.rows = append(r.rows, row{name, fmt.Sprintf(format, args...), "", ""})
}

// show writes a time with three digits.
func show(d time.Duration) string {
	switch {
	case d < time.Microsecond:
		return d.String()
	case d < time.Millisecond:
		return fmt.Sprintf("%.3g µs", float64(d)/float64(time.Microsecond))
	case d < time.Second:
		return fmt.Sprintf("%.3g ms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.3g s", d.Seconds())
}
