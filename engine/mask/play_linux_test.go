package mask

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// be is one process of these tests.
func be(what string, args []string) {
	switch what {
	case "attacked", "overlap", "open", "working", "living", "without", "dying":
		if err := play(what, args[0]); err != nil {
			fmt.Println(err)
			syscall.Exit(1)
		}
		fmt.Println("held")
	case "attack":
		attack(args)
	case "connect":
		fmt.Println(connects(args[0]))
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
	if what == "open" {
		return s.open()
	}
	s.mask = Start(s.options())
	defer s.mask.Close()
	if ok, why := s.mask.Status(); !ok {
		return s.refused(why)
	}
	switch what {
	case "overlap":
		return s.overlap()
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
	if err != nil || scopes() && (end.Code != 0 || !strings.HasSuffix(said, "done\n")) {
		return fmt.Errorf("kill: %s %+v %v", said, end, err)
	}
	if said, _, err := s.run(nil, "", nil, "echo", "again"); err != nil || said != "again\n" {
		return fmt.Errorf("after kill: %s %v", said, err)
	}
	if err := s.many(); err != nil {
		return err
	}
	return s.ended()
}

// many: more programs at once than workers are kept, and then some more.
func (s *stage) many() error {
	for range 2 {
		results := make(chan error)
		for range 24 {
			go func() {
				said, end, err := s.run(nil, "", nil, "sh", "-c", "sleep 0.05; echo one")
				if err == nil && (said != "one\n" || end != (End{})) {
					err = fmt.Errorf("many: %q %+v", said, end)
				}
				results <- err
			}()
		}
		var failed error
		for range 24 {
			if err := <-results; err != nil {
				failed = err
			}
		}
		if failed != nil {
			return failed
		}
	}
	return nil
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
	door := s.dir + "/door"
	listener, err := net.Listen("unix", door)
	if err != nil {
		return err
	}
	defer listener.Close()
	for _, visible := range [][]string{{door}, nil} {
		want := fmt.Sprintln(visible != nil)
		if said, _, err := s.run(visible, "", nil, "/proc/self/exe", "be", "connect", door); err != nil || said != want {
			return fmt.Errorf("socket %v: %q %v", visible, said, err)
		}
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

// arm opens what there is to attack.
func (s *stage) arm() (argument string, disarm func(), err error) {
	to := target{
		State: s.state, Config: s.config, Socket: s.socket, Home: s.home, Other: s.dir + "/other", Server: os.Getpid(),
		Tmux: s.dir + "/tmux", Abstract: "@mask-test-" + strconv.Itoa(os.Getpid()), Project: s.project,
	}
	var listeners []net.Listener
	disarm = func() {
		for _, l := range listeners {
			_ = l.Close()
		}
	}
	for _, name := range []string{to.Tmux, to.Abstract} {
		listener, err := net.Listen("unix", name)
		if err != nil {
			disarm()
			return "", nil, err
		}
		listeners = append(listeners, listener)
	}
	text, err := json.Marshal(to)
	return string(text), disarm, err
}

func (s *stage) open() error {
	argument, disarm, err := s.arm()
	if err != nil {
		return err
	}
	defer disarm()
	said, err := exec.Command("/proc/self/exe", "be", "attack", argument).Output()
	if err != nil {
		return err
	}
	for _, name := range []string{
		"read the key", "read the database", "make a state file", "read the configuration", "write the configuration",
		"replace the configuration", "speak to the control socket", "speak to a socket in /tmp", "read another file of /tmp",
		"read the start-up file", "signal the server", "read an environment", "find the server",
	} {
		if !strings.Contains(string(said), "could "+name+"\n") {
			return fmt.Errorf("without a mask one could not %s: %s", name, said)
		}
	}
	return nil
}

func (s *stage) attacked() error {
	argument, disarm, err := s.arm()
	if err != nil {
		return err
	}
	defer disarm()
	said, end, err := s.run(nil, "", nil, "/proc/self/exe", "be", "attack", argument)
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

// overlap: a root that is the home and holds the state shows all but the
// state, and the mask says that it is not enough.
func (s *stage) overlap() error {
	options := s.options()
	options.Roots, options.Homes, options.Socket = []string{s.dir}, []string{s.dir}, s.state+"/control"
	m := Start(options)
	defer m.Close()
	if ok, why := m.Status(); ok || !m.Available() || !strings.Contains(why, "declare a smaller root") {
		return fmt.Errorf("%v %s", ok, why)
	}
	script := "cat other; ls -A state; cat project/conf/writ.yaml; mv project p 2>/dev/null; rm -f project/conf/writ.yaml 2>/dev/null; mv state s 2>/dev/null; echo :held"
	said, end, err := runMasked(m, nil, "", nil, "sh", "-c", "cd "+s.dir+" && "+script)
	if err != nil || end != (End{}) || said != "secret:held\n" {
		return fmt.Errorf("%q %+v %v", said, end, err)
	}
	for _, path := range []string{s.config, s.state + "/key"} {
		if data, err := os.ReadFile(path); err != nil || string(data) != "secret" {
			return fmt.Errorf("%s is %q %v", path, data, err)
		}
	}
	return nil
}
