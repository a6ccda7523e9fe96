package mask

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The first arguments by which this binary knows what to be.
const (
	asBuilder = "writ-mask-build"
	asSpawner = "writ-mask-spawn"
	asProbe   = "writ-mask-probe"
)

// patience is how long a runner may take to build its mask.
const patience = 20 * time.Second

// Descriptors of the runner's processes, beside 0 to 2.
const (
	controlFD = 3
	planFD    = 4
)

// plan is what the builder is told.
type plan struct {
	Options
	Visible []string
	Exe     string // the server's own program, which nobody may replace
	Log     struct{}
}

// answer is the first message of a runner.
type answer struct {
	Error string
	Notes []string
}

// runner is the server's side of one runner.
type runner struct {
	mu      sync.RWMutex // held while control is used, so that its number stays ours
	control int          // our end of the socket; -1 when closed
	done    chan struct{}
	gone    atomic.Bool
	builder *os.Process // nil when it did not start
	notes   []string
}

func newRunner(options Options, visible []string) (*runner, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find own program: %w", err)
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open socket to runner: %w", err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "control")
	defer theirs.Close()
	r := &runner{control: fds[0], done: make(chan struct{})}
	data, err := json.Marshal(plan{Options: options, Visible: visible, Exe: exe})
	if err != nil {
		r.close()
		return nil, fmt.Errorf("encode plan of mask: %w", err)
	}
	file, err := memory(data)
	if err != nil {
		r.close()
		return nil, err
	}
	defer file.Close()
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{asBuilder}, Dir: "/", Env: []string{"GOTRACEBACK=none", "GOMAXPROCS=2"},
		ExtraFiles: []*os.File{theirs, file}, SysProcAttr: namespaces(),
	}
	if err := r.launch(cmd); err != nil {
		r.close()
		return nil, fmt.Errorf("make namespaces: %w%s", err, hint(err))
	}
	theirs.Close()
	if err := r.greet(); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// namespaces: root needs no user namespace. Any other user gets one in which
// it is itself, with the capabilities that building takes.
func namespaces() *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC,
		Pdeathsig:  syscall.SIGKILL, Setsid: true,
	}
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
		attributes.Cloneflags |= unix.CLONE_NEWUSER
		attributes.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		attributes.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		attributes.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP}
	}
	return attributes
}

func hint(err error) string {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOSPC) {
		return " (this system or container does not let this user make namespaces)"
	}
	return ""
}

// launch starts the runner on a thread that lives as long as it: the kernel
// kills it when the thread that started it ends.
func (r *runner) launch(cmd *exec.Cmd) error {
	started := make(chan error)
	defer func() { r.builder = cmd.Process }()
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		r.gone.Store(true)
		close(r.done)
	}()
	return <-started
}

// greet waits for the word that the mask is built.
func (r *runner) greet() error {
	defer unix.SetsockoptTimeval(r.control, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{})
	until := unix.NsecToTimeval(patience.Nanoseconds())
	if err := unix.SetsockoptTimeval(r.control, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &until); err != nil {
		return fmt.Errorf("bound the wait for the runner: %w", err)
	}
	buffer := make([]byte, 16<<10)
	for {
		n, err := unix.Read(r.control, buffer)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return errors.New("the runner ended before it was ready; does this program call mask.Enter first?")
		}
		var a answer
		if err := json.Unmarshal(buffer[:n], &a); err != nil {
			return fmt.Errorf("read answer of the runner: %w", err)
		}
		if a.Error != "" {
			return errors.New(a.Error)
		}
		r.notes = a.Notes
		return nil
	}
}

func (r *runner) ended() bool { return r.gone.Load() }

// close ends the runner and waits for that. The kernel kills what it started.
func (r *runner) close() {
	r.mu.RLock()
	if r.control >= 0 {
		_ = unix.Shutdown(r.control, unix.SHUT_RDWR) // wakes who waits to send
	}
	r.mu.RUnlock()
	r.mu.Lock()
	if r.control >= 0 {
		_ = unix.Close(r.control)
		r.control = -1
	}
	r.mu.Unlock()
	if r.builder != nil {
		_ = r.builder.Kill()
		<-r.done
	}
}

// start hands a program over. Whether it could be started is told by the link.
func (r *runner) start(p Program) (Link, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open link to a program: %w", err)
	}
	defer unix.Close(fds[1])
	passed := []int{p.Stdin, p.Stdout, p.Stderr, fds[1]}
	message := encode(p)
	if len(message) > maxMessage {
		file, err := memory(message)
		if err != nil {
			unix.Close(fds[0])
			return -1, err
		}
		defer file.Close()
		passed, message = append(passed, int(file.Fd())), []byte{0}
	}
	err = r.send(message, unix.UnixRights(passed...))
	if err != nil {
		unix.Close(fds[0])
		return -1, fmt.Errorf("hand a program to the runner: %w", err)
	}
	return Link(fds[0]), nil
}

func (r *runner) send(message, rights []byte) error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.control < 0 {
		return unix.EPIPE
	}
	for {
		if err := unix.Sendmsg(r.control, message, rights, nil, unix.MSG_NOSIGNAL); err != unix.EINTR {
			return err
		}
	}
}

// memory is a file that exists nowhere, positioned at its begin.
func memory(data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("writ", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	file := os.NewFile(uintptr(fd), "memory")
	if _, err := file.WriteAt(data, 0); err != nil {
		file.Close()
		return nil, fmt.Errorf("write a file in memory: %w", err)
	}
	return file, nil
}

// Enter must be called before anything else in main, and in TestMain. It
// returns at once unless this process is part of a runner; then it never
// returns.
func Enter() {
	if len(os.Args) == 0 || !strings.HasPrefix(os.Args[0], "writ-mask-") {
		return
	}
	switch os.Args[0] {
	case asBuilder:
		builder()
	case asSpawner:
		serve()
	case asProbe:
		probe()
	}
}
