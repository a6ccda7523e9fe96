package store

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// ownedByUs checks nothing here: mode bits say nothing on this system, and the
// folders of a user's profile are private to begin with.
func ownedByUs(string, fs.FileInfo) error { return nil }

// syncDir does nothing here: the system cannot sync a directory.
func syncDir(string) error { return nil }

// tryLock reports whether the lock of the file was free and is now ours. The
// locked byte is far behind the end, so that others can read the pid.
func tryLock(f *os.File) (bool, error) {
	at := &windows.Overlapped{Offset: 1 << 30}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}
