package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/guard"
	"github.com/writ-dev/writ/engine/mcpserver"
)

// talk is a client of standard input and output that writes what it likes.
type talk struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Reader
	end chan error
}

func startTalk(t *testing.T, ctx context.Context, b *bench) *talk {
	t.Helper()
	serverIn, in := io.Pipe()
	out, serverOut := io.Pipe()
	k := &talk{t, in, bufio.NewReader(out), make(chan error, 1)}
	go func() {
		err := b.server.ServeStdio(ctx, serverIn, serverOut, call.Principal{Name: "local:someone"})
		_ = serverOut.Close()
		k.end <- err
	}()
	return k
}

func (k *talk) say(lines ...string) {
	k.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(k.in, line+"\n"); err != nil {
			k.t.Fatal(err)
		}
	}
}

// hear reads one line, which must be one JSON object: nothing else may ever be
// written.
func (k *talk) hear() string {
	k.t.Helper()
	line, err := k.out.ReadString('\n')
	if err != nil {
		k.t.Fatal(err)
	}
	var object map[string]any
	if err := json.Unmarshal([]byte(line), &object); err != nil {
		k.t.Fatalf("not protocol: %q", line)
	}
	return line
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

func TestStdio(t *testing.T) {
	b := newBench(t, nil)
	k := startTalk(t, t.Context(), b)
	k.say(hello)
	contains(t, k.hear(), `"protocolVersion":"2025-11-25"`)
	k.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, ``, `   `)
	for _, c := range []struct{ say, hear string }{
		{`{"jsonrpc":`, `"code":-32700`},
		{`{"jsonrpc":"2.0","id":5,"method":"ping","id":6}`, `"code":-32600`},
		{`{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"` + strings.Repeat("a", 40<<10) + `"}}`, `at most 32768 bytes`},
		{`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"echo","arguments":{"a":1}}}` + "\r", `heard {\"a\":1}`},
	} {
		k.say(c.say)
		contains(t, k.hear(), c.hear)
	}
	if r := b.pipe.requests()[0]; r.Entry != call.EntryStdio || r.Principal.Name != "local:someone" || r.Local {
		t.Errorf("got %+v", r)
	}
	_ = k.in.Close()
	if err := <-k.end; err != nil {
		t.Errorf("end: %v", err)
	}
}

// TestStdioEndCancels: a client that goes away takes its calls with it.
func TestStdioEndCancels(t *testing.T) {
	for _, byContext := range []bool{false, true} {
		b := newBench(t, func(o *mcpserver.Options, _ *guard.Options) { o.Limits.EndGrace = time.Millisecond })
		entered, _, cancelled := waits(b)
		ctx, cancel := context.WithCancel(t.Context())
		k := startTalk(t, ctx, b)
		k.say(hello)
		k.hear()
		k.say(`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"echo"}}`)
		<-entered
		go func() { _, _ = io.Copy(io.Discard, k.out) }()
		if byContext {
			cancel()
		} else {
			_ = k.in.Close()
		}
		if !<-cancelled {
			t.Error("the call was not cancelled")
		}
		if err := <-k.end; err != nil {
			t.Errorf("end: %v", err)
		}
		cancel()
	}
}

// TestStdioAnswersAfterTheEnd: what was asked before the input ended is
// answered, as when requests come from a pipe.
func TestStdioAnswersAfterTheEnd(t *testing.T) {
	b := newBench(t, nil)
	var out strings.Builder
	asked := hello + "\n" + `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"echo","arguments":{"a":1}}}`
	err := b.server.ServeStdio(t.Context(), strings.NewReader(asked), &out, call.Principal{Name: "local:someone"})
	if err != nil {
		t.Fatal(err)
	}
	contains(t, out.String(), `"protocolVersion":"2025-11-25"`)
	contains(t, out.String(), `heard {\"a\":1}`)
}

// TestStdioCannotBeWokenUp: the context ends the session although the reader
// of the input stays where it is.
func TestStdioCannotBeWokenUp(t *testing.T) {
	b := newBench(t, nil)
	stuck, release := io.Pipe()
	defer release.Close()
	ctx, cancel := context.WithCancel(t.Context())
	end := make(chan error, 1)
	go func() {
		end <- b.server.ServeStdio(ctx, struct{ io.Reader }{stuck}, io.Discard, call.Principal{Name: "local:someone"})
	}()
	cancel()
	if err := <-end; err != nil {
		t.Errorf("end: %v", err)
	}
}

// TestRelay joins a client of standard input and output to a running server
// over a socket.
func TestRelay(t *testing.T) {
	b := newBench(t, nil)
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	served := make(chan error, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			served <- err
			return
		}
		served <- b.server.ServeConnection(t.Context(), conn, call.Principal{Name: "local:other"})
	}()
	conn, err := net.Dial("unix", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	relayIn, clientOut := io.Pipe()
	clientIn, relayOut := io.Pipe()
	relayed := make(chan error, 1)
	go func() {
		err := mcpserver.Relay(t.Context(), relayIn, relayOut, conn)
		_ = relayOut.Close()
		relayed <- err
	}()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil).
		Connect(t.Context(), &mcp.IOTransport{Reader: clientIn, Writer: clientOut}, nil)
	if err != nil {
		t.Fatal(err)
	}
	result, err := session.CallTool(t.Context(), callParams("echo", `{"over":"there"}`))
	if err != nil || firstText(result) != `heard {"over":"there"}` {
		t.Errorf("%v %v", result, err)
	}
	if r := b.pipe.requests()[0]; r.Entry != call.EntryStdio || r.Principal.Name != "local:other" {
		t.Errorf("got %+v", r)
	}
	_ = session.Close()
	for _, end := range []chan error{served, relayed} {
		if err := <-end; err != nil {
			t.Errorf("end: %v", err)
		}
	}
}
