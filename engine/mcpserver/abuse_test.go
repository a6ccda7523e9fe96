package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/guard"
	"github.com/writ-dev/writ/engine/mcpserver"
)

func post(t *testing.T, b *bench, body io.Reader) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+b.host+"/mcp", body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	response, err := (bearer{"alice-token"}).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func TestBodyLimit(t *testing.T) {
	b := newBench(t, nil)
	padded := func(n int) string {
		message := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
		return message + strings.Repeat(" ", n-len(message))
	}
	for _, c := range []struct {
		name string
		body io.Reader
		want int
	}{
		{"exactly at the limit", strings.NewReader(padded(32 << 10)), http.StatusOK},
		{"announced", strings.NewReader(padded(33 << 10)), http.StatusRequestEntityTooLarge},
		{"chunked", io.MultiReader(strings.NewReader(padded(33 << 10))), http.StatusRequestEntityTooLarge},
	} {
		if got := post(t, b, c.body).StatusCode; got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// TestHalfRequest sends a part of a body and stalls, or leaves.
func TestHalfRequest(t *testing.T) {
	b := newBench(t, func(_ *mcpserver.Options, g *guard.Options) { g.BodyTimeout = 50 * time.Millisecond })
	half := "POST /mcp HTTP/1.1\r\nHost: " + b.host + "\r\nAuthorization: Bearer alice-token\r\n" +
		"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"jsonrpc\""
	for _, leave := range []bool{false, true} {
		conn, err := net.Dial("tcp", b.host)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, half); err != nil {
			t.Fatal(err)
		}
		if leave {
			_ = conn.Close()
			continue
		}
		answer, err := io.ReadAll(conn)
		_ = conn.Close()
		if err != nil {
			t.Fatal(err)
		}
		contains(t, string(answer), "HTTP/1.1 408 ")
	}
	if r := post(t, b, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)); r.StatusCode != http.StatusOK {
		t.Errorf("afterwards: %d", r.StatusCode)
	}
	if n := len(b.pipe.requests()); n != 0 {
		t.Errorf("%d calls got through", n)
	}
}

func TestArgumentLimit(t *testing.T) {
	b := newBench(t, nil)
	session := b.connect(t, nil)
	arguments := func(n int) string { return `{"x":"` + strings.Repeat("a", n-8) + `"}` }
	fits, err := session.CallTool(t.Context(), callParams("echo", arguments(16<<10)))
	if err != nil || fits.IsError {
		t.Errorf("at the limit: %v %v", fits, err)
	}
	for _, params := range []*mcp.CallToolParams{
		callParams("echo", arguments(16<<10+1)),
		callParams("writ_invoke", `{"tool":"echo","arguments":`+arguments(16<<10)+`}`),
		callParams("writ_tools", arguments(16<<10+1)),
	} {
		result, err := session.CallTool(t.Context(), params)
		if err != nil || !result.IsError {
			t.Errorf("%s over the limit: %v %v", params.Name, result, err)
			continue
		}
		contains(t, firstText(result), "at most 16384 are allowed")
	}
	if n := len(b.pipe.requests()); n != 1 {
		t.Errorf("%d calls got through, want 1", n)
	}
}

// TestPrincipalOfEachRequest: the caller is who sent this request, by its
// entry, with the session's id.
func TestPrincipalOfEachRequest(t *testing.T) {
	b := newBench(t, nil)
	session := b.connect(t, nil)
	if _, err := session.CallTool(t.Context(), callParams("echo", `{"principal":"root"}`)); err != nil {
		t.Fatal(err)
	}
	seen := b.pipe.requests()
	if len(seen) != 1 {
		t.Fatalf("%d calls", len(seen))
	}
	if r := seen[0]; r.Principal.Name != "alice" || r.Entry != call.EntryMCP || r.Local || r.ID == "" {
		t.Errorf("got %+v", r)
	}
}

func TestUnknownToolIsAProtocolError(t *testing.T) {
	b := newBench(t, nil)
	_, err := b.connect(t, nil).CallTool(t.Context(), callParams("nothing", `{}`))
	var wire *jsonrpc.Error
	if !errors.As(err, &wire) || wire.Code != jsonrpc.CodeInvalidParams {
		t.Errorf("got %v", err)
	}
}

func TestExpose(t *testing.T) {
	for expose, want := range map[mcpserver.Expose]string{
		"":                     "echo writ_inspect writ_invoke writ_tools",
		mcpserver.ExposeBoth:   "echo writ_inspect writ_invoke writ_tools",
		mcpserver.ExposeNative: "echo writ_inspect writ_tools",
		mcpserver.ExposeMeta:   "writ_inspect writ_invoke writ_tools",
	} {
		b := newBench(t, func(o *mcpserver.Options, _ *guard.Options) { o.Expose = expose })
		list, err := b.connect(t, nil).ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := names(list); got != want {
			t.Errorf("%q lists %q, want %q", expose, got, want)
		}
	}
}

func names(list *mcp.ListToolsResult) string {
	var all []string
	for _, tool := range list.Tools {
		all = append(all, tool.Name)
	}
	return strings.Join(all, " ")
}

// TestSessionsAreBounded: a principal cannot have more sessions than its
// share, another still can have one, and ending one makes room.
func TestSessionsAreBounded(t *testing.T) {
	b := newBench(t, func(o *mcpserver.Options, _ *guard.Options) {
		o.Limits.MaxSessions, o.Limits.MaxSessionsEach = 3, 2
	})
	initialize := func(token string) *http.Response {
		return send(t, b.host, "POST /mcp\nAuthorization: Bearer "+token+"\n\n"+
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	}
	first := initialize("alice-token").Header.Get("Mcp-Session-Id")
	initialize("alice-token")
	refused := initialize("alice-token")
	if refused.StatusCode != http.StatusServiceUnavailable || refused.Header.Get("Retry-After") == "" {
		t.Errorf("third session: %d", refused.StatusCode)
	}
	if r := initialize("bob-token"); r.StatusCode != http.StatusOK {
		t.Errorf("another principal: %d", r.StatusCode)
	}
	if r := send(t, b.host, "DELETE /mcp\nMcp-Session-Id: "+first+"\n\n"); r.StatusCode != http.StatusNoContent {
		t.Fatalf("delete: %d", r.StatusCode)
	}
	eventually(t, "room after the end of a session", func() bool {
		return initialize("alice-token").StatusCode == http.StatusOK
	})
}

// TestBusyServer: what waits in calls bounds how many requests are served.
func TestBusyServer(t *testing.T) {
	b := newBench(t, func(_ *mcpserver.Options, g *guard.Options) { g.MaxRequests = 1 })
	entered, leave := make(chan struct{}), make(chan struct{})
	b.pipe.tools["echo"] = func(_ context.Context, r call.Request) call.Result {
		close(entered)
		<-leave
		return done(r, "")
	}
	answered := make(chan int, 1)
	go func() { answered <- modernCall(t, b, "echo").StatusCode }()
	<-entered
	if r := post(t, b, strings.NewReader(`{}`)); r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" {
		t.Errorf("got %d", r.StatusCode)
	}
	close(leave)
	if status := <-answered; status != http.StatusOK {
		t.Errorf("the call: %d", status)
	}
}

func modernRequest(tool string) string {
	return fmt.Sprintf("POST /mcp\nMcp-Protocol-Version: 2026-07-28\nMcp-Method: tools/call\nMcp-Name: %s\n\n"+
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, tool, tool)
}

func modernCall(t *testing.T, b *bench, tool string) *http.Response {
	return send(t, b.host, modernRequest(tool))
}
