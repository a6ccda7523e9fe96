package file

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"unicode/utf8"

	"github.com/writ-dev/writ/engine/executor"
	"github.com/writ-dev/writ/engine/executor/rooted"
)

// Limits of list (T-15). At most scanLimit entries of one folder are looked
// at, so that a folder of millions takes bounded time.
const (
	listLimit = 1000
	scanLimit = 200_000
)

// read returns the whole text of a regular file of at most SizeLimit (T-14).
func (e *Executor) read(resource executor.Resource) ([]byte, error) {
	folder, name, err := rooted.OpenParent(resource, e.guard)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	text, err := contents(folder, name)
	if err == nil && !utf8.Valid(text) {
		err = notText(folder, name)
	}
	return text, err
}

func notText(folder *rooted.Folder, name string) error {
	return &rooted.PathError{Name: rooted.Shown(folder.Name(name)), Why: "is not UTF-8 text"}
}

// contents reads a regular file and refuses one that is larger than
// SizeLimit, whatever its size was said to be.
func contents(folder *rooted.Folder, name string) ([]byte, error) {
	file, _, err := folder.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, SizeLimit+1))
	if err != nil {
		return nil, &rooted.PathError{Name: rooted.Shown(folder.Name(name)), Why: rooted.Why(err)}
	}
	if len(content) > SizeLimit {
		return nil, &rooted.PathError{Name: rooted.Shown(folder.Name(name)), Why: "is larger than 1 MiB"}
	}
	return content, nil
}

// list names the entries of a folder in order, folders with / and links with
// @, at most listLimit of them (T-15).
func (e *Executor) list(ctx context.Context, resource executor.Resource) ([]byte, error) {
	folder, err := rooted.OpenFolder(resource, e.guard)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	entries, more, err := smallest(ctx, folder, listLimit)
	if err != nil {
		return nil, err
	}
	var text []byte
	for _, entry := range entries {
		text = append(text, rooted.Shown(entry.Name())...)
		switch {
		case entry.IsDir():
			text = append(text, '/')
		case entry.Type()&fs.ModeSymlink != 0:
			text = append(text, '@')
		}
		text = append(text, '\n')
	}
	if more {
		text = fmt.Appendf(text, "[only the first %d entries are shown]\n", len(entries))
	}
	return text, nil
}

// smallest returns the first entries of a folder in the order of their names,
// in memory that does not grow with the folder, and whether there are more.
// Writ's own files are not among them.
func smallest(ctx context.Context, folder *rooted.Folder, limit int) (entries []fs.DirEntry, more bool, err error) {
	byName := func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) }
	cut := func() {
		slices.SortFunc(entries, byName)
		if len(entries) > limit {
			clear(entries[limit:])
			entries, more = entries[:limit], true
		}
	}
	seen := 0
	err = folder.Scan(func(entry fs.DirEntry) bool {
		if seen++; seen > scanLimit || ctx.Err() != nil {
			more = true
			return false
		}
		if !folder.Protected(entry.Name()) {
			entries = append(entries, entry)
		}
		if len(entries) >= 2*limit+512 {
			cut()
		}
		return true
	})
	if err == nil {
		err = ctx.Err()
	}
	cut()
	return entries, more, err
}
