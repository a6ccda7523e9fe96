package mask

import (
	"errors"
	"os"
	"os/signal"
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxIdle is how many workers wait for programs when nothing happens.
const maxIdle = 8

// serve starts the programs. Each worker takes one from the socket, lives with
// it to its end, and takes the next: no thread is woken but the one that does
// the work. It is over when the server is.
func serve() {
	heed()
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	if _, err := unix.FcntlInt(controlFD, unix.F_SETFD, unix.FD_CLOEXEC); err != nil {
		syscall.Exit(1)
	}
	w := &workers{}
	w.idle.Store(1)
	go w.work()
	select {} // a worker ends the process
}

// heed takes all signals and does nothing: a program must not be able to end
// the runner of others. Ignoring them would be inherited by programs.
func heed() {
	all := make(chan os.Signal, 1)
	signal.Notify(all)
	// The runtime asks its own threads for a turn by this one.
	signal.Reset(unix.SIGURG)
}

type workers struct{ idle atomic.Int32 }

// work keeps its thread, which is set apart from those of other workers, and
// ends it when it is over.
func (w *workers) work() {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		// This thread stands for the process when it is signalled, so nothing
		// may be let near it.
		go w.work()
		select {}
	}
	if apart() != nil {
		syscall.Exit(1)
	}
	buffer := make([]byte, maxMessage)
	rights := make([]byte, unix.CmsgSpace(5*4))
	for {
		n, m, _, _, err := unix.Recvmsg(controlFD, buffer, rights, unix.MSG_CMSG_CLOEXEC)
		switch {
		case err == unix.EINTR || err == unix.EAGAIN:
			continue
		case err != nil || n == 0:
			syscall.Exit(0) // the server is gone
		}
		if w.idle.Add(-1) == 0 {
			w.idle.Add(1)
			go w.work()
		}
		attend(buffer[:n], rights[:m])
		if w.idle.Add(1) > maxIdle {
			w.idle.Add(-1)
			return
		}
	}
}

// attend runs one program to its end.
func attend(message, rights []byte) {
	fds := received(rights)
	if len(fds) < 4 {
		for _, fd := range fds {
			unix.Close(fd)
		}
		return
	}
	link := fds[3]
	defer unix.Close(link)
	pid, watch, err := spawn(message, fds)
	for i, fd := range fds {
		if i != 3 {
			unix.Close(fd)
		}
	}
	if err != nil {
		var number syscall.Errno
		if !errors.As(err, &number) {
			number = unix.EINVAL
		}
		tell(link, End{Errno: int(number)})
		return
	}
	listening := watched(pid, watch, link)
	unix.Close(watch)
	tell(link, ending(pid))
	for listening {
		listening = obey(pid, link)
	}
	reach(pid, unix.SIGKILL) // what is left of the group
	for {
		if _, err := unix.Wait4(pid, nil, 0, nil); err != unix.EINTR {
			return
		}
	}
}

func received(rights []byte) []int {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil || len(messages) == 0 {
		return nil
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return nil
	}
	return fds
}

func spawn(message []byte, fds []int) (pid, watch int, err error) {
	if len(fds) > 4 {
		var stat unix.Stat_t
		if err := unix.Fstat(fds[4], &stat); err != nil {
			return 0, -1, err
		}
		message = make([]byte, stat.Size)
		if n, err := unix.Pread(fds[4], message, 0); err != nil || n < len(message) {
			return 0, -1, errors.Join(errMessage, err)
		}
	}
	p, err := decode(message)
	if err != nil {
		return 0, -1, err
	}
	watch = -1
	pid, err = syscall.ForkExec(p.Path, p.Argv, &syscall.ProcAttr{
		Dir: p.Cwd, Env: p.Environ, Files: []uintptr{uintptr(fds[0]), uintptr(fds[1]), uintptr(fds[2])},
		Sys: &syscall.SysProcAttr{Setpgid: true, PidFD: &watch},
	})
	return pid, watch, err
}

// watched returns when the program has ended, its number still taken, and says
// whether the server still listens.
func watched(pid, watch, link int) (listening bool) {
	fds := []unix.PollFd{{Fd: int32(watch), Events: unix.POLLIN}, {Fd: int32(link), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(fds, -1); err != nil && err != unix.EINTR {
			return fds[1].Fd >= 0
		}
		if fds[1].Revents != 0 && !obey(pid, link) {
			reach(pid, unix.SIGKILL)
			fds[1].Fd = -1
		}
		if fds[0].Revents != 0 {
			return fds[1].Fd >= 0
		}
		fds[0].Revents, fds[1].Revents = 0, 0
	}
}

// obey passes one signal on. It is false when the server closed the link.
func obey(pid, link int) bool {
	var order [1]byte
	n, err := unix.Read(link, order[:])
	switch {
	case err == unix.EINTR || err == unix.EAGAIN:
		return true
	case err != nil || n == 0:
		return false
	}
	reach(pid, unix.Signal(order[0]))
	return true
}

// reach signals the group, and the program itself should it have left it.
func reach(pid int, s unix.Signal) {
	_ = unix.Kill(-pid, s)
	_ = unix.Kill(pid, s)
}

// ending asks how a program ended and leaves its number taken.
func ending(pid int) End {
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return End{Signal: int(unix.SIGKILL)}
		}
		break
	}
	// The fields of a child follow the head, aligned as a pointer is: the
	// number of the process, its user, and how it ended.
	const head, word = 12, unsafe.Sizeof(uintptr(0))
	const at = (head+word-1)/word*word + 8
	status := int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), at)))
	const exited = 1 // CLD_EXITED
	if info.Code == exited {
		return End{Code: status}
	}
	return End{Signal: status}
}

func tell(link int, e End) {
	_ = unix.Sendto(link, e.encode(), unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, nil)
}
