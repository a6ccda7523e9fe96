package file

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"unicode/utf8"

	"github.com/writ-dev/writ/engine/executor"
	"github.com/writ-dev/writ/engine/executor/rooted"
)

// Limits of search (T-16), and how deep and how wide its output may be.
const (
	matchLimit = 200
	visitLimit = 1000
	depthLimit = 64
	lineLimit  = 500 // bytes of one line that are shown
)

// finder is one run of a search.
type finder struct {
	ctx              context.Context
	query            []byte
	out              []byte
	matches, visited int
	stopped          string // why the search ended early
}

// search finds a literal text in the regular files below a folder, or in one
// file. Links are not followed, so there is no cycle to run into.
func (e *Executor) search(ctx context.Context, resource executor.Resource, query string) ([]byte, error) {
	f := &finder{ctx: ctx, query: []byte(query)}
	if err := e.start(f, resource); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if f.stopped != "" {
		f.out = fmt.Appendf(f.out, "[search stopped: %s]\n", f.stopped)
	}
	return f.out, nil
}

func (e *Executor) start(f *finder, resource executor.Resource) error {
	if resource.Relative == "." {
		folder, err := rooted.OpenFolder(resource, e.guard)
		if err != nil {
			return err
		}
		defer folder.Close()
		return f.folder(folder, 0)
	}
	parent, name, err := rooted.OpenParent(resource, e.guard)
	if err != nil {
		return err
	}
	defer parent.Close()
	folder, err := parent.Sub(name)
	if err != nil {
		return f.file(parent, name)
	}
	defer folder.Close()
	return f.folder(folder, 0)
}

// folder returns an error only for the folder itself: what cannot be read
// below it is passed over, as a person's own search would.
func (f *finder) folder(folder *rooted.Folder, depth int) error {
	entries, more, err := smallest(f.ctx, folder, visitLimit)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if f.done() {
			return nil
		}
		if f.visited++; f.visited > visitLimit {
			f.stopped = fmt.Sprintf("%d files and folders were visited", visitLimit)
			return nil
		}
		f.entry(folder, entry, depth)
	}
	if more && f.stopped == "" {
		f.stopped = "a folder has too many entries"
	}
	return nil
}

func (f *finder) entry(folder *rooted.Folder, entry fs.DirEntry, depth int) {
	switch {
	case entry.Type().IsRegular():
		_ = f.file(folder, entry.Name())
	case entry.IsDir() && depth >= depthLimit:
		f.stopped = fmt.Sprintf("folders are nested deeper than %d", depthLimit)
	case entry.IsDir():
		if sub, err := folder.Sub(entry.Name()); err == nil {
			_ = f.folder(sub, depth+1)
			sub.Close()
		}
	}
}

func (f *finder) file(folder *rooted.Folder, name string) error {
	content, err := contents(folder, name)
	if err != nil {
		return err
	}
	if !utf8.Valid(content) || bytes.IndexByte(content, 0) >= 0 {
		return notText(folder, name)
	}
	number := 0
	for line := range bytes.Lines(content) {
		number++
		if !bytes.Contains(line, f.query) {
			continue
		}
		if f.matches++; f.matches > matchLimit {
			f.stopped = fmt.Sprintf("%d matches were found", matchLimit)
			return nil
		}
		f.out = fmt.Appendf(f.out, "%s:%d:%s\n", rooted.Shown(folder.Name(name)), number, shorten(bytes.TrimRight(line, "\r\n")))
	}
	return nil
}

func (f *finder) done() bool { return f.stopped != "" || f.ctx.Err() != nil }

// shorten cuts a line that is too long to show, between characters.
func shorten(line []byte) []byte {
	if len(line) <= lineLimit {
		return line
	}
	end := lineLimit
	for !utf8.RuneStart(line[end]) {
		end--
	}
	return append(bytes.Clone(line[:end]), "…"...)
}
