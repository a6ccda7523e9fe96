//go:build unix

package store

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownedByUs refuses what another user owns, can read or write, or can reach
// under a second name.
func ownedByUs(path string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("%s: the system does not say who owns it", path)
	}
	if uid := os.Geteuid(); int(stat.Uid) != uid {
		return fmt.Errorf("%s belongs to uid %d, not to uid %d: state must be ours alone; choose another folder with --state-dir", path, stat.Uid, uid)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		private := 0o600
		if info.IsDir() {
			private = 0o700
		}
		return fmt.Errorf("%s has mode %04o, so others can reach it: run chmod %04o %s", path, mode, private, path)
	}
	if !info.IsDir() && stat.Nlink > 1 {
		return fmt.Errorf("%s has %d names (hard links): state must be ours alone; remove the others", path, stat.Nlink)
	}
	return nil
}

func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sync state directory: %w", err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync state directory: %w", err)
	}
	return nil
}

// tryLock reports whether the lock of the file was free and is now ours.
func tryLock(f *os.File) (bool, error) {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch err {
		case nil:
			return true, nil
		case unix.EWOULDBLOCK:
			return false, nil
		case unix.EINTR:
			continue
		}
		return false, err
	}
}
