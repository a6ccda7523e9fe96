package reload

import (
	"os"
	"path/filepath"
	"testing"
)

// layout is a folder of documents as a ConfigMap volume looks, beside a plain
// file and a symlink to a file elsewhere.
func layout(t *testing.T) (documents string) {
	t.Helper()
	base := t.TempDir()
	documents = filepath.Join(base, "tools.d")
	for _, folder := range []string{"tools.d/..2026_1", "tools.d/git", "elsewhere"} {
		must(t, os.MkdirAll(filepath.Join(base, folder), 0o755))
	}
	write(t, filepath.Join(documents, "..2026_1", "map.yaml"), "one")
	must(t, os.Symlink("..2026_1", filepath.Join(documents, "..data")))
	must(t, os.Symlink("..data/map.yaml", filepath.Join(documents, "map.yaml")))
	write(t, filepath.Join(documents, "git", "git.yaml"), "two")
	write(t, filepath.Join(base, "elsewhere", "far.yaml"), "three")
	must(t, os.Symlink("../elsewhere/far.yaml", filepath.Join(documents, "far.yaml")))
	return documents
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

// edits are the ways in which people and programs change files.
var edits = []struct {
	name string
	do   func(t *testing.T, documents string)
}{
	{"written in place", func(t *testing.T, d string) {
		write(t, filepath.Join(d, "git", "git.yaml"), "two changed")
	}},
	{"replaced by a rename", func(t *testing.T, d string) {
		write(t, filepath.Join(d, "git", ".git.yaml.tmp"), "tw0")
		must(t, os.Rename(filepath.Join(d, "git", ".git.yaml.tmp"), filepath.Join(d, "git", "git.yaml")))
	}},
	{"moved away and written anew", func(t *testing.T, d string) {
		must(t, os.Rename(filepath.Join(d, "git", "git.yaml"), filepath.Join(d, "git", "git.yaml~")))
		write(t, filepath.Join(d, "git", "git.yaml"), "two")
	}},
	{"removed", func(t *testing.T, d string) {
		must(t, os.Remove(filepath.Join(d, "git", "git.yaml")))
	}},
	{"added in a new folder", func(t *testing.T, d string) {
		must(t, os.MkdirAll(filepath.Join(d, "new", "deep"), 0o755))
		write(t, filepath.Join(d, "new", "deep", "x.yaml"), "four")
	}},
	{"folder replaced, as a checkout does", func(t *testing.T, d string) {
		must(t, os.RemoveAll(filepath.Join(d, "git")))
		must(t, os.Mkdir(filepath.Join(d, "git"), 0o755))
		write(t, filepath.Join(d, "git", "git.yaml"), "two")
	}},
	{"whole folder replaced", func(t *testing.T, d string) {
		must(t, os.Rename(d, d+".old"))
		must(t, os.Mkdir(d, 0o755))
		write(t, filepath.Join(d, "only.yaml"), "five")
	}},
	{"..data swapped", func(t *testing.T, d string) {
		must(t, os.Mkdir(filepath.Join(d, "..2026_2"), 0o755))
		write(t, filepath.Join(d, "..2026_2", "map.yaml"), "one")
		must(t, os.Symlink("..2026_2", filepath.Join(d, "..data_tmp")))
		must(t, os.Rename(filepath.Join(d, "..data_tmp"), filepath.Join(d, "..data")))
		must(t, os.RemoveAll(filepath.Join(d, "..2026_1")))
	}},
	{"target of a symlink written", func(t *testing.T, d string) {
		write(t, filepath.Join(d, "..", "elsewhere", "far.yaml"), "three changed")
	}},
	{"target of a symlink replaced", func(t *testing.T, d string) {
		far := filepath.Join(d, "..", "elsewhere", "far.yaml")
		write(t, far+".tmp", "thr33")
		must(t, os.Rename(far+".tmp", far))
	}},
	{"mode changed", func(t *testing.T, d string) {
		must(t, os.Chmod(filepath.Join(d, "git", "git.yaml"), 0o600))
	}},
}

func TestFingerprintChanges(t *testing.T) {
	for _, edit := range edits {
		t.Run(edit.name, func(t *testing.T) {
			documents := layout(t)
			before := take([]string{documents})
			if again := take([]string{documents}); again.sum != before.sum {
				t.Fatal("nothing changed, but the fingerprint did")
			}
			edit.do(t, documents)
			if after := take([]string{documents}); after.sum == before.sum {
				t.Fatal("the fingerprint did not change")
			}
		})
	}
}

func TestFingerprintOfMissingPath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "writ.yaml")
	missing := take([]string{path})
	must(t, os.Mkdir(filepath.Dir(path), 0o755))
	empty := take([]string{path})
	write(t, path, "")
	if there := take([]string{path}); missing.sum == empty.sum || empty.sum == there.sum {
		t.Fatal("a path that appears must change the fingerprint")
	}
}

func TestFingerprintEndsInCircles(t *testing.T) {
	folder := t.TempDir()
	must(t, os.Symlink(".", filepath.Join(folder, "self")))
	must(t, os.Symlink("b", filepath.Join(folder, "a")))
	must(t, os.Symlink("a", filepath.Join(folder, "b")))
	if f := take([]string{folder}); !f.concerns(filepath.Join(folder, "x")) || f.concerns(filepath.Dir(folder)+"/other") {
		t.Fatal("watches the wrong folders")
	}
}
