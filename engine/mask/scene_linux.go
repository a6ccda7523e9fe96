package mask

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// scene is the mount namespace while it is built. The steps have an order:
// what stays is taken from the old view before anything is hidden.
type scene struct {
	plan   plan
	root   bool // whoever is root could change what the server runs next, so all but the roots is read-only
	trees  []tree
	sealed []int // mounts that become read-only at the end
	notes  []string
}

// tree is a part of the old view, to be put back.
type tree struct {
	path string // where programs look for it
	fd   int
	dir  bool
}

// part keeps what happens here from showing outside.
func (s *scene) part() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("part the mounts: %w%s", err, hint(err))
	}
	return nil
}

// take keeps the roots and what is visible of the old view.
func (s *scene) take() error {
	for _, path := range s.plan.Roots {
		if err := s.keep(path, false); err != nil {
			return err
		}
		if real := resolved(path); real != filepath.Clean(path) {
			if err := s.keep(real, false); err != nil {
				return err
			}
		}
	}
	for _, path := range s.plan.Visible {
		if err := s.keep(path, true); err != nil {
			return err
		}
	}
	slices.SortStableFunc(s.trees, func(a, b tree) int { return cmp.Compare(len(a.path), len(b.path)) })
	return nil
}

func (s *scene) keep(path string, readOnly bool) error {
	path = filepath.Clean(path)
	info, err := os.Stat(path)
	if err != nil || !filepath.IsAbs(path) || path == "/" {
		s.notes = append(s.notes, fmt.Sprintf("%s is not there, so programs will not see it", path))
		return nil
	}
	fd, err := clone(path)
	if err != nil {
		return err
	}
	if readOnly {
		if err := seal(fd, true); err != nil {
			return fmt.Errorf("make %s read-only: %w", path, err)
		}
	}
	s.trees = append(s.trees, tree{path: path, fd: fd, dir: info.IsDir()})
	return nil
}

// clone is a mount of path and all below it that is nowhere yet.
func clone(path string) (int, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return -1, fmt.Errorf("take hold of %s: %w%s", path, err, hint(err))
	}
	return fd, nil
}

func attach(fd int, path string) error {
	if err := unix.MoveMount(fd, "", unix.AT_FDCWD, path, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("mount on %s: %w", path, err)
	}
	return nil
}

// seal makes a mount read-only, and with all those below it.
func seal(fd int, all bool) error {
	flags := uint(unix.AT_EMPTY_PATH)
	if all {
		flags |= unix.AT_RECURSIVE
	}
	return unix.MountSetattr(fd, "", flags, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// freeze makes everything that is there read-only for root.
func (s *scene) freeze() error {
	if !s.root {
		return nil
	}
	err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	if err != nil {
		return fmt.Errorf("make the file system read-only for programs: %w", err)
	}
	return nil
}

// hide puts empty folders over the homes and over where processes of one user
// meet. Programs may write to their own /tmp, which ends with the runner.
func (s *scene) hide() error {
	done := map[string]bool{}
	for _, path := range append(slices.Clone(s.plan.Homes), private()...) {
		path = resolved(path)
		if info, err := os.Stat(path); err != nil || !info.IsDir() || done[path] {
			continue
		}
		done[path] = true
		if err := s.cover(path, !slices.Contains(private(), path) || path == "/run"); err != nil {
			return err
		}
	}
	return nil
}

// tmpBytes bounds what programs can leave in their /tmp.
const tmpBytes = "268435456"

// cover mounts an empty folder. A sealed one becomes read-only in settle, when
// all that belongs into it is there.
func (s *scene) cover(path string, sealed bool) error {
	data := "mode=0755,size=1048576"
	if !sealed {
		data = "mode=1777,size=" + tmpBytes
	}
	if err := unix.Mount("writ", path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, data); err != nil {
		return fmt.Errorf("hide %s: %w%s", path, err, hint(err))
	}
	if !sealed {
		return nil
	}
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("hide %s: %w", path, err)
	}
	s.sealed = append(s.sealed, fd)
	return nil
}

// place puts back what was taken, outer folders first.
func (s *scene) place() error {
	for _, t := range s.trees {
		if err := spot(t); err != nil {
			return fmt.Errorf("make a place for %s: %w", t.path, err)
		}
		if err := attach(t.fd, t.path); err != nil {
			return err
		}
		unix.Close(t.fd)
	}
	return nil
}

// spot makes sure that there is something to mount a tree on.
func spot(t tree) error {
	if _, err := os.Stat(t.path); err == nil {
		return nil
	}
	if t.dir {
		return os.MkdirAll(t.path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(t.path), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(t.path, os.O_CREATE|os.O_RDONLY, 0o444)
	if err != nil {
		return err
	}
	return file.Close()
}

// lock hides Writ's own files wherever a root still shows them, and keeps its
// program from being replaced.
func (s *scene) lock() error {
	own := append([]string{s.plan.State}, s.plan.Config...)
	if s.plan.Socket != "" {
		own = append(own, s.meeting())
	}
	done := map[string]bool{}
	for _, path := range own {
		if path = resolved(path); done[path] {
			continue
		}
		done[path] = true
		info, err := os.Stat(path)
		if err != nil || path == "/" {
			continue
		}
		if err := s.pin(path); err != nil {
			return err
		}
		if info.IsDir() {
			err = s.cover(path, true)
		} else {
			err = s.blank(path)
		}
		if err != nil {
			return err
		}
	}
	exe := s.plan.Exe
	if _, err := os.Stat(exe); err != nil || s.root && !s.reached(exe) {
		return nil
	}
	if err := s.pin(exe); err != nil {
		return err
	}
	fd, err := clone(exe)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := seal(fd, true); err != nil {
		return fmt.Errorf("make %s read-only: %w", exe, err)
	}
	return attach(fd, exe)
}

// reached reports whether a path lies in something that was put back.
func (s *scene) reached(path string) bool {
	return slices.ContainsFunc(s.trees, func(t tree) bool { return within(path, t.path) })
}

// meeting is the folder of the socket, or the socket itself where its folder
// holds a root or is everybody's.
func (s *scene) meeting() string {
	folder := resolved(filepath.Dir(s.plan.Socket))
	for _, t := range s.trees {
		if within(t.path, folder) {
			return filepath.Join(folder, filepath.Base(s.plan.Socket))
		}
	}
	if slices.Contains(private(), folder) {
		return filepath.Join(folder, filepath.Base(s.plan.Socket))
	}
	return folder
}

// blankFile is an empty file that stands for hidden ones.
const blankFile = "/dev/.hidden"

func (s *scene) blank(path string) error {
	fd, err := clone(blankFile)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := seal(fd, true); err != nil {
		return fmt.Errorf("hide %s: %w", path, err)
	}
	return attach(fd, path)
}

// pin mounts every folder above a path on itself: a mount point cannot be
// renamed, so nobody can put another file where a hidden one was.
func (s *scene) pin(path string) error {
	at := ""
	for _, name := range strings.Split(strings.Trim(filepath.Dir(path), "/"), "/") {
		if at += "/" + name; name == "" {
			continue
		}
		var info unix.Statx_t
		if err := unix.Statx(unix.AT_FDCWD, at, unix.AT_SYMLINK_NOFOLLOW, 0, &info); err != nil {
			return fmt.Errorf("look at %s: %w", at, err)
		}
		if info.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0 {
			continue
		}
		fd, err := clone(at)
		if err != nil {
			return err
		}
		err = attach(fd, at)
		unix.Close(fd)
		if err != nil {
			return err
		}
	}
	return nil
}

// settle makes the empty folders read-only.
func (s *scene) settle() error {
	for _, fd := range s.sealed {
		if err := seal(fd, false); err != nil {
			return fmt.Errorf("make a hidden folder read-only: %w", err)
		}
		unix.Close(fd)
	}
	return nil
}
