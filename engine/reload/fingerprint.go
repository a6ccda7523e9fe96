package reload

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Bounds of one look at the files.
const (
	maxEntries = 200_000
	maxLinks   = 16 // symlinks that lead to symlinks
)

// fingerprint is what can be told of files without reading them: for every
// file and folder its size, date, mode and identity, for every symlink where
// it leads and what is there.
type fingerprint struct {
	sum [sha256.Size]byte
	// folders are the folders to watch: in a whole one every name counts, in
	// another only those listed.
	folders map[string]*folder
}

type folder struct {
	whole bool
	names map[string]bool
}

// concerns reports whether a change of this path can change what is read. The
// empty path stands for any.
func (f fingerprint) concerns(path string) bool {
	if path == "" {
		return true
	}
	if _, ok := f.folders[path]; ok {
		return true
	}
	in, ok := f.folders[filepath.Dir(path)]
	return ok && (in.whole || in.names[filepath.Base(path)])
}

// take looks at the paths and all that is below them.
func take(paths []string) fingerprint {
	w := &walk{hash: sha256.New(), folders: map[string]*folder{}, left: maxEntries}
	for _, path := range slices.Sorted(slices.Values(paths)) {
		w.named(path, maxLinks)
	}
	f := fingerprint{folders: w.folders}
	w.hash.Sum(f.sum[:0])
	return f
}

type walk struct {
	hash    hash.Hash
	line    []byte // of the entry that is written to hash
	folders map[string]*folder
	left    int
}

// named looks at a path that is mentioned by name, in the configuration or by
// a symlink: the name may come to stand for another file, so its folder is
// watched too.
func (w *walk) named(path string, links int) {
	parent, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		w.missing(path, err)
		return
	}
	w.folder(parent).names[filepath.Base(path)] = true
	info, err := os.Lstat(path)
	if err != nil {
		w.missing(path, err)
		return
	}
	w.entry(filepath.Join(parent, filepath.Base(path)), info, links)
}

// entry looks at something that is there, in a folder that has no symlinks in
// its path.
func (w *walk) entry(path string, info fs.FileInfo, links int) {
	w.left--
	if w.left < 0 {
		return
	}
	w.line = append(append(w.line[:0], path...), 0) // no path holds it
	for _, n := range []int64{info.Size(), info.ModTime().UnixNano(), int64(info.Mode())} {
		w.line = binary.BigEndian.AppendUint64(w.line, uint64(n))
	}
	_, _ = w.hash.Write(append(identity(w.line, info), '\n'))
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		w.link(path, links)
	case info.IsDir():
		w.list(path, links)
	}
}

func (w *walk) link(path string, links int) {
	target, err := os.Readlink(path)
	if err != nil {
		w.missing(path, err)
		return
	}
	_, _ = fmt.Fprintf(w.hash, "%q leads to %q\n", path, target)
	if links == 0 {
		return
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(path), target)
	}
	w.named(target, links-1)
}

func (w *walk) list(path string, links int) {
	if known := w.folders[path]; known != nil && known.whole {
		return // another symlink led here
	}
	w.folder(path).whole = true
	entries, err := os.ReadDir(path)
	if err != nil {
		w.missing(path, err)
	}
	for i, seen := range lookAt(entries) { // by name
		name := filepath.Join(path, entries[i].Name())
		if seen.err != nil {
			w.missing(name, seen.err)
			continue
		}
		w.entry(name, seen.info, links)
	}
}

type seen struct {
	info fs.FileInfo
	err  error
}

// lookAt looks at the entries of a folder, at many at once.
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

// missing notes that a path cannot be looked at. The reason counts, because a
// folder that becomes unreadable is a change.
func (w *walk) missing(path string, err error) {
	_, _ = fmt.Fprintf(w.hash, "%q %v\n", path, err)
}

func (w *walk) folder(path string) *folder {
	f := w.folders[path]
	if f == nil {
		f = &folder{names: map[string]bool{}}
		w.folders[path] = f
	}
	return f
}
