package file_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/executor"
	"github.com/writ-dev/writ/engine/executor/file"
	"github.com/writ-dev/writ/engine/value"
)

// owned protects one path and what is inside it.
type owned string

func (o owned) Protected(path string) bool {
	return path == string(o) || strings.HasPrefix(path, string(o)+string(filepath.Separator))
}

func declare(doc document.File) executor.Declaration {
	return executor.Declaration{
		Tool: &document.Tool{Header: document.Header{Name: "t"}, File: &doc},
		Arguments: value.Struct(map[string]value.Field{
			"path":  {Type: value.Type{Kind: value.String, Format: "path"}},
			"maybe": {Type: value.Type{Kind: value.String, Format: "path"}, Optional: true},
			"plain": value.Of(value.String),
			"list":  value.ListOf(value.String),
			"query": value.Of(value.String),
			"old":   value.Of(value.String),
			"new":   value.Of(value.String),
		}),
	}
}

func compile(t *testing.T, doc document.File, guard executor.Guard) executor.Executor {
	t.Helper()
	declaration := declare(doc)
	declaration.Guard = guard
	compiled, problems := file.Kind{}.Compile(declaration)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return compiled
}

func input(root, relative string, args map[string]any) executor.Input {
	if args == nil {
		args = map[string]any{}
	}
	args["path"] = filepath.Join(root, relative)
	return executor.Input{
		Arguments: args,
		Paths:     map[string]executor.Resource{"/path": {Root: "work", RootPath: root, Relative: relative}},
	}
}

func write(t *testing.T, root, name, content string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run prepares and executes; a prepare error comes back as a failed outcome.
func run(t *testing.T, e executor.Executor, in executor.Input) call.Outcome {
	t.Helper()
	effect, err := e.Prepare(t.Context(), in)
	if err != nil {
		return executor.Fail(err.Error())
	}
	if effect.Preview == "" {
		t.Fatal("the preview is empty")
	}
	return e.Execute(t.Context(), effect, executor.Run{})
}

func want(t *testing.T, got call.Outcome, text string) {
	t.Helper()
	if got.Status != call.Complete || string(got.Body.Head) != text {
		t.Fatalf("%s %s: %q, want %q", got.Status, got.Reason, got.Body.Head, text)
	}
}

func wantFailure(t *testing.T, got call.Outcome, root, part string) {
	t.Helper()
	if got.Status != call.Failed || !strings.Contains(got.Reason, part) {
		t.Fatalf("%s %q, want failed with %q", got.Status, got.Reason, part)
	}
	if strings.Contains(got.Reason, root) {
		t.Fatalf("the reason tells a path of the host: %s", got.Reason)
	}
}

func TestCompileRefuses(t *testing.T) {
	for name, doc := range map[string]document.File{
		"nothing":       {},
		"two":           {Read: "${args.path}", List: "${args.path}"},
		"literal":       {Read: "/etc/passwd"},
		"text around":   {Read: "${args.path}/a"},
		"not a path":    {Read: "${args.plain}"},
		"unknown":       {Read: "${args.nope}"},
		"may be absent": {Read: "${args.maybe}"},
		"no query":      {Search: "${args.path}"},
		"query a list":  {Search: "${args.path}", Query: "${args.list}"},
		"unused query":  {Read: "${args.path}", Query: "x"},
	} {
		if _, problems := (file.Kind{}).Compile(declare(doc)); !problems.HasErrors() {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestRead(t *testing.T) {
	root := t.TempDir()
	write(t, root, "a.txt", "text é\n")
	write(t, root, "binary", "\xff\xfe")
	write(t, root, "large", strings.Repeat("x", file.SizeLimit+1))
	write(t, root, "full", strings.Repeat("x", file.SizeLimit))
	write(t, root, "own/db", "x")
	if err := os.Symlink("/etc/passwd", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	e := compile(t, document.File{Read: "${args.path}"}, owned(filepath.Join(root, "own")))
	want(t, run(t, e, input(root, "a.txt", nil)), "text é\n")
	want(t, run(t, e, input(root, "full", nil)), strings.Repeat("x", file.SizeLimit))
	for name, part := range map[string]string{
		"binary": "not UTF-8", "large": "larger than 1 MiB", "link": "not a regular file", "none": "does not exist", "own/db": "belongs to Writ", ".": "root itself",
	} {
		wantFailure(t, run(t, e, input(root, name, nil)), root, part)
	}
}

// What was a file when the call was prepared may be a link when it is executed.
func TestReadChecksAgainAtExecution(t *testing.T) {
	root := t.TempDir()
	write(t, root, "dir/a.txt", "mine")
	e := compile(t, document.File{Read: "${args.path}"}, nil)
	effect, err := e.Prepare(t.Context(), input(root, "dir/a.txt", nil))
	if err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	write(t, outside, "a.txt", "theirs")
	if err := os.RemoveAll(filepath.Join(root, "dir")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(root, "dir")); err != nil {
		t.Fatal(err)
	}
	wantFailure(t, e.Execute(t.Context(), effect, executor.Run{}), root, "not a folder")
}

func TestList(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"b.txt", "a.txt", "dir/x", "own/db", "line\nbreak"} {
		write(t, root, name, "")
	}
	if err := os.Symlink("a.txt", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	e := compile(t, document.File{List: "${args.path}"}, owned(filepath.Join(root, "own")))
	want(t, run(t, e, input(root, ".", nil)), "a.txt\nb.txt\ndir/\n\"line\\nbreak\"\nlink@\n")
	want(t, run(t, e, input(root, "dir", nil)), "x\n")
	wantFailure(t, run(t, e, input(root, "a.txt", nil)), root, "not a folder")
	wantFailure(t, run(t, e, input(root, "own", nil)), root, "belongs to Writ")
	wantFailure(t, run(t, e, input(root, "link", nil)), root, "not a folder")
}

func TestListIsBounded(t *testing.T) {
	root := t.TempDir()
	for i := range 1001 {
		write(t, root, fmt.Sprintf("f%04d", i), "")
	}
	e := compile(t, document.File{List: "${args.path}"}, nil)
	got := string(run(t, e, input(root, ".", nil)).Body.Head)
	if !strings.HasPrefix(got, "f0000\nf0001\n") || !strings.HasSuffix(got, "f0999\n[only the first 1000 entries are shown]\n") {
		t.Fatalf("list ends with %q", got[max(0, len(got)-80):])
	}
}

func TestSearch(t *testing.T) {
	root := t.TempDir()
	write(t, root, "a.txt", "one\ntwo needle\r\nthree")
	write(t, root, "dir/b.txt", "needle.*\n"+strings.Repeat("é", 300)+"needle\n")
	write(t, root, "binary", "needle\x00")
	write(t, root, "large", strings.Repeat("needle\n", file.SizeLimit/6))
	write(t, root, "own/db", "needle")
	if err := os.Symlink(".", filepath.Join(root, "dir/loop")); err != nil {
		t.Fatal(err)
	}
	e := compile(t, document.File{Search: "${args.path}", Query: "${args.query}"}, owned(filepath.Join(root, "own")))
	long := "dir/b.txt:2:" + strings.Repeat("é", 250) + "…\n"
	want(t, run(t, e, input(root, ".", map[string]any{"query": "needle"})), "a.txt:2:two needle\ndir/b.txt:1:needle.*\n"+long)
	want(t, run(t, e, input(root, "dir", map[string]any{"query": "needle.*"})), "dir/b.txt:1:needle.*\n")
	want(t, run(t, e, input(root, "a.txt", map[string]any{"query": "three"})), "a.txt:3:three\n")
	want(t, run(t, e, input(root, ".", map[string]any{"query": "absent"})), "")
	for _, query := range []string{"", "a\nb"} {
		wantFailure(t, run(t, e, input(root, ".", map[string]any{"query": query})), root, "one line")
	}
}

func TestSearchIsBounded(t *testing.T) {
	root := t.TempDir()
	write(t, root, "many", strings.Repeat("needle\n", 300))
	e := compile(t, document.File{Search: "${args.path}", Query: "${args.query}"}, nil)
	got := string(run(t, e, input(root, ".", map[string]any{"query": "needle"})).Body.Head)
	if strings.Count(got, "many:") != 200 || !strings.HasSuffix(got, "[search stopped: 200 matches were found]\n") {
		t.Fatalf("search ends with %q", got[max(0, len(got)-80):])
	}
	for i := range 1001 {
		write(t, root, fmt.Sprintf("f%04d", i), "")
	}
	got = string(run(t, e, input(root, ".", map[string]any{"query": "absent"})).Body.Head)
	if !strings.Contains(got, "search stopped") {
		t.Fatalf("search ends with %q", got)
	}
}
