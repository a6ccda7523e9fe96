//go:build linux || darwin || freebsd || netbsd || openbsd

package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/executor"
	"github.com/writ-dev/writ/engine/mask"
	"github.com/writ-dev/writ/engine/value"
)

// The programs of these tests are this test binary, told by its arguments
// what to be.
func TestMain(m *testing.M) {
	mask.Enter()
	if len(os.Args) > 1 && os.Args[1] == "be" {
		be(os.Args[2], os.Args[3:])
		syscall.Exit(0) // past the hooks of coverage, which print
	}
	os.Exit(m.Run())
}

func be(what string, args []string) {
	switch what {
	case "echo":
		fmt.Println(strings.Join(args, " "))
	case "exit":
		code, _ := strconv.Atoi(args[0])
		fmt.Fprint(os.Stdout, args[1])
		fmt.Fprint(os.Stderr, args[2])
		syscall.Exit(code)
	case "env":
		for _, entry := range os.Environ() {
			fmt.Println(entry)
		}
	case "cat":
		_, _ = io.Copy(os.Stdout, os.Stdin)
	case "cwd":
		folder, _ := os.Getwd()
		fmt.Println(folder)
	case "flood":
		line := []byte("y\n")
		block := bytes.Repeat(line, 32<<10)
		for range 16 { // 1 MiB
			os.Stdout.Write(block)
			os.Stderr.Write(block)
		}
	case "descriptors":
		entries, _ := os.ReadDir("/proc/self/fd")
		for _, entry := range entries {
			if target, err := os.Readlink("/proc/self/fd/" + entry.Name()); err == nil && (strings.Contains(target, "zero") || strings.Contains(target, "pipe:") || strings.Contains(target, "null")) {
				fmt.Println(entry.Name())
			}
		}
	case "family": // a child that ignores TERM and tells its number
		signal.Ignore(syscall.SIGTERM)
		child, err := syscall.ForkExec(os.Args[0], []string{os.Args[0], "be", "sleep"}, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
		fmt.Println(os.Getpid(), child, err)
		time.Sleep(time.Hour)
	case "orphan": // leaves a child behind that holds the pipes
		child, err := syscall.ForkExec(os.Args[0], []string{os.Args[0], "be", "sleep"}, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
		fmt.Println(os.Getpid(), child, err)
	case "escape": // leaves a child behind that holds the pipes, in a session of its own
		child, err := syscall.ForkExec(os.Args[0], []string{os.Args[0], "be", "sleep"}, &syscall.ProcAttr{
			Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true},
		})
		fmt.Println(os.Getpid(), child, err)
	case "sleep":
		signal.Ignore(syscall.SIGTERM)
		time.Sleep(time.Hour)
	case "announce":
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		fmt.Println(os.Getpid(), os.Getppid())
		time.Sleep(time.Hour)
	case "server": // starts a program as a server does, and dies of KILL
		tool := &document.Tool{Command: &document.Command{Argv: []string{os.Args[0], "be", "announce"}}}
		compiled, mistakes := testKind().Compile(executor.Declaration{Tool: tool, Arguments: value.Struct(nil)})
		effect, err := compiled.Prepare(context.Background(), executor.Input{})
		if err != nil || len(mistakes) > 0 {
			fmt.Println(err, mistakes)
			return
		}
		compiled.Execute(context.Background(), effect, executor.Run{Redactor: func() executor.Stream { return tell{} }})
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		time.Sleep(time.Hour)
	}
}

// tell passes on what a program says, and then ends this process.
type tell struct{}

func (tell) Write(piece []byte) []byte {
	os.Stdout.Write(piece)
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	return piece
}

func (tell) Flush() []byte { return nil }

// block declares a tool that runs the test binary; more is further JSON.
func block(t testing.TB, more string, words ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	argv, err := json.Marshal(append([]string{self, "be"}, words...))
	if err != nil {
		t.Fatal(err)
	}
	if more != "" {
		more = "," + more
	}
	return `{"argv":` + string(argv) + more + `}`
}

func execute(t testing.TB, ctx context.Context, block string, arguments map[string]any, run executor.Run) call.Outcome {
	t.Helper()
	compiled := compileBlock(t, block)
	effect, err := compiled.Prepare(ctx, executor.Input{Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", block, err)
	}
	return compiled.Execute(ctx, effect, run)
}

func TestStatus(t *testing.T) {
	for _, c := range []struct {
		words      []string
		more       string
		status     call.Status
		code       int
		out, error string
	}{
		{[]string{"exit", "0", "out", "err"}, "", call.Complete, 0, "out", "err"},
		{[]string{"exit", "3", "out", "err"}, "", call.Partial, 3, "out", "err"},
		{[]string{"exit", "3", "", "err"}, "", call.Failed, 3, "", "err"},
		{[]string{"exit", "1", "", ""}, `"success_codes":[0,1]`, call.Complete, 1, "", ""},
		{[]string{"exit", "0", "", ""}, `"success_codes":[1]`, call.Failed, 0, "", ""},
		{[]string{"kill"}, "", call.Failed, -1, "", ""},
	} {
		got := execute(t, context.Background(), block(t, c.more, c.words...), nil, executor.Run{})
		code := -1
		if got.ExitCode != nil {
			code = *got.ExitCode
		}
		if got.Status != c.status || code != c.code || string(got.Body.Head) != c.out || string(got.Errors.Head) != c.error {
			t.Errorf("%v: %+v, exit code %d", c.words, got, code)
		}
		if (got.Reason == "") != (c.status == call.Complete) {
			t.Errorf("%v: reason %q", c.words, got.Reason)
		}
	}
}

func TestSurroundings(t *testing.T) {
	t.Setenv("HOME", "/home/someone")
	t.Setenv("LANG", "C")
	t.Setenv("SECRET_TOKEN", "must not leak")
	t.Setenv("NAMED", "inherited")
	folder, err := os.MkdirTemp("/tmp", "cwd")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	for _, c := range []struct {
		block, want string
	}{
		{block(t, "", "env"), "HOME=/home/someone\nLANG=C\nPATH=" + os.Getenv("PATH") + "\n"},
		{block(t, `"inherit_env":["NAMED"],"env":{"PATH":"/bin","A":"b ${secrets.key}","GONE":"${args.o}","LANG":"${args.o}"}`, "env"),
			"A=b s3cr3t-value\nHOME=/home/someone\nNAMED=inherited\nPATH=/bin\n"},
		{block(t, "", "cat"), ""},
		{block(t, `"stdin":"${args.s} and ${secrets.key}"`, "cat"), "text\x00 and s3cr3t-value"},
		{block(t, `"stdin_json":{"z":["${args.n}"],"a":"${secrets.key}"}`, "cat"), `{"a":"s3cr3t-value","z":[7]}` + "\n"},
		{block(t, "", "cwd"), "/\n"},
		{block(t, `"cwd":"${args.p}"`, "cwd"), folder + "\n"},
		{block(t, "", "echo", "${args.l}"), "$(id) ;id `id`\n"},
		{block(t, `"stdin":"not read"`, "echo"), "\n"},
	} {
		arguments := map[string]any{"s": "text\x00", "n": int64(7), "p": folder, "l": []any{"$(id)", ";id", "`id`"}}
		got := execute(t, context.Background(), c.block, arguments, executor.Run{})
		if string(got.Body.Head) != c.want || got.Status != call.Complete {
			t.Errorf("%s: %s %q %s, want %q", c.block, got.Status, got.Body.Head, got.Errors.Head, c.want)
		}
	}
}

func TestNoDescriptorIsInherited(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("no /proc on this system")
	}
	open, err := unix.Open("/dev/zero", unix.O_RDONLY, 0) // without close-on-exec, as from whoever started the server
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(open)
	got := execute(t, context.Background(), block(t, "", "descriptors"), nil, executor.Run{})
	if string(got.Body.Head) != "0\n1\n2\n" {
		t.Errorf("descriptors %q", got.Body.Head)
	}
}

// masker makes every y longer, to tell whether output is redacted before it is cut.
type masker struct{}

func (masker) Write(piece []byte) []byte { return bytes.ReplaceAll(piece, []byte("y"), []byte("####")) }
func (masker) Flush() []byte             { return []byte("flushed") }

func TestFlood(t *testing.T) {
	var lines atomic.Int64
	got := execute(t, context.Background(), block(t, "", "flood"), nil, executor.Run{
		MaxBytes: 1000, Line: func(n int64) { lines.Store(n) }, Redactor: func() executor.Stream { return masker{} },
	})
	const count = 16 * 32 << 10
	for name, c := range map[string]call.Capture{"body": got.Body, "errors": got.Errors} {
		if c.Total != count*5+7 || len(c.Head) != 500 || len(c.Tail) != 500 || !bytes.HasSuffix(c.Tail, []byte("####\nflushed")) || bytes.Contains(c.Head, []byte("y")) {
			t.Errorf("%s: total %d, head %d, tail %d %q", name, c.Total, len(c.Head), len(c.Tail), c.Tail[max(0, len(c.Tail)-20):])
		}
	}
	if lines.Load() != count || got.Status != call.Complete {
		t.Errorf("%d lines, want %d; %s", lines.Load(), count, got.Status)
	}
}

func TestCaptureKeepsBothEnds(t *testing.T) {
	text := []byte("0123456789abcdefghijklmnopqrstuvwxyz")
	for limit := int64(2); limit < 50; limit++ {
		for step := 1; step < 40; step++ {
			c := newCapture(limit)
			for rest := text; len(rest) > 0; {
				n := min(step, len(rest))
				c.write(rest[:n])
				rest = rest[n:]
			}
			got := c.result()
			want := call.Capture{Head: text, Total: int64(len(text))}
			if int(limit) < len(text) {
				half := int(limit / 2)
				want.Head, want.Tail = text[:half], text[len(text)-int(limit)+half:]
			}
			if !bytes.Equal(got.Head, want.Head) || !bytes.Equal(got.Tail, want.Tail) || got.Total != want.Total {
				t.Fatalf("limit %d, step %d: %q %q", limit, step, got.Head, got.Tail)
			}
		}
	}
}

// numbersIn reads the process numbers that a test program printed.
func numbersIn(t *testing.T, got call.Outcome) []int {
	t.Helper()
	var one, two int
	if _, err := fmt.Sscan(string(got.Body.Head), &one, &two); err != nil || two == 0 {
		t.Fatalf("the program did not start its child: %+v", got)
	}
	return []int{one, two}
}

// gone waits until no process has any of the numbers, or only dead ones that
// their parents have not waited for.
func gone(t *testing.T, pids ...int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if !slices.ContainsFunc(pids, alive) {
			return
		}
	}
	t.Errorf("some of %v are still running", pids)
}

func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	after := string(stat[bytes.LastIndexByte(stat, ')')+1:])
	return !strings.HasPrefix(strings.TrimSpace(after), "Z")
}

func TestStopEndsTheWholeGroup(t *testing.T) {
	deadline, cancelDeadline := context.WithCancelCause(context.Background())
	cancelled, cancel := context.WithCancel(context.Background())
	for name, c := range map[string]struct {
		ctx    context.Context
		stop   func()
		status call.Status
	}{
		"deadline": {deadline, func() { cancelDeadline(context.DeadlineExceeded) }, call.TimedOut},
		"cancel":   {cancelled, cancel, call.Cancelled},
	} {
		var once sync.Once
		got := execute(t, c.ctx, block(t, "", "family"), nil, executor.Run{
			Grace: 30 * time.Millisecond, Line: func(int64) { once.Do(c.stop) },
		})
		if got.Status != c.status {
			t.Errorf("%s: %+v", name, got)
		}
		gone(t, numbersIn(t, got)...)
	}
	if got := execute(t, cancelled, block(t, "", "echo"), nil, executor.Run{}); got.Status != call.Cancelled || got.ExitCode != nil {
		t.Errorf("a cancelled call was started: %+v", got)
	}
}

func TestOrphansAreEnded(t *testing.T) {
	got := execute(t, context.Background(), block(t, "", "orphan"), nil, executor.Run{Grace: 30 * time.Millisecond})
	if got.Status != call.Complete || !strings.Contains(got.Reason, "left running") {
		t.Errorf("%+v", got)
	}
	gone(t, numbersIn(t, got)...)
}

func TestDeathOfTheServerEndsPrograms(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems cannot do this")
	}
	got := execute(t, context.Background(), block(t, "", "server"), nil, executor.Run{Grace: 30 * time.Millisecond})
	if got.ExitCode != nil {
		t.Fatalf("the server did not die: %+v", got)
	}
	gone(t, numbersIn(t, got)...)
}

func TestFailures(t *testing.T) {
	folder := t.TempDir()
	for name, content := range map[string]string{"nointerpreter": "#!/nowhere/sh\n", "binary": "\x00\x01\x02"} {
		path := folder + "/" + name
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
		got := execute(t, context.Background(), `{"argv":["`+path+`"]}`, nil, executor.Run{})
		if got.Status != call.Failed || got.Reason == "" || strings.Contains(got.Reason, folder) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestManyAtOnceLeakNothing(t *testing.T) {
	compiled := compileBlock(t, `{"argv":["true"]}`)
	once := func() {
		effect, err := compiled.Prepare(context.Background(), executor.Input{})
		if err != nil {
			t.Error(err)
			return
		}
		if got := compiled.Execute(context.Background(), effect, executor.Run{}); got.Status != call.Complete {
			t.Errorf("%+v", got)
		}
	}
	once() // what is opened once, is open now
	before := descriptors(t)
	var all sync.WaitGroup
	for range 100 {
		all.Go(once)
	}
	all.Wait()
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); err != unix.ECHILD {
		t.Errorf("a program was not waited for: %d, %v", pid, err)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
