package mask

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// question is what the probe is told.
type question struct {
	Own    []string // what must be hidden
	Homes  []string
	Socket string
	Server int
	Spaces map[string]string // the namespaces of the server
}

// verify starts a program that tries to lift the mask, and reports what it
// could do.
func (m *Mask) verify() error {
	spaces, err := namespaceNames()
	if err != nil {
		return err
	}
	own := append([]string{m.options.State}, m.options.Config...)
	argument, err := json.Marshal(question{Own: own, Homes: m.bare(), Socket: m.options.Socket, Server: os.Getpid(), Spaces: spaces})
	if err != nil {
		return fmt.Errorf("encode question to the probe: %w", err)
	}
	out, in, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("open pipe of the probe: %w", err)
	}
	defer out.Close()
	fd := int(in.Fd())
	link, err := m.Start(nil, Program{
		Path: "/proc/self/exe", Argv: []string{asProbe, string(argument)}, Cwd: "/", Stdin: fd, Stdout: fd, Stderr: fd,
	})
	in.Close()
	if err != nil {
		return err
	}
	defer link.Close()
	_ = out.SetReadDeadline(time.Now().Add(patience))
	said, err := io.ReadAll(io.LimitReader(out, 64<<10))
	if err != nil {
		return fmt.Errorf("read what the probe found: %w", err)
	}
	if end := link.Result(); end != (End{}) || string(bytes.TrimSpace(said)) != "hidden" {
		return fmt.Errorf("the mask does not hold: %s", strings.TrimSpace(fmt.Sprintf("%s %+v", said, end)))
	}
	return nil
}

// bare are the homes that no root gives back.
func (m *Mask) bare() []string {
	return slices.DeleteFunc(slices.Clone(m.options.Homes), func(home string) bool {
		return slices.ContainsFunc(m.options.Roots, func(root string) bool { return within(resolved(home), resolved(root)) })
	})
}

func namespaceNames() (map[string]string, error) {
	names := map[string]string{}
	for _, kind := range []string{"mnt", "pid", "ipc"} {
		name, err := os.Readlink("/proc/self/ns/" + kind)
		if err != nil {
			return nil, fmt.Errorf("read own namespaces: %w", err)
		}
		names[kind] = name
	}
	return names, nil
}

// probe is the program that tries.
func probe() {
	var q question
	if len(os.Args) != 2 || json.Unmarshal([]byte(os.Args[1]), &q) != nil {
		syscall.Exit(2)
	}
	if err := errors.Join(q.separate(), q.powerless(), q.blind()); err != nil {
		fmt.Println(strings.ReplaceAll(err.Error(), "\n", "; "))
		syscall.Exit(1)
	}
	fmt.Println("hidden")
	syscall.Exit(0)
}

// separate: the server cannot be seen, so it cannot be signalled or traced.
func (q question) separate() error {
	names, err := namespaceNames()
	if err != nil {
		return err
	}
	for kind, name := range names {
		if q.Spaces[kind] == name {
			err = errors.Join(err, fmt.Errorf("the %s namespace is that of the server", kind))
		}
	}
	if os.Getppid() == q.Server {
		err = errors.Join(err, errors.New("the server is the parent"))
	}
	entries, _ := os.ReadDir("/proc")
	seen := 0
	for _, e := range entries {
		if _, number := strconv.Atoi(e.Name()); number == nil {
			seen++
		}
	}
	if seen == 0 || seen > 8 {
		err = errors.Join(err, fmt.Errorf("%d processes are seen", seen))
	}
	return err
}

// powerless: no right that could lift the mask is held or can be gained.
func (q question) powerless() (err error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return fmt.Errorf("read own rights: %w", err)
	}
	var allowed uint64
	if os.Geteuid() == 0 {
		for _, c := range kept() {
			allowed |= 1 << c
		}
	}
	for line := range strings.Lines(string(status)) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), ":\t")
		switch name {
		case "CapPrm", "CapEff", "CapBnd", "CapAmb", "CapInh":
			if held, e := strconv.ParseUint(text, 16, 64); e != nil || held&^allowed != 0 {
				err = errors.Join(err, fmt.Errorf("%s is %s", name, text))
			}
		case "NoNewPrivs":
			if text != "1" {
				err = errors.Join(err, errors.New("new rights can be gained"))
			}
		}
	}
	if unix.Unmount("/tmp", unix.MNT_DETACH) == nil {
		err = errors.Join(err, errors.New("/tmp could be unmounted"))
	}
	return err
}

// blind: nothing of Writ is read, nothing of the home is written.
func (q question) blind() (err error) {
	for _, path := range q.Own {
		if data, e := os.ReadFile(path); e == nil && len(data) > 0 {
			err = errors.Join(err, fmt.Errorf("%s can be read", path))
		}
		if entries, e := os.ReadDir(path); e == nil && len(entries) > 0 {
			err = errors.Join(err, fmt.Errorf("%s can be listed", path))
		}
	}
	for _, home := range q.Homes {
		if os.WriteFile(filepath.Join(home, ".writ-mask-probe"), nil, 0o600) == nil && !within(home, "/tmp") && !within(home, "/var/tmp") {
			err = errors.Join(err, fmt.Errorf("%s can be written", home))
		}
	}
	if q.Socket != "" {
		if conn, e := net.DialTimeout("unix", q.Socket, time.Second); e == nil {
			conn.Close()
			err = errors.Join(err, errors.New("the control socket can be reached"))
		}
	}
	return err
}
