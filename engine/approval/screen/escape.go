package screen

import (
	"fmt"
	"strings"
	"unicode"
)

// Inline makes a text safe to stand in one line beside Writ's own words: what
// cannot be seen is written as <U+202E>, a line break as ⏎, and a word that
// mixes scripts whose letters look alike is marked, not replaced.
func Inline(text string) string {
	var out strings.Builder
	word := make([]rune, 0, 32)
	flush := func() {
		out.WriteString(string(word))
		if names := mixed(word); names != "" {
			out.WriteString("<mixes " + names + ">")
		}
		word = word[:0]
	}
	for _, r := range strings.ToValidUTF8(text, "\ufffd") {
		if (unicode.IsLetter(r) || unicode.IsMark(r)) && visible(r) {
			word = append(word, r)
			continue
		}
		flush()
		switch {
		case r == '\n':
			out.WriteString("⏎")
		case visible(r):
			out.WriteRune(r)
		default:
			fmt.Fprintf(&out, "<U+%04X>", r)
		}
	}
	flush()
	return out.String()
}

// visible reports whether a character shows what it is. Every space but the
// plain one, and everything that Unicode calls control, format, separator,
// private, unassigned, tag or variation selector, does not.
func visible(r rune) bool {
	switch {
	case r == ' ':
		return true
	case r == '\ufffd', unicode.Is(unicode.Variation_Selector, r), r >= 0xE0000 && r <= 0xE0FFF:
		return false
	case r == '\u115f', r == '\u1160', r == '\u3164', r == '\uffa0', r == '\u2800':
		return false // letters and a symbol that are drawn as nothing
	}
	return unicode.IsGraphic(r) && !unicode.Is(unicode.Z, r)
}

// alike are the scripts that have letters which look like those of another.
func alike() map[string]*unicode.RangeTable {
	return map[string]*unicode.RangeTable{
		"Latin": unicode.Latin, "Greek": unicode.Greek, "Cyrillic": unicode.Cyrillic, "Armenian": unicode.Armenian,
		"Cherokee": unicode.Cherokee, "Coptic": unicode.Coptic, "Lisu": unicode.Lisu,
	}
}

// mixed names the scripts of a word that has letters of more than one of them.
func mixed(word []rune) string {
	plain := true
	for _, r := range word {
		plain = plain && r < 0x80
	}
	if plain {
		return ""
	}
	var names []string
	for _, name := range []string{"Latin", "Greek", "Cyrillic", "Armenian", "Cherokee", "Coptic", "Lisu"} {
		for _, r := range word {
			if unicode.Is(alike()[name], r) {
				names = append(names, name)
				break
			}
		}
	}
	if len(names) < 2 {
		return ""
	}
	return strings.Join(names, " and ")
}
