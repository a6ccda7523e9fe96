package secret

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
)

var errTooLong = errors.New("too long")

// ReadFile reads a regular file of at most MaxBytes and a line end, and the
// permission bits that the opened file has. Windows has no such bits: there it
// reports 0600.
func ReadFile(path string) ([]byte, fs.FileMode, error) {
	// Opening a pipe waits for a writer, and with it would the whole reload.
	seen, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	if !seen.Mode().IsRegular() {
		return nil, 0, &fs.PathError{Op: "read", Path: path, Err: fs.ErrInvalid}
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, 0, err
	}
	if !os.SameFile(seen, info) {
		return nil, 0, &fs.PathError{Op: "read", Path: path, Err: fs.ErrInvalid}
	}
	data, err := io.ReadAll(io.LimitReader(file, MaxBytes+3))
	if err != nil {
		return nil, 0, err
	}
	if len(data) > MaxBytes+2 {
		return nil, 0, errTooLong
	}
	mode := info.Mode()
	if runtime.GOOS == "windows" {
		mode = 0o600
	}
	return data, mode, nil
}
