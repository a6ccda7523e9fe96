package load

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/writ-dev/writ/engine/diag"
)

// search is what the configured paths lead to.
type search struct {
	files    []source
	problems diag.List

	seen    map[string]bool // real paths of files and folders
	folders []string        // every folder that was listed
	roots   []string        // configured folders
}

// source is one file. Path is how the user reaches it, root the configured
// path that led to it.
type source struct{ path, root string }

// find lists the files of all paths, each once, in the order of their paths.
func find(paths []string) *search {
	s := &search{seen: map[string]bool{}}
	for _, path := range paths {
		path = filepath.Clean(path)
		info, err := os.Stat(path)
		switch {
		case err != nil:
			s.unreadable(path, err)
		case info.IsDir():
			s.roots = append(s.roots, path)
			s.folder(path, path, 0)
		default:
			s.file(path, path, info)
		}
	}
	slices.SortFunc(s.files, func(a, b source) int { return strings.Compare(a.path, b.path) })
	return s
}

func (s *search) unreadable(path string, err error) {
	at := diag.Position{File: path}
	if errors.Is(err, fs.ErrNotExist) {
		s.problems.Errorf(at, "missing", "there is no such file or folder").Hinted("create it, or take it out of documents in writ.yaml")
		return
	}
	var named *fs.PathError
	if errors.As(err, &named) {
		err = named.Err
	}
	s.problems.Errorf(at, "unreadable", "it cannot be read: %v", err)
}

// folder lists a folder and all below it. Names that begin with a dot are left
// out: ..data of a mounted ConfigMap among them, whose files are reached by
// the links beside it.
func (s *search) folder(path, root string, depth int) {
	if !s.once(path) {
		return
	}
	if depth > MaxDepth || len(s.files) > MaxFiles {
		s.problems.Errorf(diag.Position{File: path}, "too-many", "more than %d files, or folders more than %d deep", MaxFiles, MaxDepth)
		return
	}
	s.folders = append(s.folders, path)
	entries, err := os.ReadDir(path)
	if err != nil {
		s.unreadable(path, err)
		return
	}
	for _, entry := range entries {
		name := filepath.Join(path, entry.Name())
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		info, err := os.Stat(name)
		switch {
		case err != nil:
			if known(name) {
				s.unreadable(name, err)
			}
		case info.IsDir():
			s.folder(name, root, depth+1)
		case known(name) && entry.Name() != "writ.yaml":
			s.file(name, root, info)
		}
	}
}

func (s *search) file(path, root string, info fs.FileInfo) {
	switch {
	case !s.once(path):
	case !known(path):
		s.problems.Errorf(diag.Position{File: path}, "unknown-form", "documents are .yaml, .yml, .json and .cue files")
	case !info.Mode().IsRegular():
		s.problems.Errorf(diag.Position{File: path}, "unreadable", "it is no regular file")
	default:
		s.files = append(s.files, source{path, root})
	}
}

// once reports whether a file or folder is met for the first time, whichever
// links led to it.
func (s *search) once(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		s.unreadable(path, err)
		return false
	}
	if s.seen[real] {
		return false
	}
	s.seen[real] = true
	return true
}

func known(path string) bool {
	switch filepath.Ext(path) {
	case ".yaml", ".yml", ".json", ".cue":
		return true
	}
	return false
}

// empty reports configured folders that hold no document: a folder that
// suddenly is empty, such as a volume that is not mounted, must not take all
// rules away.
func (s *search) empty(files []*entry, problems *diag.List) {
	held := map[string]bool{}
	for _, e := range files {
		if e.documents != nil || len(e.problems) > 0 {
			held[e.root] = true
		}
	}
	for _, root := range s.roots {
		nested := slices.ContainsFunc(s.roots, func(other string) bool {
			return other != root && held[other] && strings.HasPrefix(root+string(filepath.Separator), other+string(filepath.Separator))
		})
		if !held[root] && !nested && !slices.ContainsFunc(s.problems, func(d diag.Diagnostic) bool { return strings.HasPrefix(d.At.File, root) }) {
			problems.Errorf(diag.Position{File: root}, "no-documents", "the folder holds no document").
				Hinted("put a .yaml, .json or .cue file into it, or take it out of documents in writ.yaml")
		}
	}
}
