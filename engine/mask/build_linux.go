package mask

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// builder is the first process of the namespaces: it builds the mask, gives
// its rights away, starts the spawner, and from then on only waits for what
// others left behind. Its end is the end of everything in the namespaces.
func builder() {
	runtime.LockOSThread()
	heed()
	notes, err := build()
	if err == nil {
		err = confine()
	}
	var spawner int
	if err == nil {
		spawner, err = unshared()
	}
	a := answer{Notes: notes}
	if err != nil {
		a.Error = err.Error()
	}
	message, _ := json.Marshal(a)
	_ = unix.Sendto(controlFD, message, unix.MSG_NOSIGNAL, nil)
	unix.Close(controlFD)
	if err != nil {
		syscall.Exit(1)
	}
	for {
		pid, err := unix.Wait4(-1, nil, 0, nil)
		if pid == spawner || err != nil && err != unix.EINTR {
			syscall.Exit(0)
		}
	}
}

// unshared starts the spawner from the thread that gave its rights away.
func unshared() (pid int, err error) {
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("open /dev/null: %w", err)
	}
	defer unix.Close(null)
	files := []uintptr{uintptr(null), uintptr(null), uintptr(null), controlFD}
	pid, err = syscall.ForkExec("/proc/self/exe", []string{asSpawner}, &syscall.ProcAttr{
		Dir: "/", Env: []string{"GOTRACEBACK=none", "GOMAXPROCS=2"}, Files: files,
	})
	if err != nil {
		return 0, fmt.Errorf("start the spawner: %w", err)
	}
	return pid, nil
}

func build() (notes []string, err error) {
	unix.CloseOnExec(controlFD)
	unix.CloseOnExec(planFD)
	file := os.NewFile(planFD, "plan")
	defer file.Close()
	data, err := io.ReadAll(io.NewSectionReader(file, 0, 1<<30))
	if err != nil {
		return nil, fmt.Errorf("read plan of mask: %w", err)
	}
	s := &scene{root: os.Geteuid() == 0}
	if err := json.Unmarshal(data, &s.plan); err != nil {
		return nil, fmt.Errorf("read plan of mask: %w", err)
	}
	for _, step := range []func() error{s.part, s.take, s.freeze, s.devices, s.processes, s.hide, s.place, s.lock, s.settle} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	if !scopes() {
		s.notes = append(s.notes, "this kernel (before Linux 6.12, or without Landlock) cannot keep programs from sockets without a file, such as those of a desktop")
	}
	return s.notes, os.Chdir("/")
}
