package rooted_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-dev/writ/engine/executor"
	"github.com/writ-dev/writ/engine/executor/rooted"
)

// owned protects one path and what is inside it.
type owned string

func (o owned) Protected(path string) bool {
	return path == string(o) || strings.HasPrefix(path, string(o)+string(filepath.Separator))
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func resource(root, relative string) executor.Resource {
	return executor.Resource{Root: "work", RootPath: root, Relative: relative}
}

func replace(root, relative, content string, guard executor.Guard) error {
	folder, name, err := rooted.OpenParent(resource(root, relative), guard)
	if err != nil {
		return err
	}
	defer folder.Close()
	before, err := folder.State(name)
	if err != nil {
		return err
	}
	return folder.Replace(name, before, []byte(content))
}

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "sub/a.txt"), "old")
	if err := os.Chmod(filepath.Join(dir, "sub/a.txt"), 0o640); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sub/a.txt", "sub/new.txt"} {
		if err := replace(dir, name, "content", nil); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(got) != "content" {
			t.Fatalf("%s holds %q, %v", name, got, err)
		}
	}
	info, err := os.Stat(filepath.Join(dir, "sub/a.txt"))
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Fatalf("permissions %v, %v", info.Mode(), err)
	}
	left, err := os.ReadDir(filepath.Join(dir, "sub"))
	if err != nil || len(left) != 2 {
		t.Fatalf("left behind: %v, %v", left, err)
	}
}

func TestReplaceNoticesChange(t *testing.T) {
	for _, test := range []struct {
		name          string
		before, after string // "" means missing
	}{{"changed", "one", "two"}, {"appeared", "", "two"}, {"vanished", "one", ""}} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "a")
			if test.before != "" {
				write(t, file, test.before)
			}
			folder, name, err := rooted.OpenParent(resource(dir, "a"), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer folder.Close()
			state, err := folder.State(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(file); err != nil {
				t.Fatal(err)
			}
			if test.after != "" {
				write(t, file, test.after)
			}
			if err := folder.Replace(name, state, []byte("mine")); !errors.Is(err, rooted.ErrChanged) {
				t.Fatalf("Replace = %v", err)
			}
			got, _ := os.ReadFile(file)
			if string(got) != test.after {
				t.Fatalf("file holds %q", got)
			}
			left, err := os.ReadDir(dir)
			if err != nil || len(left) > 1 {
				t.Fatalf("left behind: %v, %v", left, err)
			}
		})
	}
}

func TestLinksAreNotFollowed(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "secret"), "outside")
	write(t, filepath.Join(dir, "real/a.txt"), "inside")
	for name, target := range map[string]string{
		"out": filepath.Join(outside, "secret"), "outdir": outside, "in": "real/a.txt", "indir": "real",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"out", "outdir/secret", "in", "indir/a.txt", "../x", "real/../real/a.txt", "/etc/passwd", ""} {
		err := replace(dir, name, "changed", nil)
		if err == nil {
			t.Errorf("%q was replaced", name)
		} else if strings.Contains(err.Error(), dir) || strings.Contains(err.Error(), outside) {
			t.Errorf("error tells a path of the host: %v", err)
		}
	}
	for _, file := range []string{filepath.Join(outside, "secret"), filepath.Join(dir, "real/a.txt")} {
		if got, _ := os.ReadFile(file); strings.Contains(string(got), "changed") {
			t.Errorf("%s was changed", file)
		}
	}
}

func TestProtected(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "state/db"), "x")
	guard := owned(filepath.Join(dir, "state"))
	for _, name := range []string{"state/db", "state/new", "state"} {
		if err := replace(dir, name, "changed", guard); err == nil {
			t.Errorf("%s was replaced", name)
		}
	}
	folder, err := rooted.OpenFolder(resource(dir, "."), guard)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	if _, err := folder.Sub("state"); err == nil {
		t.Error("a protected folder was entered")
	}
	if _, err := rooted.OpenFolder(resource(dir, "state"), guard); err == nil {
		t.Error("a protected folder was opened")
	}
}

func TestMissingIsAState(t *testing.T) {
	folder, name, err := rooted.OpenParent(resource(t.TempDir(), "none"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	if state, err := folder.State(name); err != nil || state.Exists {
		t.Fatalf("State = %+v, %v", state, err)
	}
	if _, _, err := folder.Open(name); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("Open = %v", err)
	}
	if _, _, err := rooted.OpenParent(resource(t.TempDir(), "no/where"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("OpenParent = %v", err)
	}
}

func TestShown(t *testing.T) {
	for in, want := range map[string]string{"a b.txt": "a b.txt", "é": "é", "a\nb": `"a\nb"`, "a\u202eb": `"a\u202eb"`, "\xff": `"\xff"`} {
		if got := rooted.Shown(in); got != want {
			t.Errorf("Shown(%q) = %s, want %s", in, got, want)
		}
	}
}
