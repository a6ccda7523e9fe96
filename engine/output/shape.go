// Package output answers one question: how is what came back shaped for the
// caller?
//
// A Shape is compiled from the output block of a tool and applied to what its
// executor brought back, always in this order: parse, rows, fields, mask,
// max_rows, max_bytes, render. What it returns is bounded, valid UTF-8 and
// free of terminal control, says where something was left out, and with
// fields holds nothing that the author did not list — neither in an error nor
// when the content cannot be read. It is redacted once more, because cleaning
// and parsing can join what executors saw apart while they read. The package
// keeps no state and starts nothing.
package output

import (
	"fmt"
	"strings"

	"github.com/writ-dev/writ/engine/call"
)

// Bounds of what a caller gets (P-20), and of pictures (S-24: 3 MiB of base64).
const (
	DefaultMaxBytes = 64 << 10
	MaxBytes        = 1 << 20
	MaxImageBytes   = 3 << 20 / 4 * 3
)

// jsonBytes is how much an executor keeps of content that is read as JSON,
// because fields and rows make less of it.
const jsonBytes = 2 << 20

// Shape is a compiled output block. It is immutable.
type Shape struct {
	as        string // text, lines, json, image, or "" for what the executor has
	mediaType string
	rows      []string
	hasRows   bool
	fields    []field
	maxRows   int
	maxBytes  int
	table     bool
	check     func(structured any) error
}

type field struct {
	name string
	path []step
	kind string
	mask bool
}

// step is one name of a dotted path; each says that the value there is a list
// and the rest of the path holds for each of its elements.
type step struct {
	name string
	each bool
}

// Checked returns a Shape that verifies what it is about to return as
// structure of a complete call, against the tool's outputSchema. A structure
// that does not satisfy it is not returned, and the call has failed.
func (s *Shape) Checked(check func(structured any) error) *Shape {
	checked := *s
	checked.check = check
	return &checked
}

// CaptureBytes is how much of each stream an executor should keep.
func (s *Shape) CaptureBytes() int64 {
	switch s.as {
	case "json":
		return jsonBytes
	case "image":
		return MaxImageBytes
	}
	return int64(s.maxBytes)
}

// Apply shapes one outcome, of which Value may be changed. Redact cuts the
// values of secrets out of a text; nil cuts nothing. Success is true only for a
// complete call; Code is the status otherwise.
func (s *Shape) Apply(outcome call.Outcome, redact func(text string) string) call.Result {
	shape := applied{s, redact}
	result := call.Result{Status: outcome.Status, Reason: shape.redact.shown(outcome.Reason), ExitCode: outcome.ExitCode}
	switch {
	case s.as == "image":
		shape.image(&result, outcome)
	case s.as == "lines":
		shape.lines(&result, outcome)
	case s.as == "json" && (outcome.Body.Total > 0 || outcome.Value == nil):
		shape.parsed(&result, outcome)
	case outcome.Value != nil && (s.as != "text" || outcome.Body.Total == 0):
		shape.structure(&result, outcome.Value)
	default:
		shape.text(&result, outcome)
	}
	if result.Success = result.Status == call.Complete; !result.Success {
		result.Code = string(result.Status)
	}
	return result
}

// applied is a Shape at work on one outcome.
type applied struct {
	*Shape
	redact redactor
}

// newText cleans captured output and redacts what came of it.
func (s applied) newText(c call.Capture) text {
	t := newText(c)
	t.head, t.tail = s.redact.shown(t.head), s.redact.shown(t.tail)
	return t
}

// text is the body, and what the program said on standard error when it did
// not end well or said nothing else.
func (s applied) text(result *call.Result, outcome call.Outcome) {
	if len(s.fields) > 0 {
		return // an allow-list without anything that it could list
	}
	body := s.newText(outcome.Body)
	errors := s.newText(outcome.Errors)
	switch {
	case errors.empty() || outcome.Status == call.Complete && !body.empty():
		result.Output, result.Truncated = body.bound(s.maxBytes)
	case body.empty():
		result.Output, result.Truncated = errors.bound(s.maxBytes)
	default:
		const heading = "[standard error]\n"
		said, cutErrors := errors.bound(s.maxBytes / 4)
		out, cutBody := body.bound(s.maxBytes - len(said) - len(heading) - 1)
		if !strings.HasSuffix(out, "\n") {
			out += "\n"
		}
		result.Output, result.Truncated = out+heading+said, cutErrors || cutBody
	}
}

// lines gives the text and the same as a list. max_rows counts lines.
func (s applied) lines(result *call.Result, outcome call.Outcome) {
	s.text(result, outcome)
	body, _ := s.newText(outcome.Body).bound(s.maxBytes)
	lines := []any{}
	for line := range strings.Lines(body) {
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	if s.maxRows > 0 && len(lines) > s.maxRows {
		note(result, fmt.Sprintf("%d of %d lines are left out", len(lines)-s.maxRows, len(lines)))
		lines = lines[:s.maxRows]
		if outcome.Status == call.Complete {
			result.Output = firstLines(body, s.maxRows)
		}
	}
	result.Structured = map[string]any{"lines": lines, "truncated": result.Truncated}
	s.verify(result)
}

func firstLines(text string, n int) string {
	end := 0
	for range n {
		end += strings.IndexByte(text[end:], '\n') + 1
	}
	return text[:end]
}

// Lines reports whether the output is lines, which can be counted while they
// come.
func (s *Shape) Lines() bool { return s.as == "lines" }
