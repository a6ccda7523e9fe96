package template

import (
	"strings"
	"testing"
)

// FuzzParse checks that nothing panics and that a text whose ${ are doubled
// renders as itself.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "a${args.x}b", "$${", "$$${", "${", "${}", "$", "${a}${b}", "ä\x00${a.b.c}", "${a\n}", "$${${a}", "}}${"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all := func(path []string) (any, bool, error) { return "<" + strings.Join(path, ".") + ">", true, nil }
		if parsed, list := Parse(text, start); parsed != nil {
			rendered, err := parsed.Text(all)
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			if len(parsed.Slots()) == 0 && rendered != strings.ReplaceAll(text, "$${", "${") {
				t.Fatalf("%q became %q", text, rendered)
			}
		} else if !list.HasErrors() {
			t.Fatalf("%q: no template and no diagnostic", text)
		}
		escaped, list := Parse(strings.ReplaceAll(text, "${", "$${"), start)
		if escaped == nil {
			t.Fatalf("%q, escaped: %v", text, list)
		}
		if rendered, err := escaped.Text(all); err != nil || rendered != text {
			t.Fatalf("%q, escaped, became %q, %v", text, rendered, err)
		}
	})
}
