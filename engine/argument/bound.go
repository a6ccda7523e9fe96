package argument

import (
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/value"
)

// applies refuses a bound that its type makes meaningless, since it would
// look like protection.
func (l *linter) applies(w *written) {
	types := w.types()
	if len(types) == 0 {
		return
	}
	for _, key := range w.keys {
		of := l.words[key].of
		if of == "" || slices.Contains(types, of) || of == "number" && slices.Contains(types, "integer") {
			continue
		}
		l.problems.Errorf(l.key(w, key), "schema-bound", "%s means nothing for %s", key, strings.Join(types, " or "))
	}
}

func (l *linter) ranges(w *written) {
	for _, pair := range [][2]string{
		{"minimum", "maximum"}, {"exclusiveMinimum", "maximum"}, {"minimum", "exclusiveMaximum"}, {"exclusiveMinimum", "exclusiveMaximum"},
		{"minLength", "maxLength"}, {"minItems", "maxItems"}, {"minProperties", "maxProperties"}, {"minContains", "maxContains"},
	} {
		low, hasLow := w.values[pair[0]]
		high, hasHigh := w.values[pair[1]]
		if !hasLow || !hasHigh {
			continue
		}
		order := compare(low, high)
		if order > 0 || order == 0 && strings.Contains(pair[0]+pair[1], "exclusive") {
			l.problems.Errorf(l.at(w, pair[0]), "impossible-range", "no value is possible: %s is %s and %s is %s",
				pair[0], value.JSON(low), pair[1], value.JSON(high)).Also(l.at(w, pair[1]), "the other end")
		}
	}
}

func (l *linter) pattern(w *written) {
	patterns := map[string]diag.Position{}
	if w.has("pattern") {
		patterns[w.text("pattern")] = l.at(w, "pattern")
	}
	if object := w.object("patternProperties"); object != nil {
		for _, key := range object.keys {
			patterns[key] = l.key(object, key)
		}
	}
	for _, text := range value.Keys(patterns) {
		if parsed, err := syntax.Parse(text, syntax.Perl); err != nil {
			l.problems.Errorf(patterns[text], "pattern", "the pattern cannot be used: %v", err).
				Hinted("patterns are RE2: no look-around, no back-references")
		} else if !anchored(parsed, true) || !anchored(parsed, false) {
			l.problems.Warnf(patterns[text], "unanchored", "the pattern %q also matches in the middle of a text", text).
				Hinted("begin it with ^ and end it with $")
		}
	}
}

// anchored reports whether every match begins (or ends) where the text does.
func anchored(re *syntax.Regexp, begin bool) bool {
	switch re.Op {
	case syntax.OpBeginText:
		return begin
	case syntax.OpEndText:
		return !begin
	case syntax.OpCapture:
		return anchored(re.Sub[0], begin)
	case syntax.OpConcat:
		if begin {
			return anchored(re.Sub[0], begin)
		}
		return anchored(re.Sub[len(re.Sub)-1], begin)
	case syntax.OpAlternate:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !anchored(sub, begin) })
	}
	return false
}

func (l *linter) format(w *written) {
	format := w.text("format")
	switch {
	case format == "artifact":
		l.problems.Errorf(l.at(w, "format"), "not-yet", "format: artifact is not yet available")
	case w.has("format") && formatCheck(format) == nil:
		l.problems.Errorf(l.at(w, "format"), "unknown-format", "unknown format %q: use %s", format, diag.OneOf(formats())).
			Hinted("%s", diag.DidYouMean(format, formats()))
	}
	for _, c := range w.names("allow_leading") {
		if len(c) != 1 || c[0] <= ' ' || c[0] >= 0x7f || alphanumeric(c[0]) {
			l.problems.Errorf(l.at(w, "allow_leading"), "allow-leading", "allow_leading takes single characters such as \"-\", not %q", c)
		}
	}
	if format != "path" {
		for _, key := range []string{"under", "must"} {
			if w.has(key) {
				l.problems.Errorf(l.key(w, key), "not-a-path", "%s needs format: path beside it", key)
			}
		}
		return
	}
	under := w.names("under")
	if len(under) == 0 {
		l.problems.Errorf(l.at(w, "format"), "no-root", "format: path needs the roots that it may lie under").
			Hinted("write under: [ROOT], a root of writ.yaml, or under: [anywhere]")
	}
	for i, name := range under {
		if l.roots != nil && name != "anywhere" && !l.roots(name) {
			l.problems.Warnf(l.at(w, "under", i), "undeclared-root", "the root %s is not declared, so the tool is not available", name).
				Hinted("declare roots.%s in writ.yaml", name)
		}
	}
	if must := w.text("must"); w.has("must") && !slices.Contains(musts(), must) {
		l.problems.Errorf(l.at(w, "must"), "unknown-must", "must takes %s, not %q", diag.OneOf(musts()), must).
			Hinted("%s", diag.DidYouMean(must, musts()))
	}
}

func musts() []string { return []string{"exist", "file", "directory", "absent"} }

// values checks that what is listed could ever be sent.
func (l *linter) values(w *written) {
	if w.has("enum") {
		list := w.list("enum")
		if len(list) == 0 {
			l.problems.Errorf(l.at(w, "enum"), "impossible-range", "no value is possible: enum is empty")
		} else if repeats(list) {
			l.problems.Errorf(l.at(w, "enum"), "enum", "a value of enum is listed twice")
		}
		for i, item := range list {
			l.listed(w, item, "enum", i)
		}
	}
	if w.has("const") {
		l.listed(w, w.values["const"], "const")
	}
}

func (l *linter) listed(w *written, item any, where ...any) {
	types := w.types()
	if len(types) > 0 && typeSetOf(types)&typeOf(plain(item)) == 0 {
		l.problems.Errorf(l.at(w, where...), "enum", "%s is not %s", show(plain(item)), strings.Join(types, " or ")).
			Hinted("numbers and true, false in a list of strings need quotes")
	}
	format := w.text("format")
	text, ok := item.(string)
	if spell := spelling(format); ok && spell != nil && formatCheck(format)(text) == nil && spell(text) != text {
		l.problems.Errorf(l.at(w, where...), "enum", "%s is never sent: each %s is brought to one spelling", show(text), format).
			Hinted("write %s", spell(text))
	}
}
