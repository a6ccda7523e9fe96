package load

import (
	"context"
	"io/fs"
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/parser"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/schema"
)

// TestVerdictsAreEqual: the grammar itself, evaluated by CUE, and the JSON
// Schema that was derived from it accept and refuse the same documents, in
// YAML, JSON and CUE, and every mistake has a place in each of them.
func TestVerdictsAreEqual(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/verdicts/corpus.txtar")
	if err != nil {
		t.Fatal(err)
	}
	g, err := newGrammar()
	if err != nil {
		t.Fatal(err)
	}
	truth := compileGrammar(t)
	counts := map[bool]int{}
	for _, file := range archive.Files {
		want := strings.HasPrefix(file.Name, "good/")
		counts[want]++
		for name, root := range everyForm(t, file) {
			kind := root.get("kind").text
			if got, err := accepts(truth, kind, root); got != want {
				t.Errorf("%s: CUE accepts: %t, want %t (%v)", name, got, want, err)
			}
			problems := g.validate(kind, root)
			if got := len(problems) == 0; got != want {
				t.Errorf("%s: accepted: %t, want %t (%v)", name, got, want, problems)
			}
			for _, d := range problems {
				if d.At.Line == 0 || d.At.Column == 0 || d.At.File == "" || d.Code == "invalid" {
					t.Errorf("%s: %q has no place of its own", name, d)
				}
			}
		}
	}
	if counts[true] < 10 || counts[false] < 40 {
		t.Errorf("the corpus has %d good and %d broken documents", counts[true], counts[false])
	}
}

// everyForm reads a YAML document, and the same as JSON and as CUE.
func everyForm(t *testing.T, file txtar.File) map[string]*node {
	t.Helper()
	var problems diag.List
	forms := map[string]*node{}
	base := strings.TrimSuffix(file.Name, ".yaml")
	keep := func(name string, trees []tree) {
		if len(trees) != 1 || len(problems) > 0 {
			t.Fatalf("%s: %d documents, %v", name, len(trees), problems)
		}
		forms[name] = trees[0].root
	}
	keep(file.Name, readYAML(file.Name, file.Data, &problems))
	text := forms[file.Name].appendJSON(nil)
	keep(base+".json", readJSON(base+".json", text, &problems))
	trees, _ := readCUE(context.Background(), Options{Limit: DefaultLimit}, base+".cue", text, &problems)
	keep(base+".cue", trees)
	return forms
}

func compileGrammar(t *testing.T) cue.Value {
	t.Helper()
	names, err := fs.Glob(schema.Files, "*.cue")
	if err != nil || len(names) == 0 {
		t.Fatalf("no grammar: %v", err)
	}
	instance := &build.Instance{PkgName: "schema"}
	for _, name := range names {
		text, err := schema.Files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(name, text)
		if err != nil {
			t.Fatal(err)
		}
		if err := instance.AddSyntax(file); err != nil {
			t.Fatal(err)
		}
	}
	v := cuecontext.New().BuildInstance(instance)
	if err := v.Validate(); err != nil {
		t.Fatal(err)
	}
	return v
}

func accepts(truth cue.Value, kind string, root *node) (bool, error) {
	document := cuecontext.New().CompileBytes(root.appendJSON(nil))
	err := truth.LookupPath(cue.ParsePath("#"+kind)).Unify(document).Validate(cue.Concrete(true), cue.Final())
	return err == nil, err
}
