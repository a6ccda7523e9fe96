package file_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/executor"
	"github.com/writ-dev/writ/engine/executor/file"
)

var patchDocument = document.File{Patch: "${args.path}", OldText: "${args.old}", NewText: "${args.new}"}

func TestPatch(t *testing.T) {
	const before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	for _, test := range []struct {
		name, before, old, new string
		preview, after         string
	}{
		{"change", before, "5\n", "five\n", "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"},
		{"insert", before, "4\n5\n", "4\nnew\n5\n", "@@ -2,6 +2,7 @@\n 2\n 3\n 4\n+new\n 5\n 6\n 7\n", "1\n2\n3\n4\nnew\n5\n6\n7\n8\n9\n"},
		{"delete at the end", before, "9\n", "", "@@ -6,4 +6,3 @@\n 6\n 7\n 8\n-9\n", "1\n2\n3\n4\n5\n6\n7\n8\n"},
		{"no newline", "a", "a", "b", "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n", "b"},
		{"keeps common lines", "a\nb\nc\n", "a\nb\nc\n", "x\nb\ny\n", "@@ -1,3 +1,3 @@\n-a\n+x\n b\n-c\n+y\n", "x\nb\ny\n"},
		{"fill an empty file", "", "", "a\n", "@@ -0,0 +1,1 @@\n+a\n", "a\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			write(t, root, "a.txt", test.before)
			e := compile(t, patchDocument, nil)
			effect, err := e.Prepare(t.Context(), input(root, "a.txt", map[string]any{"old": test.old, "new": test.new}))
			if err != nil {
				t.Fatal(err)
			}
			if want := "patch work:a.txt\n--- work:a.txt\n+++ work:a.txt\n" + test.preview; effect.Preview != want {
				t.Fatalf("preview\n%s\nwant\n%s", effect.Preview, want)
			}
			if got, _ := os.ReadFile(filepath.Join(root, "a.txt")); string(got) != test.before {
				t.Fatal("prepare changed the file")
			}
			if got := e.Execute(t.Context(), effect, executor.Run{}); got.Status != call.Complete {
				t.Fatalf("%s: %s", got.Status, got.Reason)
			}
			if got, _ := os.ReadFile(filepath.Join(root, "a.txt")); string(got) != test.after {
				t.Fatalf("file holds %q", got)
			}
		})
	}
}

func TestPatchCreates(t *testing.T) {
	root := t.TempDir()
	e := compile(t, patchDocument, nil)
	got := run(t, e, input(root, "new.txt", map[string]any{"old": "", "new": "hello\n"}))
	if got.Status != call.Complete || !strings.HasPrefix(string(got.Body.Head), "created new.txt: 6 bytes") {
		t.Fatalf("%s %s %s", got.Status, got.Reason, got.Body.Head)
	}
	if text, err := os.ReadFile(filepath.Join(root, "new.txt")); err != nil || string(text) != "hello\n" {
		t.Fatalf("file holds %q, %v", text, err)
	}
}

func TestPatchRefuses(t *testing.T) {
	root := t.TempDir()
	write(t, root, "a.txt", "aaa b b")
	write(t, root, "full", strings.Repeat("x", file.SizeLimit-1)+"y")
	write(t, root, "own/db", "x")
	if err := os.Symlink("a.txt", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	e := compile(t, patchDocument, owned(filepath.Join(root, "own")))
	for _, test := range []struct{ name, path, old, new, part string }{
		{"twice", "a.txt", "b", "c", "more than once"},
		{"overlapping", "a.txt", "aa", "c", "more than once"},
		{"missing text", "a.txt", "z", "c", "does not contain"},
		{"empty old on a filled file", "a.txt", "", "c", "is not empty"},
		{"same", "a.txt", "c", "c", "nothing would change"},
		{"missing file", "none", "a", "c", "does not exist"},
		{"missing folder", "no/where", "", "c", "does not exist"},
		{"too large", "full", "y", "yy", "larger than 1 MiB"},
		{"protected", "own/db", "x", "y", "belongs to Writ"},
		{"link", "link", "a", "c", "not a regular file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := e.Prepare(t.Context(), input(root, test.path, map[string]any{"old": test.old, "new": test.new}))
			if err == nil || !strings.Contains(err.Error(), test.part) || strings.Contains(err.Error(), root) {
				t.Fatalf("Prepare = %v, want %q", err, test.part)
			}
		})
	}
}

func TestPatchConflict(t *testing.T) {
	root := t.TempDir()
	write(t, root, "a.txt", "one\n")
	e := compile(t, patchDocument, nil)
	in := input(root, "a.txt", map[string]any{"old": "one", "new": "two"})
	effect, err := e.Prepare(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	write(t, root, "a.txt", "one\nmore\n")
	in.Previous = &effect
	again, err := e.Prepare(t.Context(), in)
	if err != nil || again.Digest() == effect.Digest() {
		t.Fatalf("a changed file gives the same effect, %v", err)
	}
	wantFailure(t, e.Execute(t.Context(), effect, executor.Run{}), root, "was changed")
	if got, _ := os.ReadFile(filepath.Join(root, "a.txt")); string(got) != "one\nmore\n" {
		t.Fatalf("file holds %q", got)
	}
}

func TestPatchOffline(t *testing.T) {
	e := compile(t, patchDocument, nil)
	in := input(filepath.Join(t.TempDir(), "missing"), "a.txt", map[string]any{"old": "one", "new": "two"})
	in.Offline = true
	effect, err := e.Prepare(t.Context(), in)
	if err != nil || len(effect.Unresolved) != 1 {
		t.Fatalf("Prepare = %+v, %v", effect, err)
	}
	if got := e.Execute(t.Context(), effect, executor.Run{}); got.Status != call.Failed {
		t.Fatalf("an offline effect was executed: %s", got.Status)
	}
}
