//go:build linux || darwin || freebsd || netbsd || openbsd

package command

import (
	"time"

	"golang.org/x/sys/unix"
)

// look is how often the end of a program is asked for on systems that cannot
// tell it.
const look = 20 * time.Millisecond

// attend feeds the program, reads what it prints, and returns when it has
// ended and nothing holds its pipes. What holds them for longer than the grace
// is ended with the rest of the group; what left the group is left alone, and
// no longer read.
func (p *process) attend(buffer []byte) (lingered bool) {
	body := &sink{to: p.body, redactor: p.stream(), lines: p.lines}
	errors := &sink{to: p.errors, redactor: p.stream()}
	defer body.end()
	defer errors.end()
	exited := false
	var until time.Time // the patience with whatever still holds the pipes
	for !exited || p.stdout >= 0 || p.stderr >= 0 {
		fds := []unix.PollFd{
			{Fd: int32(p.stdout), Events: unix.POLLIN}, {Fd: int32(p.stderr), Events: unix.POLLIN},
			{Fd: int32(p.stdin), Events: unix.POLLOUT}, {Fd: int32(p.exit), Events: unix.POLLIN},
		}
		if _, err := unix.Poll(fds, p.patience(exited, until)); err != nil && err != unix.EINTR && err != unix.EAGAIN {
			break
		}
		if fds[0].Revents != 0 {
			read(&p.stdout, buffer, body)
		}
		if fds[1].Revents != 0 {
			read(&p.stderr, buffer, errors)
		}
		if fds[2].Revents != 0 {
			p.feed()
		}
		switch {
		case !exited && (fds[3].Revents != 0 || p.exit < 0 && p.hasExited()):
			exited, until = true, time.Now().Add(p.grace)
			p.over()
			shut(&p.stdin)
		case exited && !lingered && time.Now().After(until):
			lingered, until = true, time.Now().Add(p.grace)
			p.signal(unix.SIGKILL)
		case exited && lingered && time.Now().After(until):
			p.escaped = true
			shut(&p.stdout)
			shut(&p.stderr)
		}
	}
	if p.link >= 0 {
		if !exited {
			p.over()
		}
		return lingered
	}
	if !exited {
		awaitExit(p.pid)
	}
	_ = unix.Kill(-p.pid, unix.SIGKILL) // what is left of the group, without pipes
	return lingered
}

// patience is the time that poll may wait, in milliseconds; -1 is for ever.
func (p *process) patience(exited bool, until time.Time) int {
	switch {
	case exited:
		return max(1, int(time.Until(until).Milliseconds())+1)
	case p.exit < 0:
		return int(look.Milliseconds())
	}
	return -1
}

// read takes what a pipe has, or closes it at its end.
func read(fd *int, buffer []byte, to *sink) {
	n, err := unix.Read(*fd, buffer)
	switch {
	case n > 0:
		to.write(buffer[:n])
	case err == unix.EINTR || err == unix.EAGAIN:
	default:
		shut(fd)
	}
}

// feed writes standard input. A program that does not read it all is free to.
func (p *process) feed() {
	n, err := unix.Write(p.stdin, []byte(p.input[:min(len(p.input), 64<<10)]))
	if n > 0 {
		p.input = p.input[n:]
	}
	if p.input == "" || err != nil && err != unix.EINTR && err != unix.EAGAIN {
		shut(&p.stdin)
	}
}
