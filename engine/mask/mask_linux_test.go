package mask

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
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

// TestWork is what programs do every day.
func TestWork(t *testing.T) { users(t, "working") }

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

// be is one process of these tests.
func be(what string, args []string) {
	switch what {
	case "attacked", "working", "living", "without", "dying":
		if err := play(what, args[0]); err != nil {
			fmt.Println(err)
			syscall.Exit(1)
		}
		fmt.Println("held")
	case "attack":
		attack(args)
	case "sleep":
		fmt.Println("started")
		time.Sleep(time.Hour)
	}
}

func play(what, dir string) error {
	s, err := newStage(dir)
	if err != nil {
		return err
	}
	if what == "without" {
		return s.without()
	}
	listener, err := net.Listen("unix", s.socket)
	if err != nil {
		return err
	}
	defer listener.Close()
	s.mask = Start(s.options())
	defer s.mask.Close()
	if ok, why := s.mask.Status(); !ok {
		return s.refused(why)
	}
	switch what {
	case "attacked":
		return s.attacked()
	case "working":
		return s.working()
	case "living":
		return s.living()
	}
	link, err := s.mask.Start(nil, Program{
		Path: "/proc/self/exe", Argv: []string{"x", "be", "sleep"}, Cwd: "/", Stdin: 0, Stdout: 1, Stderr: 2,
	})
	if err != nil {
		return err
	}
	link.Result()
	return nil
}

// refused: where this system makes no namespaces, the reason must say so, and
// it must be true.
func (s *stage) refused(why string) error {
	if s.mask.Available() {
		return fmt.Errorf("available, but: %s", why)
	}
	probe := exec.Command("/proc/self/exe", "be", "nothing")
	probe.SysProcAttr = namespaces()
	if err := probe.Run(); err == nil {
		return fmt.Errorf("namespaces can be made, but there is no mask: %s", why)
	}
	if !strings.Contains(why, "namespaces") {
		return fmt.Errorf("no reason: %s", why)
	}
	return nil
}

func (s *stage) without() error {
	for _, kind := range []string{"user", "mnt"} {
		err := os.WriteFile("/proc/sys/user/max_"+kind+"_namespaces", []byte("0"), 0)
		if err != nil && os.Geteuid() == 0 {
			return err
		}
	}
	s.mask = Start(s.options())
	ok, why := s.mask.Status()
	if ok || s.mask.Available() || !strings.Contains(why, "does not let this user make namespaces") {
		return fmt.Errorf("%v %s", ok, why)
	}
	if _, err := s.mask.Start(nil, Program{Path: "/bin/true"}); err == nil {
		return fmt.Errorf("a program was started without a mask")
	}
	return nil
}

func (s *stage) living() error {
	for i, want := range []End{{Code: 7}, {Signal: int(unix.SIGTERM)}} {
		argv := []string{"sh", "-c", "exit 7"}
		if i == 1 {
			argv[2] = "kill -TERM $$"
		}
		if _, end, err := s.run(nil, "", nil, argv...); err != nil || end != want {
			return fmt.Errorf("%v: %+v %v", argv, end, err)
		}
	}
	if _, end, err := s.run(nil, "", nil, "/nowhere/program"); err != nil || end.Errno != int(unix.ENOENT) {
		return fmt.Errorf("missing program: %+v %v", end, err)
	}
	big := strings.Repeat("x", 100<<10)
	if said, _, err := s.run(nil, "", []string{"BIG=" + big}, "sh", "-c", "echo ${#BIG}"); err != nil || said != "102400\n" {
		return fmt.Errorf("big environment: %.100s %v", said, err)
	}
	// A program that ends all others in sight does not end the runner, or
	// where the kernel cannot keep it from that, the runner comes back.
	said, end, err := s.run(nil, "", nil, "sh", "-c", "kill -TERM 1; kill -SEGV 1; kill -9 1 $PPID; echo done")
	if err != nil || scoped() && (end.Code != 0 || !strings.HasSuffix(said, "done\n")) {
		return fmt.Errorf("kill: %s %+v %v", said, end, err)
	}
	if said, _, err := s.run(nil, "", nil, "echo", "again"); err != nil || said != "again\n" {
		return fmt.Errorf("after kill: %s %v", said, err)
	}
	return s.ended()
}

// ended: closing the link ends what a program left in its group.
func (s *stage) ended() error {
	out, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	link, err := s.mask.Start(nil, Program{
		Path: "/bin/sh", Argv: []string{"sh", "-c", "sleep 1000 & exit 3"}, Cwd: "/", Stdin: int(theirs.Fd()), Stdout: int(theirs.Fd()), Stderr: int(theirs.Fd()),
	})
	theirs.Close()
	if err != nil {
		return err
	}
	if end := link.Result(); end.Code != 3 {
		return fmt.Errorf("leaving something: %+v", end)
	}
	link.Close()
	_ = out.SetReadDeadline(time.Now().Add(20 * time.Second))
	_, err = io.ReadAll(out)
	return err
}

func (s *stage) working() error {
	for _, c := range []struct {
		argv []string
		want string
	}{
		{[]string{"wc", "-c"}, "5"},
		{[]string{"cat", s.project + "/file"}, "plain"},
		{[]string{"sh", "-c", "echo new >" + s.project + "/made && cat " + s.project + "/made"}, "new"},
		{[]string{"sh", "-c", "echo t >/tmp/t && cat /tmp/t && echo n >/dev/null"}, "t"},
		{[]string{"sh", "-c", "test -r /etc/passwd && test -d /usr/bin && test -e /proc/self/status && echo yes"}, "yes"},
		{[]string{"id", "-u"}, strconv.Itoa(os.Geteuid())},
		{[]string{"git", "init", "-q", s.project + "/repo"}, ""},
		{[]string{"git", "-C", s.project + "/repo", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "one"}, ""},
		{[]string{"git", "-C", s.project + "/repo", "log", "--format=%s"}, "one"},
	} {
		if _, err := exec.LookPath(c.argv[0]); err != nil && c.argv[0] == "git" {
			continue // not every machine has it
		}
		said, end, err := s.run(nil, "12345", nil, c.argv...)
		if err != nil || end != (End{}) || strings.TrimSpace(said) != c.want {
			return fmt.Errorf("%v: %q %+v %v", c.argv, said, end, err)
		}
	}
	kube := s.home + "/.kube/config"
	said, end, err := s.run([]string{"~/.kube/config"}, "", nil, "sh", "-c", "cat "+kube+"; echo x 2>/dev/null >"+kube+" || echo :kept; ls -A "+s.home)
	if err != nil || said != "cluster:kept\n.kube\n" {
		return fmt.Errorf("visible: %q %+v %v", said, end, err)
	}
	if said, _, err := s.run(nil, "", nil, "ls", "-A", s.home); err != nil || strings.Contains(said, ".kube") {
		return fmt.Errorf("visible to another tool: %q %v", said, err)
	}
	return nil
}

// target is what the attacker is told.
type target struct {
	State, Config, Socket, Home, Other, Tmux, Abstract, Terminal, Project string
	Server                                                                int
}

func (s *stage) attacked() error {
	to := target{
		State: s.state, Config: s.config, Socket: s.socket, Home: s.home, Other: s.dir + "/other", Server: os.Getpid(),
		Tmux: s.dir + "/tmux", Abstract: "@mask-test-" + strconv.Itoa(os.Getpid()), Project: s.project,
	}
	for _, name := range []string{to.Tmux, to.Abstract} {
		listener, err := net.Listen("unix", name)
		if err != nil {
			return err
		}
		defer listener.Close()
	}
	argument, err := json.Marshal(to)
	if err != nil {
		return err
	}
	// Without the mask every one of these would work: the test can fail.
	said, end, err := s.run(nil, "", nil, "/proc/self/exe", "be", "attack", string(argument))
	if err != nil || end != (End{}) || said != "nothing worked\n" {
		return fmt.Errorf("%s%+v %v", said, end, err)
	}
	if data, err := os.ReadFile(s.config); err != nil || string(data) != "secret" {
		return fmt.Errorf("the configuration is %q %v", data, err)
	}
	if data, err := os.ReadFile(s.home + "/.bashrc"); err != nil || string(data) != "secret" {
		return fmt.Errorf("the start-up file is %q %v", data, err)
	}
	return nil
}
