package mask

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// attack tries everything and names what worked.
func attack(args []string) {
	var to target
	if err := json.Unmarshal([]byte(args[0]), &to); err != nil {
		fmt.Println(err)
		return
	}
	worked := 0
	for _, a := range []struct {
		name string
		try  func() bool
	}{
		{"read the key", func() bool { return reads(to.State + "/key") }},
		{"read the database", func() bool { return reads(to.State + "/writ.db") }},
		{"make a state file", func() bool { return writes(to.State + "/new") }},
		{"read the configuration", func() bool { return reads(to.Config) }},
		{"write the configuration", func() bool { return writes(to.Config) }},
		{"replace the configuration", func() bool { return replaces(to.Config) }},
		{"move the folder of the configuration", func() bool {
			return os.Rename(filepath.Dir(to.Config), to.Project+"/away") == nil
		}},
		{"speak to the control socket", func() bool { return connects(to.Socket) }},
		{"speak to a socket in /tmp", func() bool { return connects(to.Tmux) }},
		{"speak to a socket without a file", func() bool { return scopes() && connects(to.Abstract) }},
		{"read another file of /tmp", func() bool { return reads(to.Other) }},
		{"read the start-up file", func() bool { return reads(to.Home + "/.bashrc") }},
		{"write the start-up file", func() bool { return os.Geteuid() >= 0 && writes(to.Home+"/.bashrc") && lasting(to.Home) }},
		{"signal the server", func() bool { return to.Server > 64 && unix.Kill(to.Server, 0) == nil }},
		{"trace the server", func() bool { return traces(to.Server) }},
		{"trace the runner", func() bool { return traces(1) || traces(os.Getppid()) }},
		{"read an environment", environment},
		{"reach a view through the runner", func() bool { return reads("/proc/1/root"+to.State+"/key") || reads("/proc/1/environ") }},
		{"find the server", func() bool { return finds(to.Server) }},
		{"unmount the mask", func() bool {
			return unix.Unmount("/tmp", unix.MNT_DETACH) == nil || unix.Unmount(filepath.Dir(to.Config), unix.MNT_DETACH) == nil || unix.Unmount("/run", 0) == nil
		}},
		{"make the mask writable", func() bool {
			return unix.Mount("", "/run", "", unix.MS_REMOUNT|unix.MS_BIND, "") == nil
		}},
		{"unmount in another namespace", func() bool { return nested(to) }},
		{"make a device", func() bool { return unix.Mknod(to.Project+"/disk", unix.S_IFBLK|0o600, int(unix.Mkdev(1, 0))) == nil }},
		{"read a disk", disks},
		{"open a terminal of the user", terminals},
		{"change the kernel", func() bool {
			return opens("/proc/sys/kernel/core_pattern") || opens("/proc/sysrq-trigger") || opens("/sys/kernel/uevent_helper")
		}},
		{"change what everybody runs", func() bool { return writes("/etc/profile.d/mask-test.sh") || writes("/usr/bin/mask-test") }},
		{"gain rights", func() bool { return unix.Prctl(unix.PR_CAPBSET_READ, unix.CAP_SYS_ADMIN, 0, 0, 0) == nil && capable() }},
	} {
		if a.try() {
			worked++
			fmt.Println("could", a.name)
		}
	}
	if worked == 0 {
		fmt.Println("nothing worked")
	}
}

func reads(path string) bool {
	data, err := os.ReadFile(path)
	return err == nil && len(data) > 0
}

func opens(path string) bool {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		file.Close()
	}
	return err == nil
}

func writes(path string) bool { return os.WriteFile(path, []byte("mine"), 0o600) == nil }

// lasting is false for what a private /tmp holds: it ends with the runner, and
// who started this looks at the true file.
func lasting(path string) bool { return !strings.HasPrefix(path, "/tmp/") }

func replaces(path string) bool {
	return os.Remove(path) == nil || writes(path+".new") && os.Rename(path+".new", path) == nil
}

func connects(name string) bool {
	conn, err := net.Dial("unix", name)
	if err == nil {
		conn.Close()
	}
	return err == nil
}

func traces(pid int) bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return unix.PtraceSeize(pid) == nil
}

func environment() bool {
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range paths {
		if data, err := os.ReadFile(path); err == nil && bytes.Contains(data, []byte("in-the-environment-of-the-server")) {
			return true
		}
	}
	return len(paths) == 0
}

func finds(server int) bool {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(server) + "/cmdline")
	return err == nil && bytes.Contains(line, []byte("/server\x00be\x00"))
}

// nested tries from namespaces of its own, where it may do everything.
func nested(to target) bool {
	done := make(chan bool)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread is spoilt
		if syscall.Unshare(syscall.CLONE_FS|syscall.CLONE_NEWNS) == nil {
			done <- true
			return
		}
		done <- false
	}()
	if <-done {
		return true
	}
	attributes := &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}
	script := "umount -l /tmp || umount -l /run || umount -l " + filepath.Dir(to.Config) + " || umount -l " + to.Config
	pid, err := syscall.ForkExec("/bin/sh", []string{"sh", "-c", "(" + script + ") 2>/dev/null"}, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: attributes})
	if err != nil {
		return false // not even that
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil {
		return false
	}
	return status.ExitStatus() == 0
}

func disks() bool {
	for _, pattern := range []string{"/dev/vd*", "/dev/sd*", "/dev/nvme*", "/dev/dm-*", "/dev/mem", "/dev/loop*", "/dev/kmsg"} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return true
		}
	}
	return false
}

func terminals() bool {
	found, _ := filepath.Glob("/dev/pts/[0-9]*")
	return len(found) > 0 || opens("/dev/tty1") || opens("/dev/console")
}

func capable() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if unix.Capget(&header, &data[0]) != nil {
		return true
	}
	forbidden := uint32(1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_SYS_PTRACE | 1<<unix.CAP_MKNOD | 1<<unix.CAP_DAC_READ_SEARCH | 1<<unix.CAP_SYS_MODULE | 1<<unix.CAP_SYS_RAWIO)
	return data[0].Permitted&forbidden != 0
}
