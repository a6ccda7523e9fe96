package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/guard"
	"github.com/writ-dev/writ/engine/mcpserver"
)

// shelf is a catalog that tests change by hand.
type shelf struct {
	mu         sync.Mutex
	generation uint64
	tools      []mcpserver.Tool
	changes    chan struct{}
}

func (s *shelf) Generation() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.generation
}

func (s *shelf) Tools() (uint64, []mcpserver.Tool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.generation, s.tools
}

func (s *shelf) Subscribe() (<-chan struct{}, func()) { return s.changes, func() {} }

// publish puts tools in force as a new generation.
func (s *shelf) publish(tools ...mcpserver.Tool) {
	s.mu.Lock()
	s.generation++
	s.tools = tools
	s.mu.Unlock()
	select {
	case s.changes <- struct{}{}:
	default:
	}
}

const noArguments = `{"type":"object","properties":{},"additionalProperties":false}`

func plainTool(name string) mcpserver.Tool {
	return mcpserver.Tool{
		Name: name, Title: "The " + name, Description: "A tool for tests.", Group: "tests", Risk: "read_only",
		Input: json.RawMessage(noArguments), Annotations: mcpserver.Annotations{ReadOnly: true, Idempotent: true},
	}
}

// work is what a fake tool does.
type work func(context.Context, call.Request) call.Result

// pipe stands for the pipeline: it knows its tools by name, and keeps the
// requests that reached it.
type pipe struct {
	mu    sync.Mutex
	tools map[string]work
	seen  []call.Request
}

func (p *pipe) Call(ctx context.Context, r call.Request) call.Result {
	p.mu.Lock()
	p.seen = append(p.seen, r)
	do := p.tools[r.Tool]
	p.mu.Unlock()
	if do == nil {
		return call.Result{Tool: r.Tool, Status: call.Refused, Code: "unknown_tool", Reason: fmt.Sprintf("unknown tool %q", r.Tool)}
	}
	return do(ctx, r)
}

func (p *pipe) requests() []call.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.seen)
}

func done(r call.Request, output string) call.Result {
	return call.Result{
		Tool: r.Tool, Success: true, Status: call.Complete, Output: output,
		RequestID: r.ID, Generation: 1, Risk: "read_only",
	}
}

// tokens maps a token to its caller.
type tokens map[string]string

func (t tokens) Authenticate(token string) (call.Principal, bool) {
	name, ok := t[token]
	return call.Principal{Name: name}, ok
}

// bench is one server under test.
type bench struct {
	shelf  *shelf
	pipe   *pipe
	server *mcpserver.Server
	host   string // 127.0.0.1:port
	stop   func() error
}

func echo(_ context.Context, r call.Request) call.Result {
	result := done(r, "heard "+string(r.Arguments))
	result.Structured = map[string]any{"bytes": int64(len(r.Arguments))}
	return result
}

func newBench(t *testing.T, change func(*mcpserver.Options, *guard.Options)) *bench {
	t.Helper()
	b := &bench{
		shelf: &shelf{changes: make(chan struct{}, 1)},
		pipe:  &pipe{tools: map[string]work{"echo": echo}},
	}
	b.shelf.publish(plainTool("echo"))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b.host = listener.Addr().String()
	hosts, err := guard.NewHosts(guard.HostOptions{Bound: listener.Addr(), Advertised: []string{"https://writ.example.com"}})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	ids := 0
	options := mcpserver.Options{
		Caller: b.pipe, Source: b.shelf, Version: "1.2.3", Log: slog.New(slog.DiscardHandler),
		NewID: func() string {
			mu.Lock()
			defer mu.Unlock()
			ids++
			return fmt.Sprintf("id-%d", ids)
		},
	}
	protection := guard.Options{
		Hosts: hosts, Open: mcpserver.OpenPaths(),
		Authenticator: tokens{"alice-token": "alice", "bob-token": "bob"},
	}
	if change != nil {
		change(&options, &protection)
	}
	b.server = mcpserver.New(options)
	handler := mcpserver.NewHandler(mcpserver.HandlerOptions{
		Guard: guard.New(protection), MCP: b.server,
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "writ_generation 1") }),
	})
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() {
		served <- guard.Serve(ctx, guard.ServeOptions{
			Listener: listener, Handler: handler, Drain: b.server.Close, Grace: 10 * time.Second, Log: options.Log,
		})
	}()
	b.stop = sync.OnceValue(func() error { cancel(); return <-served })
	t.Cleanup(func() {
		if err := b.stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return b
}

// bearer adds a token to every request.
type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

// eras are one revision of each era of the protocol.
var eras = []string{"2025-11-25", "2026-07-28"}

// connect opens a session of the newer protocol with the SDK's own client.
func (b *bench) connect(t *testing.T, options *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	return b.connectAs(t, "2026-07-28", options)
}

func (b *bench) connectAs(t *testing.T, version string, options *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, options)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: "http://" + b.host + "/mcp", HTTPClient: &http.Client{Transport: bearer{"alice-token"}},
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func firstText(r *mcp.CallToolResult) string {
	for _, c := range r.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			return text.Text
		}
	}
	return ""
}

// eventually waits for what another goroutine does.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not happen", what)
		}
	}
}

func contains(t *testing.T, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%q is not in:\n%s", part, text)
	}
}

func callParams(tool, arguments string) *mcp.CallToolParams {
	return &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)}
}
