// Package diag answers one question: where is the mistake?
//
// A Diagnostic is data, never a formatted error: a position that a person can
// open, what is wrong, and what would be right. Rooms that read files return a
// List with every mistake of every file; nothing stops at the first one. The
// package knows nothing of files, YAML, CUE or terminals beyond printing text,
// and imports no other room.
package diag

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Position is a place in a file that a person wrote. Line and Column count
// from 1; zero means unknown. Columns count characters, not bytes.
type Position struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// String renders file:line:col, leaving out what is unknown.
func (p Position) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		b.WriteString(":" + strconv.Itoa(p.Line))
		if p.Column > 0 {
			b.WriteString(":" + strconv.Itoa(p.Column))
		}
	}
	return b.String()
}

// IsZero reports whether nothing is known.
func (p Position) IsZero() bool { return p == Position{} }

// Compare orders by file, line and column.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column))
}

// Severity says whether a diagnostic stops a generation from being published.
type Severity int

const (
	// Error refuses the whole generation.
	Error Severity = iota
	// Warning is printed and changes nothing.
	Warning
)

func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// MarshalText writes the severity as a word.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the word. What is no warning is an error.
func (s *Severity) UnmarshalText(text []byte) error {
	*s = Error
	if string(text) == Warning.String() {
		*s = Warning
	}
	return nil
}

// Related is a second place that explains a diagnostic, such as the first of
// two documents of one name or the line of the schema that was broken.
type Related struct {
	At      Position `json:"at"`
	Message string   `json:"message"`
}

// Diagnostic is one mistake. Message is lower-case and says what is wrong;
// Hint says what would be right. Code is stable and machine-readable, such as
// "unknown-key".
type Diagnostic struct {
	At       Position  `json:"at"`
	Severity Severity  `json:"severity"`
	Code     string    `json:"code"`
	Message  string    `json:"message"`
	Hint     string    `json:"hint,omitempty"`
	Related  []Related `json:"related,omitempty"`
}

// String renders one line: position, severity when it is a warning, message
// and hint in brackets. Related places are not included.
func (d Diagnostic) String() string {
	var b strings.Builder
	b.WriteString(d.At.String() + ": ")
	if d.Severity == Warning {
		b.WriteString("warning: ")
	}
	b.WriteString(d.Message)
	if d.Hint != "" {
		b.WriteString(" (" + d.Hint + ")")
	}
	return b.String()
}

// List is any number of diagnostics. The zero value is ready to use.
type List []Diagnostic

// Errorf appends an error and returns it, so that a hint or related places can be set.
func (l *List) Errorf(at Position, code, format string, args ...any) *Diagnostic {
	return l.add(Diagnostic{At: at, Severity: Error, Code: code, Message: fmt.Sprintf(format, args...)})
}

// Warnf appends a warning and returns it, so that a hint or related places can be set.
func (l *List) Warnf(at Position, code, format string, args ...any) *Diagnostic {
	return l.add(Diagnostic{At: at, Severity: Warning, Code: code, Message: fmt.Sprintf(format, args...)})
}

func (l *List) add(d Diagnostic) *Diagnostic {
	*l = append(*l, d)
	return &(*l)[len(*l)-1]
}

// Hinted sets the hint and returns the diagnostic. It does nothing when hint is empty.
func (d *Diagnostic) Hinted(format string, args ...any) *Diagnostic {
	if format != "" {
		d.Hint = fmt.Sprintf(format, args...)
	}
	return d
}

// Also adds a related place and returns the diagnostic.
func (d *Diagnostic) Also(at Position, format string, args ...any) *Diagnostic {
	d.Related = append(d.Related, Related{At: at, Message: fmt.Sprintf(format, args...)})
	return d
}

// Sorted returns a copy in the order of positions, errors before warnings at
// one place, without exact repetitions.
func (l List) Sorted() List {
	out := slices.Clone(l)
	slices.SortStableFunc(out, func(a, b Diagnostic) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(out, func(a, b Diagnostic) bool {
		return a.At == b.At && a.Severity == b.Severity && a.Message == b.Message
	})
}

// HasErrors reports whether any diagnostic is an error.
func (l List) HasErrors() bool { return l.Errors() > 0 }

// Errors counts the errors.
func (l List) Errors() int {
	n := 0
	for _, d := range l {
		if d.Severity == Error {
			n++
		}
	}
	return n
}

// Err returns nil when there is no error, and otherwise an error whose text
// has one line for each diagnostic.
func (l List) Err() error {
	if !l.HasErrors() {
		return nil
	}
	return listError{l.Sorted()}
}

type listError struct{ list List }

func (e listError) Error() string {
	lines := make([]string, len(e.list))
	for i, d := range e.list {
		lines[i] = d.String()
	}
	return strings.Join(lines, "\n")
}
