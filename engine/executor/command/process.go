//go:build linux || darwin || freebsd || netbsd || openbsd

package command

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
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
	p := &process{start: st, drained: make(chan struct{}, 2)}
	defer p.close()
	files, err := p.open(s)
	if err != nil {
		return end{}, err
	}
	err = s.start(p, files)
	p.closeTheirs()
	if err != nil {
		return end{}, err
	}
	stop := context.AfterFunc(ctx, p.terminate)
	go p.drain(p.stdout, st.body, st.lines)
	go p.drain(p.stderr, st.errors, nil)
	if p.stdin != nil {
		go p.feed()
	}
	awaitExit(p.pid)
	stop()
	lingered := p.settle()
	return p.reap(lingered)
}

// process is one running program. Our ends of its pipes are files, theirs are
// descriptors that are closed once it has them.
type process struct {
	start
	pid                   int
	stdin, stdout, stderr *os.File
	theirs                []int
	drained               chan struct{}

	mu      sync.Mutex
	reaped  bool // the number may belong to another process
	stopped bool
	kill    *time.Timer
}

// open makes the pipes and returns the descriptors 0, 1 and 2 of the program.
func (p *process) open(s *spawner) ([]uintptr, error) {
	stdin, err := s.null()
	if err != nil {
		return nil, err
	}
	if p.input != "" {
		r, w, err := pipe()
		if err != nil {
			return nil, err
		}
		p.theirs = append(p.theirs, r)
		p.stdin, stdin = ours(w), r
	}
	outRead, out, err := pipe()
	if err != nil {
		return nil, err
	}
	p.theirs = append(p.theirs, out)
	p.stdout = ours(outRead)
	errRead, errWrite, err := pipe()
	if err != nil {
		return nil, err
	}
	p.theirs = append(p.theirs, errWrite)
	p.stderr = ours(errRead)
	return []uintptr{uintptr(stdin), uintptr(out), uintptr(errWrite)}, nil
}

// ours turns a descriptor into a file that can be given up waiting for.
func ours(fd int) *os.File {
	// An error leaves the file blocking; it then cannot be given up, but works.
	_ = unix.SetNonblock(fd, true)
	return os.NewFile(uintptr(fd), "pipe")
}

func (p *process) closeTheirs() {
	for _, fd := range p.theirs {
		unix.Close(fd)
	}
	p.theirs = nil
}

func (p *process) close() {
	p.closeTheirs()
	for _, f := range []*os.File{p.stdin, p.stdout, p.stderr} {
		if f != nil {
			f.Close()
		}
	}
}

func (p *process) drain(from *os.File, to *capture, lines func(int64)) {
	drain(from, to, p.stream(), lines)
	p.drained <- struct{}{}
}

// feed writes standard input. A program that does not read it all is free to.
func (p *process) feed() {
	_, _ = p.stdin.WriteString(p.input)
	p.stdin.Close()
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
	_ = unix.Kill(-p.pid, s)
	_ = unix.Kill(p.pid, s)
}

// settle is called when the program has ended but still holds its number. It
// reads what is left in the pipes, for a short time should something else hold
// them, and ends what is left of the group.
func (p *process) settle() (lingered bool) {
	var timer *time.Timer
	for left := 2; left > 0; {
		select {
		case <-p.drained:
			left--
			continue
		default:
		}
		if timer == nil {
			timer = time.NewTimer(p.grace)
			defer timer.Stop()
		}
		select {
		case <-p.drained:
			left--
		case <-timer.C:
			lingered = true
			p.signal(unix.SIGKILL)
			p.stdout.SetReadDeadline(time.Now().Add(p.grace / 10))
			p.stderr.SetReadDeadline(time.Now().Add(p.grace / 10))
			timer.Reset(time.Hour) // the deadlines end the waiting
		}
	}
	_ = unix.Kill(-p.pid, unix.SIGKILL)
	return lingered
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
	e := end{code: status.ExitStatus(), stopped: p.stopped, lingered: lingered}
	if status.Signaled() {
		e.signal = strings.TrimPrefix(unix.SignalName(status.Signal()), "SIG")
	}
	return e, nil
}
