package load

import (
	"context"
	"crypto/sha256"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
)

// Cache is what one load leaves for the next. It is never changed.
type Cache struct {
	entries  map[string]*entry
	files    []File
	set      *document.Set // nil when a path could not be read
	problems diag.List
}

// File is one file as it was read.
type File struct {
	Path string
	Sum  [sha256.Size]byte // of its content
	Size int64
	Date time.Time // of its last change
}

// Files lists the files that were read, by path.
func (c *Cache) Files() []File { return c.files }

// entry is one file and what it held.
type entry struct {
	source
	stat      stat
	sum       [sha256.Size]byte
	read      time.Time // when stat was taken; zero means unknown
	documents []any     // *document.Tool and so on
	problems  diag.List
	fleeting  bool // could not be read, or not in time: not kept
}

// stat is what tells that a file changed without reading it.
type stat struct {
	size     int64
	date     time.Time
	mode     fs.FileMode
	identity identity
}

func statOf(info fs.FileInfo) stat {
	return stat{info.Size(), info.ModTime(), info.Mode(), identityOf(info)}
}

func newCache(entries []*entry) *Cache {
	c := &Cache{entries: make(map[string]*entry, len(entries))}
	for _, e := range entries {
		c.files = append(c.files, File{e.path, e.sum, e.stat.size, e.stat.date})
		if !e.fleeting {
			c.entries[e.path] = e
		}
	}
	return c
}

// same reports whether both hold the same files with the same content.
func (c *Cache) same(other *Cache) bool {
	if other.set == nil || len(c.entries) != len(other.entries) || len(c.files) != len(c.entries) {
		return false
	}
	for path, e := range c.entries {
		if known := other.entries[path]; known == nil || known.sum != e.sum || !slices.Equal(known.roots, e.roots) {
			return false
		}
	}
	return true
}

// trusts reports whether a file is what it was by its stat alone. A date that
// is close to the time at which it was taken tells nothing: a second change
// may have fallen on the same tick.
func (e *entry) trusts(now stat) bool {
	return !e.read.IsZero() && e.stat == now && e.read.Sub(now.date) > 2*time.Second && e.read.Sub(now.identity.changed) > 2*time.Second
}

// entries reads the files, as many at once as there are processors.
func (l *Loader) entries(ctx context.Context, o Options, files []source) ([]*entry, error) {
	out := make([]*entry, len(files))
	var next, total atomic.Int64
	var wait sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(files)) {
		wait.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(files) || ctx.Err() != nil {
					return
				}
				out[i] = l.entry(ctx, o, files[i], &total)
			}
		})
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return out, nil
}

// entry reads one file, or takes it from the previous load.
func (l *Loader) entry(ctx context.Context, o Options, file source, total *atomic.Int64) *entry {
	e := &entry{source: source{path: file.path, roots: file.roots}} // the rest would only be kept
	at := diag.Position{File: file.path}
	var known *entry
	if o.Previous != nil {
		known = o.Previous.entries[file.path]
	}
	if o.Now != nil {
		e.read = o.Now()
	}
	e.stat = statOf(file.info)
	if known != nil && o.Now != nil && slices.Equal(known.roots, e.roots) && known.trusts(e.stat) {
		return known
	}
	if file.info.Size() > MaxFile || total.Add(file.info.Size()) > MaxTotal {
		e.problems.Errorf(at, "too-large", "a file holds at most %s, all together at most %s", document.Size(MaxFile), document.Size(MaxTotal))
		e.fleeting = true
		return e
	}
	text, err := readFile(file.path)
	if err != nil {
		e.fail(at, err)
		return e
	}
	e.sum = sha256.Sum256(text)
	if known != nil && known.sum == e.sum {
		e.documents, e.problems = known.documents, known.problems
		return e
	}
	l.parse(ctx, o, e, text)
	return e
}

func (e *entry) fail(at diag.Position, err error) {
	s := search{}
	s.unreadable(at.File, err)
	e.problems, e.fleeting = s.problems, true
}

func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, MaxFile+1))
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	return text, err
}
