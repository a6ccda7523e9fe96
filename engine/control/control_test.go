//go:build linux || darwin

package control_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/writ-dev/writ/engine/control"
)

type sum struct{ A, B int }

func start(t *testing.T, dir string) (stop func()) {
	t.Helper()
	listener, err := control.Listen(dir, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- control.Serve(ctx, listener, control.Options{Verbs: verbs, MCP: shout, Log: slog.New(slog.DiscardHandler)})
	}()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// verbs are a few that behave in every way.
var verbs = map[string]control.Verb{
	"add": func(_ context.Context, with json.RawMessage, progress func(any)) (any, error) {
		var s sum
		if err := json.Unmarshal(with, &s); err != nil {
			return nil, err
		}
		progress(s.A)
		progress(s.B)
		return s.A + s.B, nil
	},
	"refuse": func(context.Context, json.RawMessage, func(any)) (any, error) { return nil, errors.New("not today") },
	"panic":  func(context.Context, json.RawMessage, func(any)) (any, error) { panic("a fault") },
	"wait": func(ctx context.Context, _ json.RawMessage, progress func(any)) (any, error) {
		progress("waiting")
		<-ctx.Done()
		return nil, ctx.Err()
	},
	"large": func(context.Context, json.RawMessage, func(any)) (any, error) {
		return strings.Repeat("x", 1<<20), nil
	},
	"too large": func(context.Context, json.RawMessage, func(any)) (any, error) {
		return strings.Repeat("x", control.MaxLine), nil
	},
}

// shout stands for MCP: it answers every line in upper case.
func shout(_ context.Context, conn net.Conn) error {
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		fmt.Fprintln(conn, strings.ToUpper(lines.Text()))
	}
	return lines.Err()
}

func private(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAsk(t *testing.T) {
	for _, name := range []string{"s", strings.Repeat("long", 40)} {
		t.Run(name[:1], func(t *testing.T) {
			dir := private(t, name)
			defer start(t, dir)()
			var seen []string
			var got int
			err := control.Ask(t.Context(), dir, control.Question{
				Do: "add", With: sum{2, 3}, Into: &got,
				Progress: func(p json.RawMessage) { seen = append(seen, string(p)) },
			})
			if err != nil || got != 5 || strings.Join(seen, " ") != "2 3" {
				t.Fatalf("got %d, %v, progress %v", got, err, seen)
			}
			for do, want := range map[string]string{
				"refuse": "not today", "panic": "internal error", "nothing": "does not know",
			} {
				var remote *control.RemoteError
				if err := control.Ask(t.Context(), dir, control.Question{Do: do}); !errors.As(err, &remote) || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v, want %q", do, err, want)
				}
			}
			var text string
			if err := control.Ask(t.Context(), dir, control.Question{Do: "large", Into: &text}); err != nil || len(text) != 1<<20 {
				t.Errorf("large: %d bytes, %v", len(text), err)
			}
		})
	}
}

func TestAnswerThatIsTooLarge(t *testing.T) {
	dir := private(t, "s")
	defer start(t, dir)()
	err := control.Ask(t.Context(), dir, control.Question{Do: "too large"})
	if err == nil || !strings.Contains(err.Error(), "more than") {
		t.Fatal(err)
	}
}

func TestNobody(t *testing.T) {
	for _, name := range []string{"s", strings.Repeat("long", 40)} {
		dir := private(t, name)
		if err := control.Ask(t.Context(), dir, control.Question{Do: "add"}); !errors.Is(err, control.ErrNobody) {
			t.Errorf("before: %v", err)
		}
		start(t, dir)()
		if err := control.Ask(t.Context(), dir, control.Question{Do: "add"}); !errors.Is(err, control.ErrNobody) {
			t.Errorf("after: %v", err)
		}
		if left, _ := os.ReadDir(dir); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

// An owner that was killed leaves its socket behind.
func TestStaleSocketIsReplaced(t *testing.T) {
	for _, name := range []string{"s", strings.Repeat("long", 40)} {
		dir := private(t, name)
		dead, err := control.Listen(dir, os.Getenv)
		if err != nil {
			t.Fatal(err)
		}
		defer dead.Close()
		stop := start(t, dir)
		var got int
		if err := control.Ask(t.Context(), dir, control.Question{Do: "add", With: sum{1, 1}, Into: &got}); err != nil || got != 2 {
			t.Errorf("got %d, %v", got, err)
		}
		stop()
	}
}

func TestSocketIsPrivate(t *testing.T) {
	dir := private(t, "s")
	defer start(t, dir)()
	info, err := os.Stat(filepath.Join(dir, "control.sock"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info.Mode(), err)
	}
}

// starved is a listener that finds no descriptor the first time.
type starved struct {
	net.Listener
	once sync.Once
}

func (s *starved) Accept() (conn net.Conn, err error) {
	s.once.Do(func() { err = &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)} })
	if err != nil {
		return nil, err
	}
	return s.Listener.Accept()
}

// TestShortageDoesNotEndTheSocket: descriptors that clients of another
// listener use up come back.
func TestShortageDoesNotEndTheSocket(t *testing.T) {
	dir := private(t, "s")
	listener, err := control.Listen(dir, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- control.Serve(ctx, &starved{Listener: listener}, control.Options{Verbs: verbs, Log: slog.New(slog.DiscardHandler)})
	}()
	var got int
	if err := control.Ask(t.Context(), dir, control.Question{Do: "add", With: sum{1, 2}, Into: &got}); err != nil || got != 3 {
		t.Errorf("got %d, %v", got, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestPlaceOfSomebodyElse: what stands where an earlier owner's socket was,
// outside the state folder, does not keep a new owner from listening.
func TestPlaceOfSomebodyElse(t *testing.T) {
	dir, other := private(t, strings.Repeat("long", 40)), t.TempDir()
	if err := os.MkdirAll(filepath.Join(other, "control.sock", "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "control.path"), []byte(filepath.Join(other, "control.sock")), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, dir)()
}

func TestGoingAwayCancels(t *testing.T) {
	dir := private(t, "s")
	stop := start(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	err := control.Ask(ctx, dir, control.Question{Do: "wait", Progress: func(json.RawMessage) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("asked: %v", err)
	}
	stop() // returns only when the verb has returned
}

func TestAttach(t *testing.T) {
	dir := private(t, "s")
	defer start(t, dir)()
	conn, err := control.Attach(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "hello\nthere\n")
	if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); string(got) != "HELLO\nTHERE\n" || err != nil {
		t.Fatalf("%q, %v", got, err)
	}
}

func TestNonsenseEndsTheConnectionOnly(t *testing.T) {
	dir := private(t, "s")
	defer start(t, dir)()
	for _, text := range []string{"{\n", "\n", "[]\n", `{"version":9,"do":"add"}` + "\n", `{"version":1,"do":"add","with":"x"}` + "\n", "GET / HTTP/1.1\r\n\r\n"} {
		conn, err := net.Dial("unix", filepath.Join(dir, "control.sock"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, text)
		got, _ := io.ReadAll(conn)
		if strings.Contains(string(got), `"result"`) {
			t.Errorf("%q gave %s", text, got)
		}
		conn.Close()
	}
	var got int
	if err := control.Ask(t.Context(), dir, control.Question{Do: "add", With: sum{1, 2}, Into: &got}); err != nil || got != 3 {
		t.Fatalf("afterwards: %d, %v", got, err)
	}
}

func FuzzRequest(f *testing.F) {
	for _, seed := range []string{"{}\n", `{"version":1,"do":"add","with":{"A":1}}` + "\n", "\x00\n", "{"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		client, server := net.Pipe()
		go func() { _, _ = client.Write(data); _ = client.Close() }()
		control.ReadRequest(server)
		_ = server.Close()
	})
}
