//go:build unix

package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	socketName = "control.sock"
	// elsewhereName is a file that holds the path of the socket when the
	// state folder's own is too long for an address.
	elsewhereName = "control.path"
	// longest is what every Unix takes as the path of a socket: darwin has
	// 104 bytes with the final NUL, Linux 108.
	longest = 103
)

// Listen opens the socket of a state folder, which must be private and owned
// by this process: what an owner before has left behind is removed. Environ
// gives the folder for sockets when the path is too long.
func Listen(dir string, environ func(string) string) (net.Listener, error) {
	if err := removeStale(dir); err != nil {
		return nil, err
	}
	path, folder := filepath.Join(dir, socketName), ""
	if len(path) > longest {
		var err error
		if folder, err = shortFolder(environ); err != nil {
			return nil, err
		}
		path = filepath.Join(folder, socketName)
		if err := os.WriteFile(filepath.Join(dir, elsewhereName), []byte(path), 0o600); err != nil {
			_ = os.Remove(folder)
			return nil, fmt.Errorf("note where the socket is: %w", err)
		}
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen for commands: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = listener.Close()
		return nil, fmt.Errorf("make the socket private: %w", err)
	}
	if folder == "" {
		return listener, nil
	}
	return &elsewhere{Listener: listener, folder: folder, note: filepath.Join(dir, elsewhereName)}, nil
}

// removeStale removes the socket of an owner that is no more.
func removeStale(dir string) error {
	path, err := socketPath(dir)
	if err != nil {
		return err
	}
	within := filepath.Dir(path) == dir
	// Elsewhere, somebody else may have taken the place: then it is not used.
	if err := os.Remove(path); err != nil && within && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the socket of an earlier server: %w", err)
	}
	if !within {
		_ = os.Remove(filepath.Dir(path)) // it is empty, or not ours to remove
		_ = os.Remove(filepath.Join(dir, elsewhereName))
	}
	return nil
}

// shortFolder makes a private folder whose path is short.
func shortFolder(environ func(string) string) (string, error) {
	var reasons []error
	for _, parent := range []string{environ("XDG_RUNTIME_DIR"), "/tmp"} {
		if parent == "" || len(parent)+len("/writ-4294967295/")+len(socketName) > longest {
			continue
		}
		folder, err := os.MkdirTemp(parent, "writ-") // 0700
		if err == nil {
			return folder, nil
		}
		reasons = append(reasons, err)
	}
	return "", fmt.Errorf("make a folder for the socket: %w", errors.Join(reasons...))
}

// socketPath is where the owner listens, or would.
func socketPath(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, elsewhereName))
	if errors.Is(err, fs.ErrNotExist) {
		return filepath.Join(dir, socketName), nil
	}
	if err != nil {
		return "", fmt.Errorf("read where the socket is: %w", err)
	}
	path := strings.TrimSpace(string(text))
	if !filepath.IsAbs(path) || filepath.Base(path) != socketName {
		return "", fmt.Errorf("%s does not name a socket: remove it", filepath.Join(dir, elsewhereName))
	}
	return path, nil
}

func dial(ctx context.Context, dir string) (net.Conn, error) {
	path, err := socketPath(dir)
	if err != nil {
		return nil, err
	}
	if len(path) > longest {
		return nil, ErrNobody // whoever listens would have noted a shorter one
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil, ErrNobody
	}
	if err != nil {
		return nil, fmt.Errorf("reach the running server: %w", err)
	}
	return conn, nil
}

// elsewhere is a listener outside the state folder.
type elsewhere struct {
	net.Listener
	folder, note string
}

// Close also removes the folder and the note.
func (e *elsewhere) Close() error {
	err := e.Listener.Close()
	_ = os.Remove(e.folder)
	_ = os.Remove(e.note)
	return err
}

// samePeer refuses a connection whose other end belongs to another user.
func samePeer(conn net.Conn) error {
	raw, ok := conn.(syscall.Conn)
	if !ok {
		return errors.New("the connection does not tell who is at the other end")
	}
	access, err := raw.SyscallConn()
	if err != nil {
		return fmt.Errorf("ask who is at the other end: %w", err)
	}
	uid, asked := -1, error(nil)
	if err := access.Control(func(fd uintptr) { uid, asked = peer(int(fd)) }); err != nil {
		return fmt.Errorf("ask who is at the other end: %w", err)
	}
	if asked != nil {
		return fmt.Errorf("ask who is at the other end: %w", asked)
	}
	if uid != os.Geteuid() {
		return fmt.Errorf("the other end belongs to user %d", uid)
	}
	return nil
}
