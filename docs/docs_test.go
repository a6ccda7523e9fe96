// Package docs_test keeps the pages from rotting: every example on a page of
// docs is loaded, compiled and tested as the configuration that the page says
// it is, tables of the code are compared with the code, and links lead
// somewhere. It documents nothing itself.
package docs_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-dev/writ/engine/catalog"
	"github.com/writ-dev/writ/engine/condition"
	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/executor"
	"github.com/writ-dev/writ/engine/executor/command"
	"github.com/writ-dev/writ/engine/executor/file"
	httpcall "github.com/writ-dev/writ/engine/executor/http"
	tlsprobe "github.com/writ-dev/writ/engine/executor/tls"
	"github.com/writ-dev/writ/engine/load"
	"github.com/writ-dev/writ/engine/root"
	"github.com/writ-dev/writ/engine/secret"
	"github.com/writ-dev/writ/engine/setting"
	"github.com/writ-dev/writ/engine/verify"
)

// snippet is one fenced block of a page.
type snippet struct {
	language, text string
	line           int // on which its text begins
}

func snippets(t *testing.T, page string) []snippet {
	t.Helper()
	var found []snippet
	for _, at := range regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$").FindAllSubmatchIndex([]byte(page), -1) {
		found = append(found, snippet{
			page[at[2]:at[3]], page[at[4]:at[5]], 1 + strings.Count(page[:at[4]], "\n"),
		})
	}
	return found
}

// pages lists what people write: the README and every page that is not
// generated.
func pages(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, pattern := range []string{"*.md", "../*.md", "../examples/*.md", "../examples/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, found...)
	}
	if len(list) < 10 {
		t.Fatalf("only %d pages: %v", len(list), list)
	}
	return list
}

func read(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestExamples takes every page as one configuration: its block that begins
// with version: is writ.yaml, and those that begin with kind: are documents.
// There may be no mistake, no warning, and no case that fails.
func TestExamples(t *testing.T) {
	checked := 0
	for _, page := range pages(t) {
		configuration, documents := "version: 1\n", []snippet{}
		for _, s := range snippets(t, read(t, page)) {
			switch {
			case s.language != "yaml":
			case strings.HasPrefix(s.text, "version:"):
				configuration = s.text
			case strings.HasPrefix(s.text, "kind:"):
				documents = append(documents, s)
			}
		}
		if len(documents) == 0 {
			continue
		}
		checked += len(documents)
		t.Run(page, func(t *testing.T) { checkConfiguration(t, page, configuration, documents) })
	}
	if checked < 9 {
		t.Errorf("only %d examples were checked", checked)
	}
}

func checkConfiguration(t *testing.T, page, configuration string, documents []snippet) {
	folder := t.TempDir()
	for _, s := range documents {
		// The blank lines make its lines those of the page.
		name := filepath.Join(folder, fmt.Sprintf("%s-%04d.yaml", strings.TrimSuffix(filepath.Base(page), ".md"), s.line))
		if err := os.WriteFile(name, []byte(strings.Repeat("\n", s.line-1)+s.text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	settings, problems := setting.Load(setting.Sources{Data: []byte(configuration), File: page, Base: folder})
	report(t, problems)
	for _, path := range settings.Roots {
		if err := os.MkdirAll(settings.Path(path), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	loader, err := load.New()
	if err != nil {
		t.Fatal(err)
	}
	loaded := loader.Load(t.Context(), load.Options{Paths: []string{folder}, Trusted: true})
	report(t, loaded.Problems)
	roots, err := root.Open(settings.Roots, folder, nil)
	if err != nil {
		t.Fatal(err)
	}
	generation, problems := compiler().Compile(loaded.Set, catalog.Inputs{Roots: roots, Claims: settings.Claims})
	report(t, problems)
	if generation == nil {
		return
	}
	for _, c := range verify.Run(t.Context(), generation).Cases {
		if len(c.Differences) > 0 {
			t.Errorf("%s: %s / %s: %s", c.At, c.Test, c.Name, strings.Join(c.Differences, "; "))
		}
	}
}

func report(t *testing.T, problems diag.List) {
	t.Helper()
	for _, problem := range problems {
		t.Errorf("%s", problem)
	}
}

func compiler() *catalog.Compiler {
	nothing := func(string) (string, bool) { return "", false }
	return catalog.NewCompiler(catalog.Options{
		Kinds: executor.Kinds{
			"command": command.New(command.Options{Env: nothing}), "http": httpcall.New(httpcall.Options{}),
			"file": file.Kind{}, "tls": tlsprobe.New(tlsprobe.Options{}),
		},
		Secrets: func(documents []*document.Secret) (executor.Secrets, diag.List) {
			return secret.New(documents, secret.Options{Env: nothing})
		},
		Now: time.Now,
	})
}

// TestExpressions compares the table of functions with the functions, and
// parses every expression that the page shows.
func TestExpressions(t *testing.T) {
	page := read(t, "expressions.md")
	var table strings.Builder
	table.WriteString("| function | example | meaning |\n|---|---|---|\n")
	for _, f := range condition.Functions() {
		fmt.Fprintf(&table, "| `%s` | `%s` | %s |\n", f.Name, f.Example, f.Meaning)
	}
	_, rest, _ := strings.Cut(page, "<!-- functions: checked against condition.Functions() -->\n")
	got, _, _ := strings.Cut(rest, "<!-- end of functions -->")
	if strings.TrimSpace(got) != strings.TrimSpace(table.String()) {
		t.Errorf("the table of functions should be\n%s", table.String())
	}
	for _, s := range snippets(t, page) {
		if s.language != "yaml" {
			continue
		}
		for _, when := range whens(t, s.text) {
			if _, problems := condition.Parse(when, diag.Position{File: "expressions.md", Line: s.line}); len(problems) > 0 {
				t.Errorf("%q: %v", when, problems)
			}
		}
	}
}

// whens reads the expressions of a block that holds nothing else.
func whens(t *testing.T, text string) []string {
	t.Helper()
	var list []string
	for _, part := range strings.SplitAfter(text, "\n") {
		if strings.HasPrefix(part, "when: ") {
			list = append(list, "")
		}
		list[len(list)-1] += strings.TrimPrefix(part, "when: ")
	}
	for i, written := range list {
		written = strings.TrimSpace(strings.TrimPrefix(written, ">-"))
		if unquoted, ok := strings.CutPrefix(written, `"`); ok {
			written = strings.TrimSuffix(unquoted, `"`)
		}
		list[i] = written
	}
	return list
}

// TestJSON parses what clients are told to paste.
func TestJSON(t *testing.T) {
	for _, page := range pages(t) {
		for _, s := range snippets(t, read(t, page)) {
			if s.language == "json" && !json.Valid([]byte(s.text)) {
				t.Errorf("%s:%d: not valid JSON", page, s.line)
			}
		}
	}
}

// TestLinks follows every relative link, with its heading.
func TestLinks(t *testing.T) {
	links := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, page := range pages(t) {
		for _, found := range links.FindAllStringSubmatch(read(t, page), -1) {
			path, heading, _ := strings.Cut(found[1], "#")
			if strings.Contains(path, "://") {
				continue
			}
			target := page
			if path != "" {
				target = filepath.Join(filepath.Dir(page), path)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: the link %s leads nowhere", page, found[1])
				continue
			}
			if heading != "" && !slices.Contains(headings(read(t, target)), heading) {
				t.Errorf("%s: %s has no heading %s", page, target, heading)
			}
		}
	}
}

// headings lists the anchors of a page as GitHub makes them.
func headings(page string) []string {
	var list []string
	for _, found := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(page, -1) {
		anchor := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(found[1]), "")
		list = append(list, strings.ReplaceAll(anchor, " ", "-"))
	}
	return list
}
