package load

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/writ-dev/writ/engine/diag"
)

// search is what the configured paths lead to.
type search struct {
	files    []source // by path
	problems diag.List
	folders  []folder // all that were listed
	roots    []string // configured folders
}

// source is one file. Path is how the user reaches it first, roots are the
// configured folders that lead to it.
type source struct {
	path, real string
	info       fs.FileInfo // of the file itself, when it was found
	roots      []string
}

type folder struct {
	path string
	info fs.FileInfo
}

// walk is one configured path. Seen keeps links from leading it in circles.
type walk struct {
	*search
	root  string
	seen  map[string]bool
	files map[string]*source // by real path, of all walks
}

// find lists the files of all paths, each once, in the order of their paths.
func find(paths []string) *search {
	s := &search{}
	files := map[string]*source{}
	for _, path := range paths {
		path = filepath.Clean(path)
		if slices.Contains(s.roots, path) {
			continue
		}
		w := &walk{search: s, root: path, seen: map[string]bool{}, files: files}
		info, err := os.Stat(path)
		switch {
		case err != nil:
			s.unreadable(path, err)
		case info.IsDir():
			s.roots = append(s.roots, path)
			w.folder(path, info, 0)
		default:
			w.file(path, info)
		}
	}
	for _, file := range files {
		s.files = append(s.files, *file)
	}
	slices.SortFunc(s.files, func(a, b source) int { return strings.Compare(a.path, b.path) })
	s.problems = s.problems.Sorted()
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
func (w *walk) folder(path string, info fs.FileInfo, depth int) {
	real, ok := w.once(path)
	if !ok {
		return
	}
	if depth > MaxDepth || len(w.files) > MaxFiles {
		w.problems.Errorf(diag.Position{File: path}, "too-many", "more than %d files, or folders more than %d deep", MaxFiles, MaxDepth)
		return
	}
	w.folders = append(w.folders, folder{path, info})
	entries, err := os.ReadDir(path)
	if err != nil {
		w.unreadable(path, err)
		return
	}
	entries = slices.DeleteFunc(entries, func(entry fs.DirEntry) bool { return strings.HasPrefix(entry.Name(), ".") })
	for i, seen := range lookAt(entries) {
		name := entries[i].Name()
		w.entry(filepath.Join(path, name), filepath.Join(real, name), name, seen, depth)
	}
}

// seen is what there is to see of one name without following links.
type seen struct {
	info fs.FileInfo
	err  error
}

// lookAt looks at the entries of a folder, at many at once: a reload looks at
// every file of a large catalog, and waits for little else.
func lookAt(entries []fs.DirEntry) []seen {
	const each = 64
	all := make([]seen, len(entries))
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), (len(entries)+each-1)/each) {
		wait.Go(func() {
			for from := int(next.Add(each)) - each; from < len(entries); from = int(next.Add(each)) - each {
				for i := from; i < min(from+each, len(entries)); i++ {
					all[i].info, all[i].err = entries[i].Info()
				}
			}
		})
	}
	wait.Wait()
	return all
}

// entry looks at one name of a folder. Only links need to be resolved.
func (w *walk) entry(path, real, name string, found seen, depth int) {
	info, err := found.info, found.err
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		real = ""
		info, err = os.Stat(path)
	}
	switch {
	case err != nil:
		if known(path) {
			w.unreadable(path, err)
		}
	case info.IsDir():
		w.folder(path, info, depth+1)
	case !known(path) || name == "writ.yaml":
	case real != "" && info.Mode().IsRegular():
		w.keep(path, real, info)
	default:
		w.file(path, info)
	}
}

func (w *walk) file(path string, info fs.FileInfo) {
	real, ok := w.once(path)
	switch {
	case !ok:
	case !known(path):
		w.problems.Errorf(diag.Position{File: path}, "unknown-form", "documents are .yaml, .yml, .json and .cue files")
	case !info.Mode().IsRegular():
		w.problems.Errorf(diag.Position{File: path}, "unreadable", "it is no regular file")
	default:
		w.keep(path, real, info)
	}
}

func (w *walk) keep(path, real string, info fs.FileInfo) {
	file := w.files[real]
	if file == nil {
		file = &source{path: path, real: real, info: info}
		w.files[real] = file
	}
	if !slices.Contains(file.roots, w.root) {
		file.roots = append(file.roots, w.root)
	}
}

// once resolves the links of a path, and reports whether this walk is there
// for the first time.
func (w *walk) once(path string) (string, bool) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		w.unreadable(path, err)
		return "", false
	}
	if w.seen[real] {
		return "", false
	}
	w.seen[real] = true
	return real, true
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
		if len(e.documents) > 0 || len(e.problems) > 0 {
			for _, root := range e.roots {
				held[root] = true
			}
		}
	}
	for _, root := range s.roots {
		below := root + string(filepath.Separator)
		if held[root] || slices.ContainsFunc(s.problems, func(d diag.Diagnostic) bool { return d.At.File == root || strings.HasPrefix(d.At.File, below) }) {
			continue
		}
		problems.Errorf(diag.Position{File: root}, "no-documents", "the folder holds no document").
			Hinted("put a .yaml, .json or .cue file into it, or take it out of documents in writ.yaml")
	}
}
