package load

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/writ-dev/writ/engine/diag"
)

const evaluatorWord = "evaluate-cue"

// TestMain lets the test binary be its own evaluator.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == evaluatorWord {
		os.Exit(ServeEvaluation(os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

// TestEvaluatorGivesTheSame: what another process evaluates is what this one
// would have.
func TestEvaluatorGivesTheSame(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/cue.txtar")
	if err != nil {
		t.Fatal(err)
	}
	program := []string{self(t), evaluatorWord}
	t.Chdir(t.TempDir())
	want, paths := unpack(t, archive)
	got := outline(newLoader(t).Load(context.Background(), Options{Paths: paths, Trusted: true, Evaluator: program, Limit: time.Minute}))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func self(t *testing.T) string {
	t.Helper()
	name, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// heavy makes a list of n*n structs.
const heavy = `
import "list"
_n: list.Range(0, %N, 1)
_all: [for a in _n for b in _n {x: a, y: b, z: "\(a)-\(b)"}]
kind: "Secret"
name: "s\(len(_all))"
env: "A"
for: tools: ["x"]
`

// long makes more text than a file may.
const long = `
import "strings"
import "list"
kind: "Secret"
name: "s"
env: "A"
for: tools: [for i in list.Range(0, 20, 1) {strings.Repeat("x", 1000000)}]
`

func TestHeavyFilesEnd(t *testing.T) {
	for name, c := range map[string]struct {
		text      string
		evaluator bool
		limit     time.Duration
		code      string
	}{
		"time here":     {strings.ReplaceAll(heavy, "%N", "60"), false, time.Millisecond, "too-slow"},
		"time there":    {strings.ReplaceAll(heavy, "%N", "3000"), true, 50 * time.Millisecond, "too-slow"},
		"memory there":  {strings.ReplaceAll(heavy, "%N", "250"), true, time.Minute, "too-large"},
		"text here":     {long, false, time.Minute, "too-large"},
		"enough of all": {strings.ReplaceAll(heavy, "%N", "3"), true, time.Minute, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.cue")
			write(t, path, c.text)
			o := Options{Paths: []string{path}, Trusted: true, Limit: c.limit, Memory: 24 << 20}
			if c.evaluator {
				o.Evaluator = []string{self(t), evaluatorWord}
			}
			r := newLoader(t).Load(context.Background(), o)
			if c.code == "" {
				if len(r.Problems) > 0 || r.Set.Secrets[0].Name != "s9" {
					t.Errorf("got %v", r.Problems)
				}
				return
			}
			if !slices.ContainsFunc(r.Problems, func(d diag.Diagnostic) bool { return d.Code == c.code }) {
				t.Errorf("got %v", r.Problems)
			}
			if kept := len(r.Cache.entries) != 0; kept != (name == "text here") {
				t.Errorf("the answer is kept: %t", kept)
			}
		})
	}
}

func TestEvaluatorThatIsNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.cue")
	write(t, path, `kind: "Secret"`)
	r := newLoader(t).Load(context.Background(), Options{Paths: []string{path}, Trusted: true, Evaluator: []string{filepath.Join(t.TempDir(), "none")}})
	if len(r.Problems) != 1 || r.Problems[0].Code != "cue" {
		t.Errorf("got %v", r.Problems)
	}
}
