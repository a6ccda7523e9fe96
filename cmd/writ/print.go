package main

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/writ-dev/writ/engine/diag"
)

// The colours that are used, as sequences of a terminal.
const (
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
)

// paint colours text when it goes to a terminal that may be coloured.
func (a *app) paint(w io.Writer, color, text string) string {
	if none, _ := a.environment("NO_COLOR"); none != "" || a.noColor || a.getenv("TERM") == "dumb" || !a.terminal(w) {
		return text
	}
	return color + text + "\x1b[0m"
}

// printJSON writes one indented value and a newline.
func (a *app) printJSON(v any) error {
	encoder := json.NewEncoder(a.out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// diagnostics prints one line for each, with the related places below it.
func (a *app) diagnostics(w io.Writer, list diag.List) {
	for _, d := range list.Sorted() {
		at := d.At
		at.File = a.shown(at.File)
		severity := a.paint(w, red, "error")
		if d.Severity == diag.Warning {
			severity = a.paint(w, yellow, "warning")
		}
		line := severity + ": " + clean(d.Message)
		if !at.IsZero() {
			line = a.paint(w, bold, clean(at.String())) + ": " + line
		}
		if d.Hint != "" {
			line += " " + a.paint(w, dim, "("+clean(d.Hint)+")")
		}
		fmt.Fprintln(w, line)
		for _, related := range d.Related {
			at := related.At
			at.File = a.shown(at.File)
			fmt.Fprintln(w, a.paint(w, dim, "    "+clean(at.String())+": "+clean(related.Message)))
		}
	}
}

// shown shortens a path inside the current folder, and one of the packs.
func (a *app) shown(path string) string {
	path = packed(path)
	current, err := a.folder()
	if err != nil || !filepath.IsAbs(path) {
		return path
	}
	relative, err := filepath.Rel(current, path)
	if err != nil || relative == ".." || strings.HasPrefix(relative, ".."+string(filepath.Separator)) {
		return path
	}
	return relative
}

// clean makes the text of others harmless to a terminal.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf)) {
			return '\ufffd'
		}
		return r
	}, text)
}

// table prints rows in columns.
func table(w io.Writer, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = strings.NewReplacer("\t", " ", "\n", " ").Replace(clean(cell))
		}
		fmt.Fprintln(t, strings.TrimRight(strings.Join(row, "\t"), "\t "))
	}
	_ = t.Flush()
}

// indent puts a text under a heading.
func indent(text, by string) string {
	return by + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+by)
}
