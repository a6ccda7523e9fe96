// Package root answers one question: which folder may a path argument touch?
//
// Roots are named folders of writ.yaml. A path that a caller sends is inside
// one of the roots that its schema names, or it is refused; symlinks are
// resolved step by step, without ever looking outside the root, also for a
// file that does not exist yet. What comes out is absolute and free of
// symlinks, so that scope, rules, preview and executor speak of one place.
// Writ's own files are out of reach of every root. Errors name only what the
// caller sent and the root, never a path of the host. The package reads
// folders and links, opens no file and writes nothing; whoever acts on a file
// does so through OpenRoot, because links may change after Resolve.
package root

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
)

// Anywhere is the root that a tool names to take any absolute path. It is
// never declared.
const Anywhere = "anywhere"

// Set is the declared roots and Writ's own files. It never changes, but for
// what it remembers of a look at the disk.
type Set struct {
	folders   map[string]folder
	protected []string // absolute; the written and the resolved form
	looked    atomic.Pointer[looked]
}

type folder struct {
	name    string
	path    string // absolute and, when the folder is there, resolved
	alias   string // absolute, as declared
	missing string // why the folder cannot be used, or ""
}

// Open looks at the declared roots: names and folders, which are absolute or
// relative to base, the absolute configuration folder. Protected are absolute
// files and folders of Writ itself: writ.yaml, the folders of documents,
// secret files and the state folder, but not the whole configuration folder
// when a root lies in it. A folder that is not there makes its root
// unavailable and is no error; a bad name, a relative base or a root inside a
// protected path is one.
func Open(declared map[string]string, base string, protected []string) (*Set, error) {
	if !filepath.IsAbs(base) {
		return nil, errors.New("roots need the absolute path of the configuration folder")
	}
	s := &Set{folders: make(map[string]folder, len(declared))}
	for _, path := range protected {
		if !filepath.IsAbs(path) {
			return nil, fmt.Errorf("protected path %q is not absolute", path)
		}
		path = filepath.Clean(path)
		s.protected = append(s.protected, path)
		if resolved := resolved(path); resolved != path {
			s.protected = append(s.protected, resolved)
		}
	}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		f, err := s.open(name, declared[name], base)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		s.folders[name] = f
	}
	return s, errors.Join(problems...)
}

func (s *Set) open(name, written, base string) (folder, error) {
	switch {
	case name == Anywhere:
		return folder{}, errors.New("roots.anywhere: the name is taken for paths outside all roots; choose another")
	case !regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`).MatchString(name):
		return folder{}, fmt.Errorf("roots.%s: a name is lower-case letters, digits, _ and -, at most 64", name)
	case written == "" || strings.ContainsRune(written, 0) || strings.HasPrefix(written, "~"):
		return folder{}, fmt.Errorf("roots.%s: write a folder, absolute or relative to writ.yaml; ~ is not expanded", name)
	}
	path := written
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	path = filepath.Clean(path)
	f := folder{name: name, path: path, alias: path}
	if found, err := filepath.EvalSymlinks(path); err != nil {
		f.missing = fmt.Sprintf("roots.%s cannot be used: %v", name, reason(err))
	} else if info, err := os.Stat(found); err != nil || !info.IsDir() {
		f.missing = fmt.Sprintf("roots.%s is not a folder", name)
	} else {
		f.path = found
	}
	if s.IsProtected(f.path) {
		return folder{}, fmt.Errorf("roots.%s: %s is part of Writ's own configuration or state; choose another folder", name, written)
	}
	if processFile(f.path) {
		return folder{}, fmt.Errorf("roots.%s: %s is made of running processes; choose another folder", name, written)
	}
	return f, nil
}

// resolved follows the links of a path as far as it exists.
func resolved(path string) string {
	if found, err := filepath.EvalSymlinks(path); err == nil || filepath.Dir(path) == path {
		return found
	}
	return filepath.Join(resolved(filepath.Dir(path)), filepath.Base(path))
}

// reason strips the host path of a file system error.
func reason(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// Names lists the declared roots in order.
func (s *Set) Names() []string { return slices.Sorted(maps.Keys(s.folders)) }

// Declared reports whether a path argument may name this root. Anywhere
// always is.
func (s *Set) Declared(name string) bool {
	_, ok := s.folders[name]
	return ok || name == Anywhere
}

// Available reports whether the root's folder was there when the set was
// opened, and otherwise why not. Callers may read it: it names no path.
func (s *Set) Available(name string) (ok bool, why string) {
	if name == Anywhere {
		return true, ""
	}
	f, ok := s.folders[name]
	if !ok {
		return false, fmt.Sprintf("declare roots.%s in writ.yaml", name)
	}
	return f.missing == "", f.missing
}

// OpenRoot opens the root's folder for acting on files inside it: os.Root
// refuses every step that leaves it, whatever has changed since Resolve. The
// caller closes it. Relative of a Resource is a name in it.
func (s *Set) OpenRoot(name string) (*os.Root, error) {
	f, err := s.folder(name)
	if err != nil {
		return nil, err
	}
	opened, err := os.OpenRoot(f.path)
	if err != nil {
		return nil, fmt.Errorf("open the root %s: %w", name, reason(err))
	}
	return opened, nil
}

func (s *Set) folder(name string) (folder, error) {
	if name == Anywhere {
		top := filepath.VolumeName(os.TempDir()) + string(filepath.Separator)
		return folder{name: Anywhere, path: top, alias: top}, nil
	}
	f, ok := s.folders[name]
	switch {
	case !ok:
		return folder{}, fmt.Errorf("the root %s is not declared", name)
	case f.missing != "":
		return folder{}, fmt.Errorf("the root %s is not available", name)
	}
	return f, nil
}
