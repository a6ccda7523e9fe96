package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"writ": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			for _, name := range []string{"HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"} {
				dir := filepath.Join(e.WorkDir, "."+strings.ToLower(name))
				if err := os.Mkdir(dir, 0o700); err != nil {
					return err
				}
				e.Setenv(name, dir)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"await": await, "request": request, "code": code,
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// patient is how long anything may take before a test gives up on it.
const patient = 60 * time.Second

// run runs a program in the surroundings of the script.
func run(ts *testscript.TestScript, args []string) (output string, exit int) {
	path := args[0]
	if found, err := lookPath(ts, path); err == nil {
		path = found
	}
	c := exec.Command(path, args[1:]...)
	c.Dir = ts.MkAbs(".")
	c.Env = environment(ts)
	var b bytes.Buffer
	c.Stdout, c.Stderr = &b, &b
	err := c.Run()
	if c.ProcessState == nil {
		ts.Fatalf("run %v: %v", args, err)
	}
	return b.String(), c.ProcessState.ExitCode()
}

func lookPath(ts *testscript.TestScript, name string) (string, error) {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", exec.ErrNotFound
}

func environment(ts *testscript.TestScript) []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "WRIT_CONFIG", "WRIT_TOKEN", "TMPDIR", "GOCOVERDIR"} {
		if value := ts.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// await runs a command again and again until its output matches:
// await PATTERN COMMAND…
func await(ts *testscript.TestScript, not bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: await PATTERN COMMAND…")
	}
	pattern := regexp.MustCompile("(?m)" + args[0])
	var last string
	for deadline := time.Now().Add(patient); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		last, _ = run(ts, args[1:])
		if pattern.MatchString(last) != not {
			for i, group := range pattern.FindStringSubmatch(last) {
				ts.Setenv(fmt.Sprintf("MATCH%d", i), group)
			}
			return
		}
	}
	ts.Fatalf("no match for %s in:\n%s", args[0], last)
}

// code runs a command that must end with an exit code: code N COMMAND…
func code(ts *testscript.TestScript, not bool, args []string) {
	if not || len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND…")
	}
	output, exit := run(ts, args[1:])
	_, _ = io.WriteString(ts.Stdout(), output)
	if fmt.Sprint(exit) != args[0] {
		ts.Fatalf("exit code %d, want %s:\n%s", exit, args[0], output)
	}
}

// request sends one HTTP request and prints the status and the body:
// request METHOD URL [BODY|HEADER: VALUE]…
func request(ts *testscript.TestScript, not bool, args []string) {
	if not || len(args) < 2 {
		ts.Fatalf("usage: request METHOD URL [BODY] [HEADER: VALUE]…")
	}
	var body io.Reader
	headers := http.Header{}
	for _, arg := range args[2:] {
		if name, value, ok := strings.Cut(arg, ": "); ok && !strings.HasPrefix(arg, "{") {
			headers.Set(name, value)
			continue
		}
		body = strings.NewReader(arg)
	}
	r, err := http.NewRequest(args[0], args[1], body)
	ts.Check(err)
	r.Header = headers
	client := http.Client{Timeout: patient}
	answer, err := client.Do(r)
	ts.Check(err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	ts.Check(err)
	fmt.Fprintf(ts.Stdout(), "%d\n%s\n", answer.StatusCode, text)
}
