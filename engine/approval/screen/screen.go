// Package screen answers one question: what does an approver see?
//
// It lays a ticket out as lines of plain text: who asks for what, how dangerous
// it is and why, and the exact effect, complete. Whatever a caller or a file
// wrote is escaped, and stands behind a margin that Writ alone draws, so that
// nothing of it can pass for Writ's own words. The package is pure; how lines
// are paged, coloured and answered is for the surface to do.
package screen

import (
	"fmt"
	"strings"
	"time"

	"github.com/writ-dev/writ/engine/approval"
	"github.com/writ-dev/writ/engine/policy"
	"github.com/writ-dev/writ/engine/value"
)

// Margin stands before every line that Writ did not write.
const Margin = "│ "

// Lines lays a ticket out. Base shortens the paths of configuration files when
// it is a folder above them.
func Lines(t approval.Ticket, now time.Time, base string) []string {
	r := t.Prepared.Request
	var out []string
	say := func(label, format string, args ...any) {
		out = append(out, fmt.Sprintf("%-11s %s", label, fmt.Sprintf(format, args...)))
	}
	say("ticket", "%s, %s", t.ID, state(t, now))
	say("tool", "%s", Inline(r.Tool))
	say("caller", "%s over %s", Inline(r.Principal.Name), r.Entry)
	if len(r.Principal.Roles) > 0 {
		say("roles", "%s", Inline(strings.Join(r.Principal.Roles, ", ")))
	}
	say("risk", "%s", strings.ToUpper(t.Assessment.Level.String()))
	for _, finding := range t.Assessment.Fired {
		say("  rule", "%s (%s): %s", finding.ID, finding.Level, Inline(finding.Message))
		say("", "%s", strings.TrimPrefix(strings.TrimPrefix(finding.At.String(), base), "/"))
		if finding.Error != "" {
			say("", "it could not be evaluated: %s", Inline(finding.Error))
		}
	}
	say("confirm", "%s, asked for by %s", confirmation(t), t.Decision.SettledBy)
	for _, set := range t.Decision.Approvers {
		say("approvers", "%s", approvers(set))
	}
	for _, vote := range t.Votes {
		say("  yes", "%s at %s %s", Inline(vote.Approver), vote.At.Format(time.TimeOnly), Inline(vote.Reason))
	}
	if t.State != approval.Pending {
		return out
	}
	out = append(out, "", "the call will do exactly this")
	out = quoted(out, t.Prepared.Effect.Preview)
	out = append(out, "", "arguments")
	for _, name := range value.Keys(t.Prepared.Arguments) {
		out = quoted(out, Inline(name)+" = "+string(value.JSON(t.Prepared.Arguments[name])))
	}
	for _, named := range []struct {
		title  string
		values map[string]any
	}{{"scope", t.Prepared.Scope}, {"facts", t.Prepared.Effect.Facts}} {
		if len(named.values) == 0 {
			continue
		}
		out = append(out, "", named.title)
		for _, name := range value.Keys(named.values) {
			out = quoted(out, Inline(name)+" = "+string(value.JSON(named.values[name])))
		}
	}
	return out
}

// quoted appends a text of several lines behind the margin.
func quoted(out []string, text string) []string {
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		out = append(out, Margin+Inline(strings.ReplaceAll(line, "\t", "    ")))
	}
	return out
}

func state(t approval.Ticket, now time.Time) string {
	left := t.Expires.Sub(now).Round(time.Second)
	switch t.State {
	case approval.Pending:
		return fmt.Sprintf("open for another %s, %d waiting", left, t.Waiting)
	case approval.Approved:
		return fmt.Sprintf("approved, waiting for %s to be collected", left)
	}
	if t.Reason == "" {
		return string(t.State)
	}
	return string(t.State) + ": " + Inline(t.Reason)
}

func confirmation(t approval.Ticket) string {
	if t.Decision.Confirmation == policy.Phrase {
		return fmt.Sprintf("yes, and the phrase %q", t.Phrase())
	}
	return "yes"
}

func approvers(set policy.Approvers) string {
	who := "anybody who may approve"
	if len(set.People)+len(set.Roles) > 0 {
		who = Inline(strings.Join(append(append([]string{}, set.People...), set.Roles...), ", "))
	}
	text := fmt.Sprintf("%d of %s", max(1, set.Count), who)
	if set.Reason {
		text += ", with a reason"
	}
	return text
}
