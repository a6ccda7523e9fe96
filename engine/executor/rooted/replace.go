package rooted

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/writ-dev/writ/engine/call"
)

// replaceLimit is the largest existing file that is replaced, in bytes: its
// digest is part of what is approved.
const replaceLimit = 64 << 20

// State is what a file was when it was looked at. Equal states are the same
// content with the same permissions.
type State struct {
	Exists bool
	Bytes  int64
	Digest call.Digest
	Mode   fs.FileMode
}

// Bound is the state as a canonical value.
func (s State) Bound() map[string]any {
	if !s.Exists {
		return map[string]any{"exists": false}
	}
	return map[string]any{"exists": true, "sha256": s.Digest.String(), "mode": s.Mode.String()}
}

// State looks at a regular file; one that does not exist is a state too.
func (f *Folder) State(name string) (State, error) {
	file, info, err := f.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return State{}, nil
	}
	if err != nil {
		return State{}, err
	}
	defer func() { _ = file.Close() }()
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(file, replaceLimit+1))
	if err != nil {
		return State{}, f.fail(name, err)
	}
	if n > replaceLimit {
		return State{}, &PathError{Name: Shown(f.Name(name)), Why: fmt.Sprintf("is larger than %d MiB", replaceLimit>>20)}
	}
	return State{Exists: true, Bytes: n, Digest: call.Digest(sum.Sum(nil)), Mode: info.Mode()}, nil
}

// Replace makes content the whole of a file, or leaves the file as it is.
// It is refused with ErrChanged unless the file is still in the state before.
// Permissions and owner are kept, but for set-uid and set-gid: what a caller
// wrote never runs as somebody else. A new file gets 0644 less the umask. The
// content is on the disk when Replace returns nil.
func (f *Folder) Replace(name string, before State, content []byte) error {
	if err := f.still(name, before); err != nil {
		return err
	}
	temporary, err := f.stage(name, before, content)
	if err != nil {
		return err
	}
	if err := f.still(name, before); err != nil {
		return errors.Join(err, f.root.Remove(temporary))
	}
	if before.Exists {
		err = f.root.Rename(temporary, name)
	} else {
		err = f.create(temporary, name)
	}
	if err != nil {
		return errors.Join(f.fail(name, err), f.discard(temporary))
	}
	return f.settle(name)
}

func (f *Folder) still(name string, before State) error {
	now, err := f.State(name)
	if err != nil {
		return err
	}
	if now != before {
		return f.fail(name, ErrChanged)
	}
	return nil
}

// stage writes the content beside the file, complete and durable.
func (f *Folder) stage(name string, before State, content []byte) (string, error) {
	file, temporary, err := f.temporary(content, before)
	if err != nil {
		return "", f.fail(name, err)
	}
	_, err = file.Write(content)
	if err == nil && before.Exists {
		err = f.inherit(file, name, before.Mode)
	}
	if err == nil {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return "", errors.Join(f.fail(name, err), f.discard(temporary))
	}
	return temporary, nil
}

// temporary makes a file that did not exist. A name is tried again with
// another number when a call that was killed has left one behind.
func (f *Folder) temporary(content []byte, before State) (*os.File, string, error) {
	mode := fs.FileMode(0o644)
	if before.Exists {
		mode = 0o600 // nobody reads along until it has the permissions of the file
	}
	sum := sha256.Sum256(content)
	var last error
	for try := range 16 {
		name := fmt.Sprintf(".writ-%x-%d.tmp", sum[:6], try)
		file, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err == nil {
			return file, name, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, "", err
		}
		last = err
	}
	return nil, "", last
}

func (f *Folder) inherit(file *os.File, name string, mode fs.FileMode) error {
	info, err := f.root.Lstat(name)
	if err != nil {
		return err
	}
	if err := copyOwner(file, info); err != nil {
		return err
	}
	return file.Chmod(mode &^ (fs.ModeSetuid | fs.ModeSetgid))
}

// create gives the name to a file only if nothing has it. A file system
// without hard links leaves a short moment in which something may get it.
func (f *Folder) create(temporary, name string) error {
	err := f.root.Link(temporary, name)
	if err == nil {
		return f.root.Remove(temporary)
	}
	if errors.Is(err, fs.ErrExist) {
		return ErrChanged
	}
	if _, err := f.root.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return ErrChanged
	}
	return f.root.Rename(temporary, name)
}

func (f *Folder) discard(temporary string) error {
	if err := f.root.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
