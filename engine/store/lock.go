package store

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// InUseError says that another process owns the state directory.
type InUseError struct {
	Dir string
	PID int // 0 when the owner did not say
}

func (e *InUseError) Error() string {
	owner := "another process"
	if e.PID > 0 {
		owner = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("state directory %s is in use by %s: stop it, or choose another folder with --state-dir", e.Dir, owner)
}

// fileLock is the ownership of a state directory. The system ends it with the
// process, however that ends.
type fileLock struct{ file *os.File }

func (d Dir) lock() (*fileLock, error) {
	if err := d.check(lockName); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(d.join(lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock state directory: %w", err)
	}
	ours, err := tryLock(f)
	if err == nil && ours {
		err = writePID(f)
	}
	switch {
	case err != nil:
		f.Close()
		return nil, fmt.Errorf("lock state directory %s: %w", d.path, err)
	case !ours:
		defer f.Close()
		return nil, &InUseError{Dir: d.path, PID: readPID(f)}
	}
	return &fileLock{file: f}, nil
}

func (l *fileLock) release() error { return l.file.Close() }

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

func readPID(f *os.File) int {
	text, err := io.ReadAll(io.LimitReader(f, 32))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid < 0 {
		return 0
	}
	return pid
}
