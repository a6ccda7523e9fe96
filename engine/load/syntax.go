package load

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/writ-dev/writ/engine/diag"
)

// searched is how many lines after the one that the parser names are looked
// at: it names the beginning of the block that it could not finish.
const searched = 60

// syntax reports what the YAML parser refused, at the best place that it
// tells.
func (r *yamlReader) syntax(err error, start, end int) {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	if match := regexp.MustCompile(`^unknown anchor '(.*)' referenced$`).FindStringSubmatch(message); match != nil {
		at := r.position(start, end, "*"+match[1])
		r.problems.Errorf(at, "yaml-alias", "*%s is an alias, which documents do not use", match[1]).Hinted("quote the text")
		return
	}
	line := start + 1
	if match := regexp.MustCompile(`^line ([0-9]+): (.*)$`).FindStringSubmatch(message); match != nil {
		n, _ := strconv.Atoi(match[1])
		line, message = start+max(n, 1), match[2]
		if countsFromZero(message) {
			line++
		}
	}
	line = min(line, end)
	for line > start+1 && strings.TrimSpace(r.lines[line-1]) == "" {
		line--
	}
	text := strings.TrimRight(r.lines[line-1], "\r")
	at := diag.Position{File: r.file, Line: line, Column: 1 + len(text) - len(strings.TrimLeft(text, " \t-"))}
	hint := ""
	for l := max(start+1, line-1); l <= min(end, line+searched) && hint == ""; l++ {
		if column, found := culprit(r.lines[l-1]); found != "" {
			at.Line, at.Column, hint = l, column, found
		}
	}
	r.problems.Errorf(at, "syntax", "not valid YAML: %s", message).Hinted("%s", hint)
}

// countsFromZero knows the messages for which the YAML parser names the line
// before.
func countsFromZero(message string) bool {
	what, ok := strings.CutPrefix(message, "did not find expected ")
	return ok && slices.Contains([]string{"key", "',' or ']'", "',' or '}'", "'-' indicator", "node content", "<document start>"}, what)
}

// culprit guesses what in a line YAML stumbled over: the column of it in
// characters, and what would be right.
func culprit(line string) (int, string) {
	line = strings.TrimRight(line, "\r")
	column := func(at int) int { return utf8.RuneCountInString(line[:at]) + 1 }
	if match := regexp.MustCompile(`\bwhen:\s+(\S.*)$`).FindStringSubmatchIndex(line); match != nil {
		flow := strings.Contains(line[:match[0]], "{")
		text := line[match[2]:]
		switch {
		case flow && breaks(text, ",}", "[]{},"):
			return column(match[2]), "quote this expression, or write the rule in block style"
		case !flow && breaks(text, "#", "") && len(text) < 200:
			return column(match[2]), "quote this expression: " + doubleQuoted(strings.TrimSpace(text))
		case !flow && breaks(text, "#", ""):
			return column(match[2]), "quote this expression"
		}
		return 0, ""
	}
	if match := regexp.MustCompile(`[\[{,:]\s*[^"'\s,\[\]{}]*\$\{`).FindStringIndex(line); match != nil && strings.ContainsAny(line[:match[1]-2], "[{") {
		return column(match[1] - 2), `quote what holds ${…}, such as "${args.name}"`
	}
	if match := regexp.MustCompile(`^\s*(?:- )?[\w-]+:\s+([^"'\[{|>\s].*): `).FindStringSubmatchIndex(line); match != nil {
		return column(match[2]), "quote text that holds a colon and a space"
	}
	if tab := strings.Index(line, "\t"); tab >= 0 && strings.TrimSpace(line[:tab]) == "" {
		return column(tab), "indent with spaces, not with tabs"
	}
	return 0, ""
}

// breaks reports whether YAML reads an expression as something else: it begins
// like quoted text and goes on behind it with what none of after allows, or it
// is bare and holds a character of split, a colon and a space, or begins with a
// sign of YAML.
func breaks(text, after, split string) bool {
	if quote := text[0]; quote == '\'' || quote == '"' {
		end := strings.IndexByte(text[1:], quote)
		if end < 0 {
			return true
		}
		rest := strings.TrimSpace(text[end+2:])
		return rest != "" && !strings.ContainsRune(after, rune(rest[0]))
	}
	bare := text
	if split != "" {
		bare = strings.TrimRight(text, " }]")
		if end := regexp.MustCompile(`, *\w+:`).FindStringIndex(bare); end != nil {
			bare = bare[:end[0]]
		}
	}
	return strings.ContainsRune("!&*%@`[]{}", rune(text[0])) || strings.Contains(text, ": ") && split == "" || split != "" && strings.ContainsAny(bare, split)
}

func (r *yamlReader) position(start, end int, text string) diag.Position {
	for i := start; i < end; i++ {
		if before, _, ok := strings.Cut(r.lines[i], text); ok {
			return diag.Position{File: r.file, Line: i + 1, Column: utf8.RuneCountInString(before) + 1}
		}
	}
	return diag.Position{File: r.file, Line: start + 1}
}
