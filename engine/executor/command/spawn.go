//go:build linux || darwin || freebsd || netbsd || openbsd

package command

import (
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// spawner holds what all programs share.
type spawner struct {
	once    sync.Once
	null    int // an open /dev/null, the standard input of programs without any
	nullErr error
	// terminal says that the server has a terminal. A program then gets a
	// session of its own, so that it can neither read, write nor type there,
	// where an approver may sit; a group of its own is enough, and cheaper,
	// where there is none.
	terminal bool
	buffers  sync.Pool // of *[]byte
	masked   Masked    // may be nil
}

const bufferBytes = 64 << 10 // what a pipe holds on the reference system

func newSpawner(masked Masked) *spawner {
	return &spawner{masked: masked, buffers: sync.Pool{New: func() any { b := make([]byte, bufferBytes); return &b }}}
}

func (s *spawner) ready() error {
	s.once.Do(func() {
		closeOnExec()
		if tty, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0); err == nil {
			unix.Close(tty)
			s.terminal = true
		}
		s.null, s.nullErr = unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	})
	return s.nullErr
}

// fork starts the program. The reference system ends a program when the
// thread that started it ends, so the caller stays on its thread until the
// program has ended: then only the death of the whole server is one.
func (p *process) fork(files []uintptr, terminal bool) (err error) {
	exit := -1
	system := attributes(&exit)
	system.Setsid, system.Setpgid = terminal, !terminal
	p.pid, err = syscall.ForkExec(p.path, p.argv, &syscall.ProcAttr{
		Dir: p.cwd, Env: p.environ, Files: files, Sys: system,
	})
	if err == nil {
		p.exit = watch(p.pid, exit)
	}
	return err
}
