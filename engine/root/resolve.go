package root

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/engine/executor"
)

const (
	maxLength = 4096 // bytes of a path, as Linux has it
	maxLinks  = 40   // symlinks on one way, as Linux has it
)

// What a schema may demand of a path with must.
const (
	MustExist     = "exist"
	MustFile      = "file"
	MustDirectory = "directory"
	MustAbsent    = "absent"
)

// Resolve finds what was sent under one of the roots: an absolute path inside
// one of them, or a path relative to the first. Must is what the schema
// demands of it, or "". The absolute path that it returns is free of symlinks
// and inside the root, also for a file that does not exist yet. An error is
// for the caller to read.
func (s *Set) Resolve(under []string, sent, must string) (executor.Resource, string, error) {
	where, f, err := s.locate(under, sent, s.folder)
	if err != nil {
		return executor.Resource{}, "", err
	}
	shown := show(sent)
	relative, info, err := walk(f, where)
	if err != nil {
		return executor.Resource{}, "", fmt.Errorf("path %s %w", shown, err)
	}
	absolute := filepath.Join(f.path, relative)
	if s.IsProtected(absolute) {
		return executor.Resource{}, "", fmt.Errorf("path %s is part of Writ's own configuration or state", shown)
	}
	if strings.HasSuffix(filepath.ToSlash(sent), "/") && info != nil && !info.IsDir() {
		return executor.Resource{}, "", fmt.Errorf("path %s is not a folder", shown)
	}
	if err := demand(info, must); err != nil {
		return executor.Resource{}, "", fmt.Errorf("path %s %w", shown, err)
	}
	return resource(f, relative), absolute, nil
}

// Lexical resolves paths by their text alone: nothing is looked up, no link
// followed, no demand checked. Explaining and testing use it when a folder of
// the configuration is not on this machine.
type Lexical struct{ Set *Set }

// Resolve is Set.Resolve without the disk.
func (l Lexical) Resolve(under []string, sent, _ string) (executor.Resource, string, error) {
	relative, f, err := l.Set.locate(under, sent, func(name string) (folder, error) {
		f, err := l.Set.folder(name)
		if declared, ok := l.Set.folders[name]; ok {
			return declared, nil
		}
		return f, err
	})
	if err != nil {
		return executor.Resource{}, "", err
	}
	absolute := filepath.Join(f.path, relative)
	if l.Set.lexicallyProtected(absolute) {
		return executor.Resource{}, "", fmt.Errorf("path %s is part of Writ's own configuration or state", show(sent))
	}
	if processFile(absolute) {
		return executor.Resource{}, "", fmt.Errorf("path %s %w", show(sent), errProcess)
	}
	return resource(f, relative), absolute, nil
}

func resource(f folder, relative string) executor.Resource {
	return executor.Resource{Root: f.name, RootPath: f.path, Relative: filepath.ToSlash(relative)}
}

var (
	errOutside = errors.New("leads outside the root")
	errProcess = errors.New("belongs to a running process")
	errMissing = errors.New("does not exist")
)

// locate picks the root and the clean path inside it, by text alone.
func (s *Set) locate(under []string, sent string, open func(string) (folder, error)) (string, folder, error) {
	if err := plain(sent); err != nil {
		return "", folder{}, err
	}
	if len(under) == 0 {
		return "", folder{}, errors.New("no root is named for this path")
	}
	if !filepath.IsAbs(sent) && !strings.HasPrefix(sent, "/") {
		if under[0] == Anywhere {
			return "", folder{}, fmt.Errorf("path %s must be absolute", show(sent))
		}
		f, err := open(under[0])
		if err != nil {
			return "", folder{}, err
		}
		relative := filepath.Clean(filepath.FromSlash(sent))
		if !filepath.IsLocal(relative) {
			return "", folder{}, fmt.Errorf("path %s leads outside the root %s", show(sent), f.name)
		}
		return relative, f, nil
	}
	clean := filepath.Clean(filepath.FromSlash(sent))
	var unusable error
	for _, name := range under {
		f, err := open(name)
		if err != nil {
			unusable = err
			continue
		}
		for _, path := range []string{f.path, f.alias} {
			if relative, ok := inside(path, clean); ok {
				return relative, f, nil
			}
		}
	}
	if unusable != nil && len(under) == 1 {
		return "", folder{}, unusable
	}
	return "", folder{}, fmt.Errorf("path %s is outside the roots: give one inside %s, or relative to %s", show(sent), strings.Join(under, ", "), under[0])
}

// plain refuses what is no path, or means something else to other programs.
func plain(sent string) error {
	switch {
	case sent == "":
		return errors.New("the path is empty; . is the root itself")
	case len(sent) > maxLength:
		return fmt.Errorf("the path has %d bytes; at most %d are taken", len(sent), maxLength)
	case strings.ContainsRune(sent, 0):
		return errors.New("the path holds a NUL character")
	case sent[0] == '~':
		return fmt.Errorf("path %s: ~ is not expanded; write ./~ for a file of that name", show(sent))
	}
	return nil
}

// walk resolves symlinks from the root on, one step at a time. It looks at
// nothing outside the root: a link that leaves it is refused unread. Info is
// nil when the path does not exist; then the missing steps are kept as sent.
func walk(f folder, relative string) (string, fs.FileInfo, error) {
	pending := steps(relative)
	at, links := ".", 0
	info, err := os.Lstat(f.path)
	if err != nil {
		return "", nil, errMissing
	}
	for len(pending) > 0 {
		step := pending[0]
		pending = pending[1:]
		if step == ".." {
			if at == "." {
				return "", nil, errOutside
			}
			at = filepath.Dir(at)
			if info, err = os.Lstat(filepath.Join(f.path, at)); err != nil {
				return "", nil, lookupError(err)
			}
			continue
		}
		if !info.IsDir() {
			return "", nil, errors.New("goes through something that is not a folder")
		}
		next := filepath.Join(at, step)
		full := filepath.Join(f.path, next)
		if processFile(full) {
			return "", nil, errProcess
		}
		found, err := os.Lstat(full)
		if errors.Is(err, fs.ErrNotExist) {
			return missing(next, pending)
		}
		if err != nil {
			return "", nil, lookupError(err)
		}
		if found.Mode()&(fs.ModeSymlink|fs.ModeIrregular) == 0 {
			at, info = next, found
			continue
		}
		if links++; links > maxLinks {
			return "", nil, errors.New("goes through too many links")
		}
		target, err := os.Readlink(full)
		if err != nil {
			return "", nil, lookupError(err)
		}
		if filepath.IsAbs(target) || strings.HasPrefix(target, "/") {
			if target, at, err = reenter(f, target); err != nil {
				return "", nil, err
			}
		}
		if info, err = os.Lstat(filepath.Join(f.path, at)); err != nil {
			return "", nil, lookupError(err)
		}
		pending = append(steps(target), pending...)
	}
	return at, info, nil
}

// reenter turns the absolute target of a link into steps from the root.
func reenter(f folder, target string) (rest, at string, err error) {
	for _, path := range []string{f.path, f.alias} {
		if rest, ok := inside(path, filepath.FromSlash(target)); ok {
			return rest, ".", nil
		}
	}
	return "", "", errOutside
}

// missing keeps the steps of a path that does not exist yet. A .. after a
// missing step comes from a link and leads nowhere.
func missing(next string, pending []string) (string, fs.FileInfo, error) {
	for _, step := range pending {
		if step == ".." {
			return "", nil, errMissing
		}
		next = filepath.Join(next, step)
	}
	return next, nil, nil
}

func steps(path string) []string {
	var list []string
	for step := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		if step != "" && step != "." {
			list = append(list, step)
		}
	}
	return list
}

func lookupError(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errMissing
	case errors.Is(err, fs.ErrPermission):
		return errors.New("cannot be looked up: permission denied")
	}
	return fmt.Errorf("cannot be looked up: %w", reason(err))
}

func demand(info fs.FileInfo, must string) error {
	switch {
	case must == MustAbsent && info != nil:
		return errors.New("exists already")
	case must == "" || must == MustAbsent:
		return nil
	case info == nil:
		return errMissing
	case must == MustFile && !info.Mode().IsRegular():
		return errors.New("is not a regular file")
	case must == MustDirectory && !info.IsDir():
		return errors.New("is not a folder")
	}
	return nil
}

// show quotes what was sent, cut to a readable length.
func show(sent string) string {
	const most = 120
	if len(sent) <= most {
		return strconv.Quote(sent)
	}
	return strconv.Quote(strings.ToValidUTF8(sent[:most], "")) + "…"
}
