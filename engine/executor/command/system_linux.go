package command

import (
	"math"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes: the death of the server ends the program.
func attributes(exit *int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, PidFD: exit}
}

// watch returns a descriptor that is readable once the program has ended, or
// -1 where the kernel is too old for one.
func watch(_, exit int) int { return exit }

// hasExited asks for the end of the program and leaves its number taken.
func (p *process) hasExited() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, p.pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	return err == nil && info.Signo != 0 || err == unix.ECHILD
}

// closeOnExec keeps descriptors that the server itself was started with from
// reaching programs. Old kernels lack the call; Go's own are safe anyway.
func closeOnExec() {
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
}

func pipe() (r, w int, err error) {
	var fds [2]int
	err = unix.Pipe2(fds[:], unix.O_CLOEXEC)
	return fds[0], fds[1], err
}

// awaitExit returns when a program has ended, leaving its number taken, so
// that its group can be signalled without hitting anybody else.
func awaitExit(pid int) {
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}
