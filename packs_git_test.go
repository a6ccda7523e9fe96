package writ_test

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/catalog"
)

const (
	remoteURL = "ssh://git@example.com/remote.git"
	secretish = "the-owner-of-this-machine-only"
)

// site is a place with a repository under the root, a folder outside of it, a
// program that nobody should start and a text that nobody should read.
type site struct {
	t                   testing.TB
	work, repo, outside string
	bait, canary        string // the program, and the file that it leaves
	secret              string
}

// repositoryOf makes the repository that every site gets a copy of, once.
var repositoryOf = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "writ-packs-")
	if err != nil {
		return "", err
	}
	script := `set -e
git init -q -b main r; cd r
git config user.name Ann; git config user.email ann@example.com
echo one >f.txt; echo one >g.txt; git add .; git commit -q -m first
git checkout -q -b side; echo side >f.txt; git commit -q -a -m sideways; git checkout -q main
echo two >f.txt; git commit -q -a -m second
echo three >>f.txt; echo two >g.txt; git add g.txt; echo new >h.txt
rm -rf .git/hooks`
	make := exec.Command("sh", "-c", script)
	make.Dir, make.Env = folder, plainEnvironment(folder)
	if text, err := make.CombinedOutput(); err != nil {
		return "", &fs.PathError{Op: "git", Path: string(text), Err: err}
	}
	return filepath.Join(folder, "r"), nil
})

func plainEnvironment(home string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0"}
}

func TestMain(m *testing.M) {
	code := m.Run()
	if folder, err := repositoryOf(); err == nil {
		os.RemoveAll(filepath.Dir(folder))
	}
	os.Exit(code)
}

// newSite makes a site whose folders have names that a careless script breaks on.
func newSite(t testing.TB) *site {
	t.Helper()
	base, err := repositoryOf()
	if err != nil {
		t.Fatal(err)
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, work: filepath.Join(top, "a work\nplace"), outside: filepath.Join(top, "outside")}
	s.repo, s.bait, s.canary, s.secret = filepath.Join(s.work, "my 'repo'"), filepath.Join(s.outside, "bait"), filepath.Join(s.outside, "canary"), filepath.Join(s.outside, "secret")
	if err := os.CopyFS(s.repo, os.DirFS(base)); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, s.bait, "#!/bin/sh\necho \"$@\" >>'"+s.canary+"'\nexit 1\n", 0o755)
	mustWrite(t, filepath.Join(s.outside, "evil"), s.fill("[core]fsmonitor=BAIT\n"), 0o644)
	mustWrite(t, s.secret, secretish+"\n", 0o600)
	return s
}

func (s *site) write(name, text string) { mustWrite(s.t, filepath.Join(s.repo, name), text, 0o755) }

// config adds to the repository's configuration; BAIT, OUT and SECRET stand
// for the places outside.
func (s *site) config(text string) {
	s.t.Helper()
	f, err := os.OpenFile(filepath.Join(s.repo, ".git/config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(s.fill(text) + "\n"); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) fill(text string) string {
	return strings.NewReplacer("BAIT", s.bait, "OUT", s.outside, "SECRET", s.secret).Replace(text)
}

// plain runs a command as somebody does who trusts the repository.
func (s *site) plain(program string, arguments ...string) string {
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	plain := exec.CommandContext(ctx, program, arguments...)
	plain.WaitDelay = time.Second
	plain.Dir, plain.Env = s.repo, plainEnvironment(s.outside)
	plain.Stdin = strings.NewReader("protocol=https\nhost=example.com\n\n")
	text, _ := plain.CombinedOutput()
	return string(text)
}

func (s *site) sprung() bool {
	_, err := os.Stat(s.canary)
	return err == nil
}

// arguments gives every argument of a tool a value that works: the least that
// it needs, and all that it takes.
func (s *site) arguments(t *catalog.Tool) []map[string]any {
	s.t.Helper()
	f := filepath.Join(s.repo, "f.txt")
	values := map[string]any{
		"repo": s.repo, "path": f, "paths": []string{f}, "revision": "main", "revisions": []string{"main"},
		"message": "a message\n\nwith: a trailer", "remote": "origin", "url": remoteURL, "branch": "main",
		"limit": 5, "author": "Ann", "since": "2020-01-01", "text": "o", "staged": false, "summary": false, "lines": "1,1",
	}
	least, all := map[string]any{"repo": s.repo}, map[string]any{}
	for _, a := range t.Document.Args {
		v, ok := values[a.Name]
		if !ok {
			s.t.Fatalf("tool %s has an argument %s: say here what this test gives it", t.Name, a.Name)
		}
		all[a.Name] = v
		if !a.Optional && !strings.Contains(string(a.Schema), `"default"`) {
			least[a.Name] = v
		}
	}
	if len(least) == len(all) {
		return []map[string]any{all}
	}
	return []map[string]any{least, all}
}

func gitTools(t testing.TB, b *bench) []*catalog.Tool {
	var tools []*catalog.Tool
	for _, tool := range b.live.Current().Tools() {
		if tool.Group != "git" {
			continue
		}
		if !tool.Callable() {
			t.Fatalf("tool %s is not available: %s", tool.Name, tool.Unavailable)
		}
		tools = append(tools, tool)
	}
	if len(tools) == 0 {
		t.Fatal("the catalog has no tool of the group git")
	}
	return tools
}

// TestGitToolsShareOneRoom compares the scripts: all but the last lines, which
// say what a tool does in the room, are the same in every tool.
func TestGitToolsShareOneRoom(t *testing.T) {
	const last = "|| stop 'the index names files outside of the work tree'\n"
	var room, from string
	for _, tool := range gitTools(t, newBench(t, t.TempDir(), os.Getenv("PATH"))) {
		c := tool.Document.Command
		if c == nil || c.Stdin == nil || strings.Join(c.Argv[:4], " ") != "sh -s -- ${args.repo}" {
			t.Errorf("%s does not run the script", tool.Name)
			continue
		}
		script, _, found := strings.Cut(*c.Stdin, last)
		if room == "" {
			room, from = script, tool.Name
		}
		if !found || script != room {
			t.Errorf("the scripts of %s and %s differ", from, tool.Name)
		}
	}
}

// TestTraps proves that each trap works with git itself, so that a tool which
// does not spring it has done something about it.
func TestTraps(t *testing.T) {
	needs(t, "git", "sh")
	for _, trap := range sample(traps()) {
		t.Run(trap.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			trap.set(s)
			for i, line := range trap.proof {
				text := s.plain(line[0], line[1:]...)
				if s.sprung() || strings.Contains(text, secretish) {
					break
				}
				if i == len(trap.proof)-1 {
					t.Fatalf("the trap does not work with git itself: %v\n%s", line, text)
				}
			}
		})
	}
}

// TestHostileRepositories runs every git tool of the catalog on repositories
// that try to run a program or to show a file outside.
func TestHostileRepositories(t *testing.T) {
	needs(t, "git", "sh")
	var mild []trap
	run := func(name string, set ...trap) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			for _, trap := range set {
				trap.set(s)
			}
			s.withstand()
		})
	}
	for _, trap := range traps() {
		if trap.mild {
			mild = append(mild, trap)
		}
	}
	run("all that can be combined", mild...)
	for _, trap := range sample(traps()) {
		if !trap.mild {
			run(trap.name, trap)
		}
	}
}

// sample takes a part of the traps when time is short.
func sample(all []trap) []trap {
	if !testing.Short() {
		return all
	}
	var some []trap
	for i := 0; i < len(all); i += 6 {
		some = append(some, all[i])
	}
	return some
}

// withstand calls every git tool with little and with much.
func (s *site) withstand() {
	s.t.Helper()
	b := newBench(s.t, s.work, s.path())
	for _, tool := range gitTools(s.t, b) {
		for _, arguments := range s.arguments(tool) {
			result := b.do(tool.Name, arguments)
			if s.sprung() {
				started, _ := os.ReadFile(s.canary)
				s.t.Fatalf("%s %v started the program of the repository (%q)\n%s %s", tool.Name, arguments, started, result.Reason, result.Output)
			}
			if strings.Contains(result.Output+result.Reason, secretish) {
				s.t.Fatalf("%s %v showed a file outside:\n%s", tool.Name, arguments, result.Output)
			}
			if result.Code == "invalid_arguments" && !strings.Contains(result.Reason, "outside the root") || result.Status == call.TimedOut {
				s.t.Errorf("%s %v: %s %s", tool.Name, arguments, result.Status, result.Reason)
			}
		}
	}
	if _, err := os.Lstat(filepath.Join(s.outside, "written")); err == nil {
		s.t.Error("something was written outside")
	}
}

// path is a PATH with an ssh that needs no network, whose far end is the folder
// remote.git outside, and a mktemp that makes its folders outside too.
func (s *site) path() string {
	mustWrite(s.t, filepath.Join(s.outside, "bin/ssh"), s.fill("#!/bin/sh\necho \"$@\" >>'OUT/ssh.log'\nexec git-receive-pack 'OUT/remote.git'\n"), 0o755)
	mktemp, err := exec.LookPath("mktemp")
	if err != nil {
		s.t.Fatal(err)
	}
	mustWrite(s.t, filepath.Join(s.outside, "bin/mktemp"), s.fill("#!/bin/sh\nexec "+mktemp+" \"$@\" 'OUT/tmp.XXXXXX'\n"), 0o755)
	return filepath.Join(s.outside, "bin") + string(filepath.ListSeparator) + os.Getenv("PATH")
}
