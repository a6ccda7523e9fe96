package root

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Protected reports whether an absolute, resolved path is, or is inside, or
// contains Writ's own configuration or state. It is what executor.Guard asks:
// a program that works in a folder reaches everything below it.
func (s *Set) Protected(path string) bool {
	return s.IsProtected(path) || s.ContainsProtected(path)
}

// IsProtected reports whether an absolute, resolved path is Writ's own or is
// inside what is. Another name of the same file counts: a hard link, a bind
// mount, or other case where the file system ignores it.
func (s *Set) IsProtected(path string) bool {
	if s.lexicallyProtected(path) {
		return true
	}
	own := s.own()
	if len(own) == 0 {
		return false
	}
	for at := filepath.Clean(path); ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && sameAsAny(info, own) {
			return true
		}
		if filepath.Dir(at) == at {
			return false
		}
	}
}

// looked is what Writ's own files were at one time.
type looked struct {
	at  time.Time
	own []os.FileInfo
}

// lookEvery is how long a look at Writ's own files is good for. By name they
// are protected all the time; only another name of a file that has just been
// replaced may be missed for so long. Every call asks, and the files are many.
const lookEvery = time.Second

// own looks at Writ's own files, or remembers.
func (s *Set) own() []os.FileInfo {
	now := time.Now()
	if last := s.looked.Load(); last != nil && now.Sub(last.at) < lookEvery {
		return last.own
	}
	fresh := &looked{at: now}
	for _, p := range s.protected {
		if info, err := os.Stat(p); err == nil {
			fresh.own = append(fresh.own, info)
		}
	}
	s.looked.Store(fresh)
	return fresh.own
}

// ContainsProtected reports whether something of Writ's own lies below path.
func (s *Set) ContainsProtected(path string) bool {
	path = filepath.Clean(path)
	info, statErr := os.Stat(path)
	for _, p := range s.protected {
		if _, ok := inside(path, p); ok {
			return true
		}
		if statErr != nil || !info.IsDir() {
			continue
		}
		for at := p; filepath.Dir(at) != at; at = filepath.Dir(at) {
			if above, err := os.Stat(filepath.Dir(at)); err == nil && os.SameFile(info, above) {
				return true
			}
		}
	}
	return false
}

func (s *Set) lexicallyProtected(path string) bool {
	for _, p := range s.protected {
		if _, ok := inside(p, path); ok {
			return true
		}
	}
	return false
}

func sameAsAny(info os.FileInfo, others []os.FileInfo) bool {
	for _, other := range others {
		if os.SameFile(info, other) {
			return true
		}
	}
	return false
}

// inside reports whether path is folder or lies below it, and where. Both are
// absolute and clean.
func inside(folder, path string) (relative string, ok bool) {
	if folder == path {
		return ".", true
	}
	if !strings.HasSuffix(folder, string(filepath.Separator)) {
		folder += string(filepath.Separator)
	}
	return strings.CutPrefix(path, folder)
}

// processFile reports whether a path is in the folder of a process under
// /proc. Links there lead to open files and other name spaces whatever their
// text says, and environ holds the server's own token.
func processFile(path string) bool {
	rest, ok := inside("/proc", filepath.ToSlash(path))
	if !ok {
		return false
	}
	first, _, _ := strings.Cut(rest, "/")
	return first == "self" || first == "thread-self" || first != "" && strings.Trim(first, "0123456789") == ""
}
