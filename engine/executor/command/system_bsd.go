//go:build darwin || freebsd || netbsd || openbsd

package command

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes: these systems do not end a program with the server that
// started it.
func attributes(*int) *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

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

// watch returns a descriptor that is readable once the program has ended. When
// there is none, the program has ended already, or waiting is left to reap.
func watch(pid, _ int) int {
	queue, err := unix.Kqueue()
	if err != nil {
		return -1
	}
	unix.CloseOnExec(queue)
	changes := make([]unix.Kevent_t, 1)
	unix.SetKevent(&changes[0], pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	changes[0].Fflags = unix.NOTE_EXIT
	if _, err := unix.Kevent(queue, changes, nil, nil); err != nil {
		unix.Close(queue)
		return -1
	}
	return queue
}

// hasExited is asked only when watch found the program ended.
func (p *process) hasExited() bool { return true }

// awaitExit leaves waiting to reap.
func awaitExit(int) {}
