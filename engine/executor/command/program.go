package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// program is one executable file, as it was when it was looked at.
type program struct {
	path   string
	device int64
	inode  int64
	size   int64
	mtime  int64 // nanoseconds since 1970
}

func (p program) bound() map[string]any {
	return map[string]any{"path": p.path, "device": p.device, "inode": p.inode, "size": p.size, "mtime": p.mtime}
}

// find looks a program up in the absolute folders of the server's PATH. A name
// with a slash is an absolute path, which Compile has checked.
func (c *command) find(name string) (program, error) {
	if filepath.IsAbs(name) {
		p, err := identify(filepath.Clean(name))
		if err != nil {
			return program{}, fmt.Errorf("the program %q is not there or cannot be executed", name)
		}
		return p, c.allowed(p)
	}
	path, _ := c.kind.Env("PATH")
	for _, folder := range filepath.SplitList(path) {
		if !filepath.IsAbs(folder) {
			continue
		}
		if p, err := identify(filepath.Join(folder, name)); err == nil {
			return p, c.allowed(p)
		}
	}
	return program{}, fmt.Errorf("the program %q is not installed on this server", name)
}

// allowed keeps files of Writ itself from being started.
func (c *command) allowed(p program) error {
	if c.guard == nil {
		return nil
	}
	resolved, err := filepath.EvalSymlinks(p.path)
	if err != nil || c.guard.Protected(p.path) || c.guard.Protected(resolved) {
		return errors.New("the program is one of Writ's own files, which no tool can reach")
	}
	return nil
}

// identify stats a path; it must be a regular file with an execute bit.
func identify(path string) (program, error) {
	info, err := os.Stat(path)
	if err != nil {
		return program{}, err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
		return program{}, os.ErrPermission
	}
	p := program{path: path, size: info.Size(), mtime: info.ModTime().UnixNano()}
	p.device, p.inode = numbers(info)
	return p, nil
}

// quote writes words as a shell would need them, for people to read. Nothing
// is ever given to a shell. A line break or another character that does not
// print is written as an escape: no word can look like a line of its own.
func quote(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = word
		if strings.ContainsFunc(word, unprintable) {
			inner := strconv.Quote(word)
			quoted[i] = "$'" + strings.ReplaceAll(inner[1:len(inner)-1], "'", `\'`) + "'"
		} else if word == "" || strings.ContainsFunc(word, unsafe) {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

func unprintable(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }

func unsafe(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@%+,", r))
}
