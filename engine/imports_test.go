package engine_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/writ-dev/writ/"

// rule is one line of imports.txt.
type rule struct {
	allowed []string
	used    map[string]bool
}

// TestImports fails when a room imports what imports.txt does not allow it,
// when a line of imports.txt names a room that is not listed above it, and when
// an entry is no longer needed. It parses the sources instead of asking the go
// command, whose answer would be cached.
func TestImports(t *testing.T) {
	rules := readRules(t)
	eachFile(t, func(room, file string, imports []string) {
		for _, imported := range imports {
			checkImport(t, rules, room, file, imported)
		}
	})
	for room, rule := range rules {
		if rule.used == nil {
			t.Errorf("imports.txt: there is no room %s", room)
		}
		for _, allowed := range rule.allowed {
			if rule.used != nil && !rule.used[allowed] {
				t.Errorf("imports.txt: %s no longer imports %s", room, allowed)
			}
		}
	}
}

func checkImport(t *testing.T, rules map[string]*rule, room, file, imported string) {
	known, ok := rules[room]
	if !ok {
		t.Errorf("imports.txt does not list room %s", room)
		rules[room] = &rule{used: map[string]bool{}}
		return
	}
	if known.used == nil {
		known.used = map[string]bool{}
	}
	name, ok := restricted(imported)
	if !ok {
		return
	}
	if strings.HasSuffix(file, "_test.go") {
		return
	}
	if name == "approval/approvaltest" {
		t.Errorf("%s: only tests may import %s", file, imported)
	}
	known.used[name] = true
	if !slices.Contains(known.allowed, name) {
		t.Errorf("%s: room %s may not import %s", file, room, name)
	}
}

// restricted names an import that imports.txt speaks of: a room, the grammar,
// or a library that one room alone may use.
func restricted(imported string) (string, bool) {
	if name, ok := strings.CutPrefix(imported, module+"engine/"); ok {
		return name, true
	}
	if imported == module+"schema" {
		return "schema", true
	}
	for prefix, name := range map[string]string{
		"cuelang.org/":                     "CUE",
		"github.com/expr-lang/":            "Expr",
		"github.com/modelcontextprotocol/": "MCP",
		"modernc.org/":                     "SQLite",
		"github.com/santhosh-tekuri/":      "JSONSchema",
		"github.com/knadh/":                "Koanf",
	} {
		if strings.HasPrefix(imported, prefix) {
			return name, true
		}
	}
	return "", false
}

func readRules(t *testing.T) map[string]*rule {
	text, err := os.ReadFile("imports.txt")
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string]*rule{}
	for number, line := range strings.Split(string(text), "\n") {
		line, _, _ = strings.Cut(line, "#")
		room, list, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		allowed := strings.Fields(list)
		for _, name := range allowed {
			if _, above := rules[name]; !above && name == strings.ToLower(name) && name != "schema" {
				t.Errorf("imports.txt:%d: %s is not listed above %s", number+1, name, room)
			}
		}
		rules[strings.TrimSpace(room)] = &rule{allowed: allowed}
	}
	return rules
}

// eachFile visits every Go file below the folder of the rooms.
func eachFile(t *testing.T, visit func(room, file string, imports []string)) {
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == "testdata" {
			return filepath.SkipDir
		}
		room := path.Dir(filepath.ToSlash(name))
		if entry.IsDir() || !strings.HasSuffix(name, ".go") || room == "." {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		var imports []string
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			imports = append(imports, imported)
		}
		visit(room, name, imports)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
