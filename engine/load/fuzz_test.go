package load

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/writ-dev/writ/engine/diag"
)

// seeds adds the files of all archives with these endings.
func seeds(f *testing.F, endings ...string) {
	for _, pattern := range []string{"testdata/*.txtar", "testdata/verdicts/*.txtar"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, name := range names {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				f.Fatal(err)
			}
			for _, file := range archive.Files {
				for _, ending := range endings {
					if filepath.Ext(file.Name) == ending {
						f.Add(file.Data)
					}
				}
			}
		}
	}
}

// sound checks what holds for every tree: it is JSON, and every value and
// every mistake has a place inside the file.
func sound(t *testing.T, g *grammar, text []byte, trees []tree, problems diag.List) {
	for _, tree := range trees {
		doc, more := g.document(tree)
		problems = append(problems, more...)
		if doc != nil && more.HasErrors() {
			t.Errorf("a document with mistakes is used: %v", more)
		}
		if !tree.broken && !json.Valid(tree.root.appendJSON(nil)) {
			t.Errorf("no JSON: %s", tree.root.appendJSON(nil))
		}
	}
	lines := 1
	for _, b := range text {
		if b == '\n' {
			lines++
		}
	}
	for _, d := range problems {
		if d.At.File == "" || d.At.Line < 1 || d.At.Line > lines || !utf8.ValidString(d.String()) {
			t.Errorf("no place in %d lines: %q", lines, d)
		}
	}
}

func FuzzYAML(f *testing.F) {
	seeds(f, ".yaml", ".yml")
	g, err := newGrammar()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var problems diag.List
		trees := readYAML("a.yaml", text, &problems)
		for _, tree := range trees {
			if tree.broken && len(problems) == 0 {
				t.Error("broken without a mistake")
			}
		}
		sound(t, g, text, trees, problems)
	})
}

func FuzzJSON(f *testing.F) {
	seeds(f, ".json")
	g, err := newGrammar()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var problems diag.List
		trees := readJSON("a.json", text, &problems)
		if len(trees) == 1 && !json.Valid(trimMark(text)) {
			t.Error("what is no JSON was read")
		}
		sound(t, g, text, trees, problems)
	})
}

func trimMark(text []byte) []byte {
	if len(text) >= 3 && string(text[:3]) == "\xef\xbb\xbf" {
		return text[3:]
	}
	return text
}
