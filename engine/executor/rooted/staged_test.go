//go:build unix

package rooted

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/writ-dev/writ/engine/executor"
)

func opened(t *testing.T, mode fs.FileMode) (folder *Folder, path string) {
	t.Helper()
	dir := t.TempDir()
	path = filepath.Join(dir, "file")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	folder, _, err := OpenParent(executor.Resource{Root: "work", RootPath: dir, Relative: "file"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(folder.Close)
	return folder, path
}

// TestNoSetUserFile: what a caller wrote does not run as the owner of the file
// that it replaced.
func TestNoSetUserFile(t *testing.T) {
	folder, path := opened(t, 0o755|fs.ModeSetuid|fs.ModeSetgid)
	before, err := folder.State("file")
	if err != nil {
		t.Fatal(err)
	}
	if err := folder.Replace("file", before, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o755 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestStagedContentIsPrivate: what will be in a private file cannot be read
// beside it while it is written.
func TestStagedContentIsPrivate(t *testing.T) {
	folder, path := opened(t, 0o600)
	file, name, err := folder.temporary([]byte("new"), State{Exists: true, Mode: 0o600})
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if info, err := os.Stat(filepath.Join(filepath.Dir(path), name)); err != nil || info.Mode()&0o077 != 0 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}
