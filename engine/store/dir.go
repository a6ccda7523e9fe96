package store

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/writ-dev/writ/engine/audit"
)

// maxSecret bounds a secret file, in bytes.
const maxSecret = 4096

// Dir is a state directory that was checked: it is ours alone. Unlike a Store
// it is not owned, so any number of processes may have one.
type Dir struct{ path string }

// OpenDir checks the directory, creating it (0700) when it is missing. An empty
// directory of ours is made private first: nobody can have put anything there
// that we would read, and people make them with mkdir.
func OpenDir(path string) (Dir, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return Dir{}, fmt.Errorf("state directory: %w", err)
	}
	if err := os.MkdirAll(absolute, 0o700); err != nil {
		return Dir{}, fmt.Errorf("create state directory: %w; choose another with --state-dir", err)
	}
	info, err := os.Lstat(absolute)
	if err != nil {
		return Dir{}, fmt.Errorf("state directory: %w", err)
	}
	if !info.IsDir() {
		return Dir{}, fmt.Errorf("state directory %s is %s, not a directory; choose another with --state-dir", absolute, kindOf(info))
	}
	if err := ownedByUs(absolute, info); err != nil {
		entries, unread := os.ReadDir(absolute)
		if unread != nil || len(entries) > 0 || os.Chmod(absolute, 0o700) != nil {
			return Dir{}, err
		}
		if info, err = os.Lstat(absolute); err != nil {
			return Dir{}, fmt.Errorf("state directory: %w", err)
		}
		if err := ownedByUs(absolute, info); err != nil {
			return Dir{}, err
		}
	}
	return Dir{path: absolute}, nil
}

// Path is the absolute path.
func (d Dir) Path() string { return d.path }

// Secret reads the secret file name. When there is none yet, make gives its
// content, and the first of several processes wins.
func (d Dir) Secret(name string, make func() ([]byte, error)) ([]byte, error) {
	data, err := d.read(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return data, err
	}
	data, err = make()
	if err != nil {
		return nil, err
	}
	err = d.write(name, data, os.Link)
	if errors.Is(err, fs.ErrExist) {
		return d.read(name)
	}
	return data, err
}

// ReplaceSecret puts data in the place of the secret file name, whether or not
// there is one. Readers see the old content or the new one.
func (d Dir) ReplaceSecret(name string, data []byte) error { return d.write(name, data, os.Rename) }

// Key is the digest key of this directory, made when it is first asked for.
func (d Dir) Key() (audit.Key, error) {
	secret, err := d.Secret(keyName, func() ([]byte, error) {
		secret := make([]byte, audit.KeySize)
		_, err := rand.Read(secret)
		return secret, err
	})
	if err != nil {
		return audit.Key{}, err
	}
	key, err := audit.NewKey(secret)
	if err != nil {
		return audit.Key{}, fmt.Errorf("%s: %w; remove the file, and older digests can no longer be compared", d.join(keyName), err)
	}
	return key, nil
}

// signingKey signs the marks of the audit chain. It is made when it is first
// asked for.
func (d Dir) signingKey() (ed25519.PrivateKey, error) {
	seed, err := d.Secret(signName, func() ([]byte, error) {
		seed := make([]byte, ed25519.SeedSize)
		_, err := rand.Read(seed)
		return seed, err
	})
	if err != nil {
		return nil, err
	}
	if len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("%s has %d bytes, not %d; restore it from a copy, or remove it, and older signatures can no longer be checked",
			d.join(signName), len(seed), ed25519.SeedSize)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

func (d Dir) join(name string) string { return filepath.Join(d.path, name) }

// check refuses a file of the directory that is not a plain private file. A
// missing one is fine.
func (d Dir) check(name string) error {
	info, err := os.Lstat(d.join(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("state file: %w", err)
	}
	return d.checkInfo(name, info)
}

func (d Dir) checkInfo(name string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("state file %s is %s, not a plain file; remove it", d.join(name), kindOf(info))
	}
	return ownedByUs(d.join(name), info)
}

func (d Dir) create(name string) error {
	f, err := os.OpenFile(d.join(name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("create state file: %w", err)
	}
	return f.Close()
}

func (d Dir) read(name string) ([]byte, error) {
	if err := d.check(name); err != nil {
		return nil, err
	}
	f, err := os.Open(d.join(name))
	if err != nil {
		return nil, fmt.Errorf("state file: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("state file: %w", err)
	}
	if err := d.checkInfo(name, info); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return nil, fmt.Errorf("state file %s: %w", d.join(name), err)
	}
	if len(data) > maxSecret {
		return nil, fmt.Errorf("state file %s is larger than %d bytes; remove it", d.join(name), maxSecret)
	}
	return data, nil
}

// write makes a complete, synced file and moves it to its place with place,
// which decides what happens when there is one already.
func (d Dir) write(name string, data []byte, place func(from, to string) error) (err error) {
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		return fmt.Errorf("name of a temporary file: %w", err)
	}
	temporary := d.join("." + name + "." + hex.EncodeToString(random[:]))
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write state file: %w", err)
	}
	defer os.Remove(temporary)
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write state file: %w", err)
	}
	if err := place(temporary, d.join(name)); err != nil {
		return fmt.Errorf("write state file: %w", err)
	}
	return syncDir(d.path)
}

func kindOf(info fs.FileInfo) string {
	switch {
	case info.IsDir():
		return "a directory"
	case info.Mode()&fs.ModeSymlink != 0:
		return "a symbolic link"
	case info.Mode().IsRegular():
		return "a file"
	}
	return "a special file"
}
