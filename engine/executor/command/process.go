//go:build linux || darwin || freebsd || netbsd || openbsd

package command

import (
	"context"
	"errors"
	"io/fs"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/writ-dev/writ/engine/mask"
)

func unavailable() string { return "" }

// numbers are the device and the inode of a file.
func numbers(info fs.FileInfo) (device, inode int64) {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int64(stat.Dev), int64(stat.Ino)
	}
	return 0, 0
}

// reasonOf says in words for callers why a program could not be started.
func reasonOf(err error) string {
	switch {
	case errors.Is(err, errHidden):
		return errHidden.Error()
	case errors.Is(err, unix.ENOENT):
		return "the program, its interpreter or the folder to work in is not there any more"
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return "the server may not execute the program"
	case errors.Is(err, unix.E2BIG):
		return "the arguments are more than a program can be given"
	case errors.Is(err, unix.ENOEXEC):
		return "the file is not a program"
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOMEM), errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return errTooMany.Error()
	}
	return "the program could not be started"
}

// run starts a program and returns when it has ended and has been waited for.
func (s *spawner) run(ctx context.Context, st start) (end, error) {
	if err := s.ready(); err != nil {
		return end{}, err
	}
	p := &process{start: st, exit: -1, link: -1, stdin: -1, stdout: -1, stderr: -1}
	defer p.close()
	files, err := p.open(s.null)
	if err != nil {
		return end{}, err
	}
	buffer := s.buffers.Get().(*[]byte)
	defer s.buffers.Put(buffer)
	if s.masked != nil && s.masked.Available() {
		return p.liveMasked(ctx, s.masked, files, *buffer)
	}
	lingered, err := p.live(ctx, files, s.terminal, *buffer)
	if err != nil {
		return end{}, err
	}
	return p.reap(lingered)
}

// process is one running program. It is attended from one thread, with one
// poll for all that it does: for short programs the goroutines and wake-ups
// that this saves cost as much as the program.
type process struct {
	start
	pid                         int
	exit, stdin, stdout, stderr int       // our ends; -1 when closed
	theirs                      []int     // closed once the program has them
	link                        mask.Link // instead of pid, when the program is masked; else -1
	masked                      mask.End  // how a masked program ended
	escaped                     bool      // something left the group with a pipe

	mu      sync.Mutex
	reaped  bool // the number may belong to another process
	stopped bool
	kill    *time.Timer
}

// open makes the pipes and returns the descriptors 0, 1 and 2 of the program.
func (p *process) open(stdin int) ([]uintptr, error) {
	var out, errors int
	var err error
	if p.input != "" {
		if stdin, p.stdin, err = pipe(); err != nil {
			return nil, err
		}
		p.theirs = append(p.theirs, stdin)
		if err = unix.SetNonblock(p.stdin, true); err != nil {
			return nil, err
		}
	}
	if p.stdout, out, err = pipe(); err != nil {
		return nil, err
	}
	p.theirs = append(p.theirs, out)
	if p.stderr, errors, err = pipe(); err != nil {
		return nil, err
	}
	p.theirs = append(p.theirs, errors)
	return []uintptr{uintptr(stdin), uintptr(out), uintptr(errors)}, nil
}

func shut(fd *int) {
	if *fd >= 0 {
		unix.Close(*fd)
		*fd = -1
	}
}

func (p *process) closeTheirs() {
	for i := range p.theirs {
		shut(&p.theirs[i])
	}
}

func (p *process) close() {
	p.closeTheirs()
	for _, fd := range []*int{&p.exit, &p.stdin, &p.stdout, &p.stderr} {
		shut(fd)
	}
}

// live starts the program and returns when it has ended and its pipes are
// read. The number of the program stays taken. All of it happens on one
// thread: see fork.
func (p *process) live(ctx context.Context, files []uintptr, terminal bool, buffer []byte) (lingered bool, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err = p.fork(files, terminal)
	p.closeTheirs()
	if err != nil {
		return false, err
	}
	stop := context.AfterFunc(ctx, p.terminate)
	defer stop()
	return p.attend(buffer), nil
}

// terminate asks the group to end, and ends it after the grace.
func (p *process) terminate() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return
	}
	p.stopped = true
	p.signal(unix.SIGTERM)
	p.kill = time.AfterFunc(p.grace, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.reaped {
			p.signal(unix.SIGKILL)
		}
	})
}

// signal reaches the group, and the program itself should it have left it.
func (p *process) signal(s unix.Signal) {
	if p.link >= 0 {
		p.link.Signal(s)
		return
	}
	_ = unix.Kill(-p.pid, s)
	_ = unix.Kill(p.pid, s)
}

// reap frees the number and says how the program ended.
func (p *process) reap(lingered bool) (end, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var status unix.WaitStatus
	for {
		_, err := unix.Wait4(p.pid, &status, 0, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return end{}, err
		}
		break
	}
	p.reaped = true
	if p.kill != nil {
		p.kill.Stop()
	}
	e := end{code: status.ExitStatus(), stopped: p.stopped, lingered: lingered, escaped: p.escaped}
	if status.Signaled() {
		e.signal = strings.TrimPrefix(unix.SignalName(status.Signal()), "SIG")
	}
	return e, nil
}
