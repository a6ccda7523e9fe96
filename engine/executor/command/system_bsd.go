//go:build darwin || freebsd || netbsd || openbsd

package command

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes: these systems do not end a program with the server that
// started it.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func closeOnExec() {}

func pipe() (r, w int, err error) {
	var fds [2]int
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err = unix.Pipe(fds[:]); err != nil {
		return 0, 0, err
	}
	unix.CloseOnExec(fds[0])
	unix.CloseOnExec(fds[1])
	return fds[0], fds[1], nil
}

// awaitExit returns when a program has ended, leaving its number taken, so
// that its group can be signalled without hitting anybody else. Where the
// system cannot say so, it returns at once and waiting is left to reap.
func awaitExit(pid int) {
	queue, err := unix.Kqueue()
	if err != nil {
		return
	}
	defer unix.Close(queue)
	unix.CloseOnExec(queue)
	changes := make([]unix.Kevent_t, 1)
	unix.SetKevent(&changes[0], pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	changes[0].Fflags = unix.NOTE_EXIT
	for {
		if _, err := unix.Kevent(queue, changes, make([]unix.Kevent_t, 1), nil); err != unix.EINTR {
			return // an error means that the program has ended already
		}
	}
}
