package writ_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/writ-dev/writ/engine/catalog"
	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/load"
	"github.com/writ-dev/writ/engine/root"
)

// breaker is a copy of the shipped documents of which one line is broken.
type breaker struct {
	t        *testing.T
	folder   string
	cache    *load.Cache
	compiler *catalog.Compiler
	inputs   catalog.Inputs
}

func newBreaker(t *testing.T) *breaker {
	t.Helper()
	b := &breaker{t: t, folder: t.TempDir(), compiler: newCompiler(os.Getenv("PATH"))}
	for _, name := range shipped {
		if err := os.CopyFS(filepath.Join(b.folder, name), os.DirFS(name)); err != nil {
			t.Fatal(err)
		}
	}
	roots, err := root.Open(map[string]string{"work": t.TempDir()}, "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	b.inputs = catalog.Inputs{Roots: roots}
	if problems := b.check(); len(problems) > 0 {
		t.Fatal(problems.Err())
	}
	return b
}

// check loads and compiles what is there, as the server does.
func (b *breaker) check() diag.List {
	loader, err := grammar()
	if err != nil {
		b.t.Fatal(err)
	}
	result := loader.Load(b.t.Context(), load.Options{Paths: []string{b.folder}, Previous: b.cache, Trusted: true, Now: time.Now})
	b.cache = result.Cache
	problems := result.Problems
	if !problems.HasErrors() {
		_, compiled := b.compiler.Compile(result.Set, b.inputs)
		problems = append(problems, compiled...)
	}
	return problems
}

// valueOf finds what stands behind the key of a line, or behind the dash.
var valueOf = regexp.MustCompile(`^(\s*(?:- )?(?:[A-Za-z_-]+:\s+)|\s*- )(\S.*)$`)

// TestEveryBrokenLineIsNamed breaks each line of each shipped file in two
// ways. What is then wrong must be said of that line, or of its neighbours; of
// a line that is gone also where it is missed, which is in the same document.
func TestEveryBrokenLineIsNamed(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 11
	}
	for _, name := range shippedFiles(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBreaker(t)
			data, err := os.ReadFile(filepath.Join(b.folder, name))
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
			for i := 0; i < len(lines); i += step {
				if text := strings.TrimSpace(lines[i]); text == "" || strings.HasPrefix(text, "#") {
					continue
				}
				first, last := documentOf(lines, i)
				gone := append(append([]string{}, lines[:i]...), lines[i+1:]...)
				b.expect(name, i, "deleted", gone, func(line int) bool { return line >= first && line <= last })
				if found := valueOf.FindStringSubmatch(lines[i]); found != nil {
					broken := append([]string{}, lines...)
					broken[i] = found[1] + "zzz garbage"
					end := endOfBlock(lines, i)
					b.expect(name, i, "garbage", broken, func(line int) bool { return line >= i && line <= end+2 })
				}
			}
		})
	}
}

// expect writes the broken file and looks at what is said about it. Lines are
// counted from 1 there, and from 0 here.
func (b *breaker) expect(name string, i int, how string, lines []string, near func(line int) bool) {
	b.t.Helper()
	path := filepath.Join(b.folder, name)
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		b.t.Fatal(err)
	}
	problems := b.check()
	if len(problems) == 0 {
		return
	}
	for _, d := range problems {
		if d.At.File == path && near(d.At.Line) {
			return
		}
	}
	b.t.Errorf("%s:%d %s: nothing is said of this line, but\n%v", name, i+1, how, problems[0])
}

// endOfBlock is the last line of the text that a line opens with |, since the
// text then becomes part of what stands in its place.
func endOfBlock(lines []string, i int) int {
	if !strings.HasSuffix(lines[i], "|") && !strings.HasSuffix(lines[i], ">-") {
		return i
	}
	indent := func(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
	end := i
	for end+1 < len(lines) && (lines[end+1] == "" || indent(lines[end+1]) > indent(lines[i])) {
		end++
	}
	return end
}

func documentOf(lines []string, i int) (first, last int) {
	first, last = i, i
	for first > 0 && lines[first] != "---" {
		first--
	}
	for last < len(lines)-1 && lines[last+1] != "---" {
		last++
	}
	return first + 1, last + 1
}

func shippedFiles(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, folder := range shipped {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				names = append(names, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return names
}
