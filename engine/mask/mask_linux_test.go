package mask

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	Enter()
	if len(os.Args) > 1 && os.Args[1] == "be" {
		be(os.Args[2], os.Args[3:])
		syscall.Exit(0)
	}
	os.Exit(m.Run())
}

// stage is a server with files of its own, and a mask.
type stage struct {
	dir, state, config, socket, home, project string
	mask                                      *Mask
}

func newStage(dir string) (*stage, error) {
	s := &stage{
		dir: dir, state: dir + "/state", home: dir + "/home", project: dir + "/project",
		config: dir + "/project/conf/writ.yaml", socket: dir + "/socket/control",
	}
	for _, folder := range []string{s.state, s.home + "/.kube", s.project + "/conf", dir + "/socket"} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, err
		}
	}
	for path, text := range map[string]string{
		s.state + "/key": "secret", s.state + "/writ.db": "secret", s.config: "secret", s.home + "/.bashrc": "secret",
		s.home + "/.kube/config": "cluster", s.project + "/file": "plain", dir + "/other": "secret",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *stage) options() Options {
	return Options{State: s.state, Config: []string{s.config}, Socket: s.socket, Roots: []string{s.project}, Homes: []string{s.home}}
}

// run starts a program behind the mask and returns all that it printed.
func (s *stage) run(visible []string, input string, environ []string, argv ...string) (string, End, error) {
	return runMasked(s.mask, visible, input, environ, argv...)
}

func runMasked(m *Mask, visible []string, input string, environ []string, argv ...string) (string, End, error) {
	out, theirs, err := os.Pipe()
	if err != nil {
		return "", End{}, err
	}
	defer out.Close()
	in, ours, err := os.Pipe()
	if err != nil {
		return "", End{}, err
	}
	path := argv[0]
	if !strings.Contains(path, "/") {
		if path, err = exec.LookPath(path); err != nil {
			return "", End{}, err
		}
	}
	link, err := m.Start(visible, Program{
		Path: path, Argv: argv, Environ: append(environ, "PATH="+os.Getenv("PATH")), Cwd: "/",
		Stdin: int(in.Fd()), Stdout: int(theirs.Fd()), Stderr: int(theirs.Fd()),
	})
	theirs.Close()
	in.Close()
	if err != nil {
		return "", End{}, err
	}
	defer link.Close()
	_, _ = io.WriteString(ours, input)
	ours.Close()
	said, err := io.ReadAll(out)
	return string(said), link.Result(), err
}

// users runs a test as this user, and as an ordinary one when this is root.
func users(t *testing.T, what string) {
	t.Run("self", func(t *testing.T) { report(t, what, nil) })
	if os.Geteuid() == 0 {
		t.Run("ordinary", func(t *testing.T) {
			report(t, what, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 54321, Gid: 54321}})
		})
	}
}

// report runs a server in a process of its own, and fails with what it says.
func report(t *testing.T, what string, as *syscall.SysProcAttr) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "mask")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	binary := filepath.Join(dir, "server")
	data, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(binary, data, 0o755)
	}
	if err == nil && as != nil && as.Credential != nil {
		err = os.Chown(dir, int(as.Credential.Uid), int(as.Credential.Gid))
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "be", what, dir)
	cmd.SysProcAttr, cmd.Dir = as, dir
	cmd.Env = append(os.Environ(), "SECRET=in-the-environment-of-the-server")
	said, err := cmd.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(said), "held\n") {
		t.Errorf("%v: %s", err, said)
	}
}

// TestAttack is what a tool would try so as to approve itself.
func TestAttack(t *testing.T) { users(t, "attacked") }

// TestAttackWithoutMask: most of it works where there is no mask, so the test
// above can fail. It is not for root, who would break the machine.
func TestAttackWithoutMask(t *testing.T) {
	if os.Geteuid() != 0 {
		report(t, "open", nil)
		return
	}
	report(t, "open", &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 54321, Gid: 54321}})
}

// TestWork is what programs do every day.
func TestWork(t *testing.T) { users(t, "working") }

// TestOverlap: what is Writ's own is hidden inside of a root as well.
func TestOverlap(t *testing.T) { users(t, "overlap") }

// TestLife is how programs end.
func TestLife(t *testing.T) { users(t, "living") }

// TestNoNamespaces: a system that makes no namespaces gets no mask, and a
// reason. The server runs in a user namespace whose limits are 0; where not
// even that can be made, the system is such a one by itself.
func TestNoNamespaces(t *testing.T) {
	nested := &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}
	trial := exec.Command("/proc/self/exe", "be", "nothing")
	trial.SysProcAttr = nested
	if err := trial.Run(); err != nil {
		nested = nil
	}
	report(t, "without", nested)
}

func TestServerDeath(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("/proc/self/exe", "be", "dying", dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The program holds this pipe; nothing else does after the server.
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "started\n" {
		t.Fatalf("%q %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	go func() { _, err := io.ReadAll(out); closed <- err }()
	select {
	case <-closed:
	case <-time.After(20 * time.Second):
		t.Error("the program outlived the server")
	}
	_ = cmd.Wait()
}

func TestUncovered(t *testing.T) {
	m := Start(Options{State: t.TempDir(), Roots: []string{"/"}})
	if ok, why := m.Status(); ok || m.Available() || !strings.Contains(why, "smaller root") {
		t.Error(ok, why)
	}
	home := t.TempDir()
	if why := uncovered(Options{Homes: []string{home + "/u"}, Roots: []string{home}}); !strings.Contains(why, "contains "+home) {
		t.Error(why)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encode(Program{Path: "/bin/true", Cwd: "/", Argv: []string{"true", ""}, Environ: []string{"A=b"}}))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, message []byte) {
		p, err := decode(message)
		if err != nil {
			return
		}
		again, err := decode(encode(p))
		if err != nil || !bytes.Equal(encode(again), encode(p)) {
			t.Errorf("%+v %+v %v", p, again, err)
		}
	})
}
