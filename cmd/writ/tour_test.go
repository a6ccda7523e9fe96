//go:build unix

package main

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// repository is the root of the module, seen from this package.
const repository = "../.."

// TestTour runs the tour of the README word for word: what stands in its sh
// blocks, one after the other, and what its text blocks say that they print.
func TestTour(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(repository, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "\n## Five minutes\n")
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := fenced(section)
	// The first block builds what is being tested already.
	if len(blocks) < 8 || blocks[0].text != "go build -o bin/writ ./cmd/writ\nexport PATH=\"$PWD/bin:$PATH\"\n" {
		t.Fatalf("the tour does not begin with building writ, or is too short: %d blocks", len(blocks))
	}
	tour := newTourist(t)
	for i, b := range blocks[1:] {
		switch {
		case b.language == "text": // checked with the block before it
		case strings.Contains(b.text, "\nwrit serve "):
			tour.serve(b.text)
		case i+2 < len(blocks) && blocks[i+2].language == "text":
			tour.expect(b.text, blocks[i+2].text)
		default:
			tour.run(b.text)
		}
	}
}

// block is one fenced block of a page.
type block struct{ language, text string }

func fenced(page string) []block {
	var blocks []block
	for _, found := range regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$").FindAllStringSubmatch(page, -1) {
		blocks = append(blocks, block{found[1], found[2]})
	}
	return blocks
}

// tourist types the blocks into shells that share a home, a folder and what was exported.
type tourist struct {
	t       *testing.T
	home    string
	environ []string
	kept    string // what a shell would still know
}

func newTourist(t *testing.T) *tourist {
	home := t.TempDir()
	tour := &tourist{t: t, home: home, environ: []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "NO_COLOR=1",
		"WRIT_LISTEN=127.0.0.1:0", // the port of the README may be taken
	}}
	if err := os.Chmod(home, 0o700); err != nil {
		t.Fatal(err)
	}
	return tour
}

func (tour *tourist) shell(ctx context.Context, text string) *exec.Cmd {
	shell := exec.CommandContext(ctx, "sh", "-c", tour.kept+text)
	shell.Dir, shell.Env = tour.home, tour.environ
	shell.WaitDelay = 10 * time.Second
	return shell
}

func (tour *tourist) run(text string) {
	tour.t.Helper()
	if out, err := tour.shell(tour.t.Context(), text).CombinedOutput(); err != nil {
		tour.t.Fatalf("%s: %v\n%s", text, err, out)
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "export ") || strings.HasPrefix(line, "cd ") {
			tour.kept += line
		}
	}
}

// serve starts the server in a terminal of its own, and stops it at the end.
func (tour *tourist) serve(text string) {
	var out bytes.Buffer
	// exec, so that the signal reaches the server.
	shell := tour.shell(context.WithoutCancel(tour.t.Context()), strings.Replace(text, "\nwrit serve ", "\nexec writ serve ", 1))
	shell.Stdout, shell.Stderr = &out, &out
	if err := shell.Start(); err != nil {
		tour.t.Fatal(err)
	}
	tour.t.Cleanup(func() {
		_ = shell.Process.Signal(os.Interrupt)
		if err := shell.Wait(); err != nil {
			tour.t.Errorf("the server did not end well: %v\n%s", err, &out)
		}
	})
	for deadline := time.Now().Add(patient); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if tour.shell(tour.t.Context(), "writ status --config ~/writ-demo | grep -q ^address").Run() == nil {
			return
		}
	}
	tour.t.Fatal("the server does not answer")
}

// expect runs a block until it prints what the page says: a person is slower
// than a reload, and a test is not.
func (tour *tourist) expect(text, want string) {
	tour.t.Helper()
	pattern := regexp.MustCompile(`(?s)^` + strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(want)), "…", ".*") + `$`)
	var got string
	for deadline := time.Now().Add(patient); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		out, _ := tour.shell(tour.t.Context(), text).CombinedOutput() // a refusal is an answer too
		var lines []string
		for line := range strings.Lines(string(out)) {
			lines = append(lines, strings.TrimRight(line, " \n"))
		}
		if got = strings.TrimSpace(strings.Join(lines, "\n")); pattern.MatchString(got) {
			return
		}
	}
	tour.t.Errorf("%s\ngot\n%s\nwant\n%s", text, got, want)
}

// TestExamples runs the script of every example in a copy of it that lies
// beside copies of the shipped tools and policies, as in the repository.
func TestExamples(t *testing.T) {
	scripts, err := filepath.Glob(filepath.Join(repository, "examples", "*", "*.txtar"))
	if err != nil || len(scripts) < 3 {
		t.Fatalf("%d scripts: %v", len(scripts), err)
	}
	for _, script := range scripts {
		example := filepath.Base(filepath.Dir(script))
		t.Run(example, func(t *testing.T) {
			testscript.Run(t, testscript.Params{
				Files: []string{script},
				Setup: func(env *testscript.Env) error { return setUpExample(env, example) },
			})
		})
	}
}

func setUpExample(env *testscript.Env, example string) error {
	for _, folder := range []string{"tools.d", "policies", filepath.Join("examples", example)} {
		if err := copyTree(filepath.Join(env.WorkDir, folder), filepath.Join(repository, folder)); err != nil {
			return err
		}
	}
	env.Cd = filepath.Join(env.WorkDir, "examples", example)
	home := filepath.Join(env.WorkDir, "home")
	env.Setenv("HOME", home)
	env.Setenv("XDG_CONFIG_HOME", "")
	env.Setenv("XDG_STATE_HOME", "")
	return os.Mkdir(home, 0o700)
}

// copyTree copies regular files with modes that Writ trusts.
func copyTree(to, from string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o644)
	})
}
