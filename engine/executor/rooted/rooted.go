// Package rooted answers one question: which file is this really?
//
// It opens what an argument named, inside the root that admitted it, without
// following a symbolic link and without waiting on a pipe or a device, and it
// replaces a file whole or not at all. A folder or file that was exchanged
// since the path was resolved is refused, and so is everything that belongs to
// Writ itself. All access goes through os.Root. Errors are for callers to
// read: they carry names inside the root, never the path of the host.
package rooted

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/engine/executor"
)

// Folder is an open folder inside a root. Close it after use.
type Folder struct {
	root     *os.Root
	rootPath string // of the host, absolute
	relative string // slash-separated, "." for the root
	guard    executor.Guard
}

// PathError says what is wrong with one file of a root.
type PathError struct {
	Name string // inside the root, safe to print
	Why  string
}

func (e *PathError) Error() string { return e.Name + ": " + e.Why }

// OpenFolder opens the folder that a resource names.
func OpenFolder(resource executor.Resource, guard executor.Guard) (*Folder, error) {
	if err := Allowed(resource, guard); err != nil {
		return nil, err
	}
	return descend(resource.RootPath, resource.Relative, guard)
}

// OpenParent opens the folder in which a resource is, or would be created, and
// returns the last element of its name.
func OpenParent(resource executor.Resource, guard executor.Guard) (*Folder, string, error) {
	if err := Allowed(resource, guard); err != nil {
		return nil, "", err
	}
	if resource.Relative == "." || resource.Relative == "" {
		return nil, "", &PathError{Name: ".", Why: "is the root itself, name a file inside it"}
	}
	folder, err := descend(resource.RootPath, path.Dir(resource.Relative), guard)
	return folder, path.Base(resource.Relative), err
}

// Allowed refuses a resource that belongs to Writ itself.
func Allowed(resource executor.Resource, guard executor.Guard) error {
	if !fs.ValidPath(resource.Relative) {
		return &PathError{Name: Shown(resource.Relative), Why: "is not a name inside a root"}
	}
	if guard != nil && guard.Protected(filepath.Join(resource.RootPath, filepath.FromSlash(resource.Relative))) {
		return &PathError{Name: Shown(resource.Relative), Why: "belongs to Writ itself and is out of reach of tools"}
	}
	return nil
}

func descend(rootPath, relative string, guard executor.Guard) (*Folder, error) {
	root, err := os.OpenRoot(rootPath)
	if err != nil {
		return nil, &PathError{Name: ".", Why: Why(err)}
	}
	folder := &Folder{root: root, rootPath: rootPath, relative: ".", guard: guard}
	if relative == "." {
		return folder, nil
	}
	for name := range strings.SplitSeq(relative, "/") {
		next, err := folder.enter(name)
		folder.Close()
		if err != nil {
			return nil, err
		}
		folder = next
	}
	return folder, nil
}

// Sub opens a folder inside the folder.
func (f *Folder) Sub(name string) (*Folder, error) {
	if f.Protected(name) {
		return nil, f.fail(name, errProtected)
	}
	return f.enter(name)
}

// enter compares what was opened with what was seen not to be a link: between
// the two, the name may have come to mean something else.
func (f *Folder) enter(name string) (*Folder, error) {
	seen, err := f.root.Lstat(name)
	if err != nil {
		return nil, f.fail(name, err)
	}
	if !seen.IsDir() {
		return nil, f.fail(name, errNoFolder)
	}
	root, err := f.root.OpenRoot(name)
	if err != nil {
		return nil, f.fail(name, err)
	}
	opened, err := root.Stat(".")
	if err == nil && !os.SameFile(seen, opened) {
		err = errExchanged
	}
	if err != nil {
		return nil, errors.Join(f.fail(name, err), root.Close())
	}
	return &Folder{root: root, rootPath: f.rootPath, relative: path.Join(f.relative, name), guard: f.guard}, nil
}

// Close releases the folder. The folder was only read, so nothing can be lost.
func (f *Folder) Close() { _ = f.root.Close() }

// Name is the slash-separated name of an entry inside the root, unescaped.
func (f *Folder) Name(entry string) string { return path.Join(f.relative, entry) }

// Protected reports whether an entry belongs to Writ itself.
func (f *Folder) Protected(entry string) bool {
	return f.guard != nil && f.guard.Protected(filepath.Join(f.rootPath, filepath.FromSlash(f.Name(entry))))
}

// Open opens a regular file of the folder for reading. A symbolic link, a
// pipe, a device and a folder are errors; a name that does not exist is one
// for which errors.Is(err, fs.ErrNotExist) holds.
func (f *Folder) Open(name string) (*os.File, fs.FileInfo, error) {
	if f.Protected(name) {
		return nil, nil, f.fail(name, errProtected)
	}
	seen, err := f.root.Lstat(name)
	if err != nil {
		return nil, nil, f.fail(name, err)
	}
	if !seen.Mode().IsRegular() {
		return nil, nil, f.fail(name, errNotRegular)
	}
	file, err := f.root.OpenFile(name, os.O_RDONLY|doNotWait, 0)
	if err != nil {
		return nil, nil, f.fail(name, err)
	}
	opened, err := file.Stat()
	if err == nil && !os.SameFile(seen, opened) {
		err = errExchanged
	}
	if err != nil {
		return nil, nil, errors.Join(f.fail(name, err), file.Close())
	}
	return file, opened, nil
}

// Scan calls visit with the entries of the folder in no order, until it
// returns false.
func (f *Folder) Scan(visit func(fs.DirEntry) bool) error {
	handle, err := f.root.Open(".")
	if err != nil {
		return f.fail(".", err)
	}
	defer func() { _ = handle.Close() }()
	for {
		batch, err := handle.ReadDir(512)
		for _, entry := range batch {
			if !visit(entry) {
				return nil
			}
		}
		if len(batch) == 0 {
			if err != nil && !isEnd(err) {
				return f.fail(".", err)
			}
			return nil
		}
	}
}

var (
	errNoFolder   = errors.New("is not a folder")
	errNotRegular = errors.New("is not a regular file")
	errExchanged  = errors.New("was exchanged while it was opened")
	errProtected  = errors.New("belongs to Writ itself and is out of reach of tools")
	// ErrChanged is returned by Replace when the file is no longer the one
	// that was read before.
	ErrChanged = errors.New("was changed since the call was prepared, prepare the call again")
)

type pathFailure struct {
	PathError
	cause error
}

func (e *pathFailure) Unwrap() []error { return []error{&e.PathError, e.cause} }

func (f *Folder) fail(name string, err error) error {
	return &pathFailure{PathError{Name: Shown(f.Name(name)), Why: Why(err)}, err}
}

// Why describes an error of the file system without the path of the host.
func Why(err error) string {
	for _, own := range []error{errNoFolder, errNotRegular, errExchanged, errProtected, ErrChanged} {
		if errors.Is(err, own) {
			return own.Error()
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "does not exist"
	case errors.Is(err, fs.ErrPermission):
		return "access was denied by the operating system"
	case errors.Is(err, fs.ErrExist):
		return "exists already"
	case isFull(err):
		return "there is no space left"
	case isReadOnly(err):
		return "the file system is read-only"
	}
	return "could not be used"
}

// Shown makes a name safe to print: one with characters that do not print, or
// that is not UTF-8, is quoted.
func Shown(name string) string {
	if quoted := strconv.Quote(name); quoted[1:len(quoted)-1] != name {
		return quoted
	}
	return name
}

// Label names a resource for people: the root, and where in it.
func Label(resource executor.Resource) string {
	return fmt.Sprintf("%s:%s", resource.Root, Shown(resource.Relative))
}
