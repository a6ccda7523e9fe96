//go:build unix

package rooted

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// doNotWait keeps a pipe that took the place of a file from blocking.
const doNotWait = syscall.O_NONBLOCK

func copyOwner(file *os.File, from fs.FileInfo) error {
	want, ok := from.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if have, ok := info.Sys().(*syscall.Stat_t); ok && have.Uid == want.Uid && have.Gid == want.Gid {
		return nil
	}
	return file.Chown(int(want.Uid), int(want.Gid))
}

// settle makes the new name durable.
func (f *Folder) settle(name string) error {
	handle, err := f.root.Open(".")
	if err != nil {
		return f.fail(name, err)
	}
	err = handle.Sync()
	if closed := handle.Close(); err == nil {
		err = closed
	}
	if err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return f.fail(name, err)
	}
	return nil
}

func isFull(err error) bool     { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }
func isReadOnly(err error) bool { return errors.Is(err, syscall.EROFS) }
func isEnd(err error) bool      { return errors.Is(err, io.EOF) }
