package mask

import (
	"fmt"
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kept are the capabilities that programs of root keep: those over files and
// users. None of them mounts, traces, makes devices, opens files by number,
// loads code into the kernel or reaches another namespace.
func kept() []int {
	return []int{
		unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_KILL,
		unix.CAP_SETGID, unix.CAP_SETUID, unix.CAP_NET_BIND_SERVICE,
	}
}

// confine takes from this thread, and from all that it starts, what could lift
// the mask.
func confine() error {
	keep := kept()
	if os.Geteuid() != 0 {
		keep = nil
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("forbid new rights: %w", err)
	}
	// Keys of the session are not for programs. Kernels without any say so.
	if _, err := unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0); err != nil && err != unix.ENOSYS && err != unix.EPERM {
		return fmt.Errorf("leave the session's keys: %w", err)
	}
	for c := 0; c < 64; c++ {
		if slices.Contains(keep, c) {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); err == unix.EINVAL {
			break // there are no more
		} else if err != nil {
			return fmt.Errorf("give rights away: %w", err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("give rights away: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return fmt.Errorf("read own rights: %w", err)
	}
	var mask [2]uint32
	for _, c := range keep {
		mask[c/32] |= 1 << (c % 32)
	}
	for i := range data {
		data[i].Permitted &= mask[i]
		data[i].Effective = data[i].Permitted
		data[i].Inheritable = 0
	}
	if err := unix.Capset(&header, &data[0]); err != nil {
		return fmt.Errorf("give rights away: %w", err)
	}
	return nil
}

// apart binds this thread and what it starts. They reach no socket that has a
// name but no file, such as those of a desktop, by which keys could be typed
// into a terminal, and signal nothing but each other: not the runner, and not
// the programs of other calls. Older kernels cannot (Landlock before its
// version 6, Linux before 6.12): there a program can end the runner, which is
// started again.
func apart() error {
	if !scopes() {
		return nil
	}
	rules := struct{ files, network, scoped uint64 }{
		scoped: unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL,
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&rules)), unsafe.Sizeof(rules), 0)
	if errno != 0 {
		return fmt.Errorf("scope sockets and signals: %w", error(errno))
	}
	defer unix.Close(int(fd))
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("scope sockets and signals: %w", error(errno))
	}
	return nil
}

// scopes reports whether the kernel can do what apart asks of it.
func scopes() bool {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	return errno == 0 && version >= 6
}
