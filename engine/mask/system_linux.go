package mask

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// processes shows the processes of the namespace and no others. What of /proc
// root could change the system by becomes read-only.
func (s *scene) processes() error {
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("show own processes only: %w%s", err, hint(err))
	}
	if !s.root {
		return nil
	}
	for _, name := range []string{"sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi"} {
		path := "/proc/" + name
		if _, err := os.Stat(path); err != nil {
			continue
		}
		fd, err := clone(path)
		if err != nil {
			return err
		}
		err = errors.Join(seal(fd, true), attach(fd, path))
		unix.Close(fd)
		if err != nil {
			return fmt.Errorf("make %s read-only: %w", path, err)
		}
	}
	return nil
}

// devices leaves the harmless ones. Disks would show root what is hidden, and
// a terminal of the user may be where an approver sits.
func (s *scene) devices() error {
	names := []string{"null", "zero", "full", "random", "urandom", "tty"}
	var kept []tree
	for _, name := range names {
		path := "/dev/" + name
		if _, err := os.Stat(path); err != nil {
			continue
		}
		fd, err := clone(path)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		kept = append(kept, tree{path: path, fd: fd})
	}
	if err := s.cover("/dev", true); err != nil {
		return err
	}
	for _, t := range kept {
		if err := spot(t); err != nil {
			return fmt.Errorf("make a place for %s: %w", t.path, err)
		}
		if err := attach(t.fd, t.path); err != nil {
			return err
		}
	}
	return s.furnish()
}

// furnish makes the rest of /dev.
func (s *scene) furnish() error {
	links := map[string]string{
		"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx",
	}
	for name, target := range links {
		if err := os.Symlink(target, "/dev/"+name); err != nil {
			return fmt.Errorf("furnish /dev: %w", err)
		}
	}
	if err := os.WriteFile(blankFile, nil, 0o444); err != nil {
		return fmt.Errorf("furnish /dev: %w", err)
	}
	if err := errors.Join(os.Mkdir("/dev/pts", 0o755), os.Mkdir("/dev/shm", 0o755)); err != nil {
		return fmt.Errorf("furnish /dev: %w", err)
	}
	flags := uintptr(unix.MS_NOSUID | unix.MS_NOEXEC)
	if err := unix.Mount("devpts", "/dev/pts", "devpts", flags, "newinstance,ptmxmode=0666,mode=620"); err != nil {
		return fmt.Errorf("make terminals of its own: %w%s", err, hint(err))
	}
	return s.cover("/dev/shm", false)
}
