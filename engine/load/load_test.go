package load

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
)

var update = flag.Bool("update", false, "write what was found into testdata")

func newLoader(t testing.TB) *Loader {
	t.Helper()
	l, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestFiles loads the files of each archive and compares the diagnostics, and
// the names of the documents, with the file "want". A file "paths" lists what
// is configured, one path a line; otherwise it is the whole folder.
func TestFiles(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, name := range archives {
		name, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir(t.TempDir())
			want, paths := unpack(t, archive)
			got := outline(newLoader(t).Load(context.Background(), Options{Paths: paths, Trusted: true}))
			if *update {
				for i := range archive.Files {
					if archive.Files[i].Name == "want" {
						archive.Files[i].Data = []byte(got)
					}
				}
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func unpack(t *testing.T, archive *txtar.Archive) (want string, paths []string) {
	paths = []string{"."}
	for _, file := range archive.Files {
		switch file.Name {
		case "want":
			want = string(file.Data)
		case "paths":
			paths = strings.Fields(string(file.Data))
		default:
			write(t, file.Name, string(file.Data))
		}
	}
	return want, paths
}

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// outline prints a result. Lines of the grammar are left out: they change
// with every comment.
func outline(r Result) string {
	var b strings.Builder
	for _, d := range r.Problems {
		fmt.Fprintf(&b, "%s [%s]\n", d, d.Code)
		for _, related := range d.Related {
			if !strings.HasPrefix(related.At.File, "schema/") {
				fmt.Fprintf(&b, "\t%s: %s\n", related.At, related.Message)
			}
		}
	}
	for _, h := range headers(r.Set) {
		fmt.Fprintf(&b, "= %s %s at %s", h.Kind, h.Name, h.Source.Start())
		if h.Source.Maker() != "" {
			fmt.Fprintf(&b, ", made by %s", h.Source.Maker())
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func headers(s *document.Set) []document.Header {
	var out []document.Header
	for _, d := range s.Tools {
		out = append(out, d.Header)
	}
	for _, d := range s.RiskRules {
		out = append(out, d.Header)
	}
	for _, d := range s.Policies {
		out = append(out, d.Header)
	}
	for _, d := range s.Connections {
		out = append(out, d.Header)
	}
	for _, d := range s.Secrets {
		out = append(out, d.Header)
	}
	for _, d := range s.Tests {
		out = append(out, d.Header)
	}
	return out
}

// loadText loads one file.
func loadText(t testing.TB, name, text string) Result {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	write(t, path, text)
	return newLoader(t).Load(context.Background(), Options{Paths: []string{path}, Trusted: true})
}

// TestGrammarIsRelated proves that the place in the grammar stands behind the
// place in the file.
func TestGrammarIsRelated(t *testing.T) {
	r := loadText(t, "a.yaml", "kind: Tool\nname: x\ndescription: d\ncommand: {argv: [x]}\n")
	if len(r.Problems) != 1 || len(r.Problems[0].Related) != 1 {
		t.Fatalf("got %v", r.Problems)
	}
	at, grammar := r.Problems[0].At, r.Problems[0].Related[0].At
	if at.Line != 1 || at.Column != 1 || grammar.File != "schema/tool.cue" || grammar.Line == 0 {
		t.Errorf("at %v, related %v", at, grammar)
	}
}

func TestDocumentKeepsWhatWasWritten(t *testing.T) {
	r := loadText(t, "a.yaml", `kind: Tool
name: x
description: |
  One.
  Two.
args:
  zulu: {type: integer, maximum: 9007199254740993}
  alfa: {type: string, optional: true, default: 2026-12-01}
risk: read_only
timeout: 1m30s
http: {url: "https://example.com", max_bytes: 64KiB, json: {n: 12345678901234567890, d: 2026-12-01}}
output: {as: json, max_bytes: 2KiB, fields: {z: {}, a: {path: b.c}}}
`)
	if len(r.Problems) > 0 {
		t.Fatal(r.Problems)
	}
	tool := r.Set.Tools[0]
	got := fmt.Sprint(tool.Description, tool.Args[0].Name, string(tool.Args[0].Schema), tool.Args[1].Name, tool.Args[1].Optional,
		string(tool.HTTP.JSON), int64(tool.Output.MaxBytes), tool.Output.Fields[0].Name, tool.Output.Fields[1].Path, int64(tool.Timeout))
	want := fmt.Sprint("One.\nTwo.\n", "zulu", `{"type":"integer","maximum":9007199254740993}`, "alfa", true,
		`{"n":12345678901234567890,"d":"2026-12-01"}`, int64(2048), "z", "b.c", int64(90e9))
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if at := tool.Source.At("args", "alfa", "default"); at.Line != 8 || at.Column != 49 {
		t.Errorf("default stands at %v", at)
	}
	if key := tool.Source.Key("output", "fields", "a"); key != (diag.Position{File: key.File, Line: 12, Column: 53}) {
		t.Errorf("key stands at %v", key)
	}
}

// TestClaimsKeepTheirSpelling: a claim whose name differs by case only from a
// key of the grammar is still a claim.
func TestClaimsKeepTheirSpelling(t *testing.T) {
	r := loadText(t, "a.yaml", `kind: Test
name: t
given: {tool: x, principal: {NAME: other, name: bot, Roles: 3, roles: [agent], level: 9007199254740993}}
cases: [{name: c, expect: {decision: deny}}]
`)
	if len(r.Problems) > 0 {
		t.Fatal(r.Problems)
	}
	p := r.Set.Tests[0].Given.Principal
	if p.Name != "bot" || len(p.Roles) != 1 || fmt.Sprint(p.Claims) != "map[NAME:other Roles:3 level:9007199254740993]" {
		t.Errorf("got %+v", p)
	}
}
