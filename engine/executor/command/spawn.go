//go:build linux || darwin || freebsd || netbsd || openbsd

package command

import (
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// spawner starts programs from one thread that never ends. The reference
// system ends a program when the thread that started it does, so that must not
// be a thread that the runtime may retire; and when the whole server dies,
// every program dies with it.
type spawner struct {
	once     sync.Once
	requests chan request
	nullOnce sync.Once
	nullFD   int
	nullErr  error
}

type request struct {
	process *process
	files   []uintptr
	answer  chan<- error
}

func newSpawner() *spawner { return &spawner{requests: make(chan request)} }

func (s *spawner) start(p *process, files []uintptr) error {
	s.once.Do(func() { go s.serve() })
	answer := make(chan error, 1)
	s.requests <- request{p, files, answer}
	return <-answer
}

func (s *spawner) serve() {
	runtime.LockOSThread()
	closeOnExec()
	for r := range s.requests {
		var err error
		r.process.pid, err = syscall.ForkExec(r.process.path, r.process.argv, &syscall.ProcAttr{
			Dir: r.process.cwd, Env: r.process.environ, Files: r.files, Sys: attributes(),
		})
		r.answer <- err
	}
}

// null is an open /dev/null, which programs without input share.
func (s *spawner) null() (int, error) {
	s.nullOnce.Do(func() {
		s.nullFD, s.nullErr = unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	})
	return s.nullFD, s.nullErr
}
