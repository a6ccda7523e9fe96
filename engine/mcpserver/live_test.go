package mcpserver_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/guard"
	"github.com/writ-dev/writ/engine/mcpserver"
)

// TestListChanged: clients are told after a generation that changed the list,
// and only then.
func TestListChanged(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) { testListChanged(t, era) })
	}
}

func testListChanged(t *testing.T, era string) {
	b := newBench(t, nil)
	var told atomic.Int64
	session := b.connectAs(t, era, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { told.Add(1) },
	})
	list := func() string {
		t.Helper()
		l, err := session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return names(l)
	}
	b.shelf.publish(plainTool("echo")) // another generation, the same list
	if got := list(); got != "echo writ_inspect writ_invoke writ_tools" {
		t.Errorf("list %q", got)
	}
	time.Sleep(50 * time.Millisecond) // the SDK would have told after 10 ms
	if n := told.Load(); n != 0 {
		t.Errorf("told %d times although nothing changed", n)
	}
	changed := plainTool("echo")
	changed.Description = "Other words."
	b.shelf.publish(changed, plainTool("second"))
	eventually(t, "list_changed", func() bool { return told.Load() == 1 })
	if got := list(); got != "echo second writ_inspect writ_invoke writ_tools" {
		t.Errorf("list %q", got)
	}
	unavailable := plainTool("second")
	unavailable.Unavailable = "its program is gone"
	b.shelf.publish(unavailable)
	eventually(t, "second list_changed", func() bool { return told.Load() == 2 })
	if got := list(); got != "writ_inspect writ_invoke writ_tools" {
		t.Errorf("list %q", got)
	}
}

// TestBadSchemaHidesOneTool: the SDK panics on what it cannot show.
func TestBadSchemaHidesOneTool(t *testing.T) {
	b := newBench(t, nil)
	bad := plainTool("bad")
	bad.Input = []byte(`{"type":"string"}`)
	b.shelf.publish(bad, plainTool("good"))
	list, err := b.connect(t, nil).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := names(list); got != "good writ_inspect writ_invoke writ_tools" {
		t.Errorf("list %q", got)
	}
}

func TestProgress(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) { testProgress(t, era) })
	}
}

func testProgress(t *testing.T, era string) {
	ticks := make(chan time.Time)
	b := newBench(t, func(o *mcpserver.Options, _ *guard.Options) {
		o.Ticker = func(every time.Duration) (<-chan time.Time, func()) {
			if every != 500*time.Millisecond {
				t.Errorf("ticks every %v", every)
			}
			return ticks, func() {}
		}
		clock := time.Unix(0, 0)
		var reads atomic.Int64
		o.Now = func() time.Time { return clock.Add(time.Duration(reads.Add(1)) * 100 * time.Millisecond) }
	})
	leave := make(chan struct{})
	b.pipe.tools["echo"] = func(_ context.Context, r call.Request) call.Result {
		r.Progress(call.Progress{Lines: 7, HasLine: true})
		ticks <- time.Time{}
		ticks <- time.Time{}
		<-leave
		return done(r, "")
	}
	got := make(chan *mcp.ProgressNotificationParams, 8)
	session := b.connectAs(t, era, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { got <- r.Params },
	})
	ended := make(chan error, 1)
	params := callParams("echo", `{}`)
	params.SetProgressToken("token")
	go func() { _, err := session.CallTool(t.Context(), params); ended <- err }()
	first, second := <-got, <-got
	close(leave)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if first.ProgressToken != "token" || second.Progress <= first.Progress {
		t.Errorf("got %+v then %+v", first, second)
	}
	contains(t, second.Message, ", 7 lines")
}

func TestNoProgressUnasked(t *testing.T) {
	b := newBench(t, nil)
	b.pipe.tools["echo"] = func(_ context.Context, r call.Request) call.Result {
		if r.Progress != nil {
			t.Error("progress although there is no token")
		}
		return done(r, "")
	}
	if _, err := b.connect(t, nil).CallTool(t.Context(), callParams("echo", `{}`)); err != nil {
		t.Fatal(err)
	}
}

// waits makes a tool that runs until it is cancelled or released.
func waits(b *bench) (entered chan struct{}, release chan struct{}, cancelled chan bool) {
	entered, release, cancelled = make(chan struct{}, 1), make(chan struct{}), make(chan bool, 1)
	b.pipe.tools["echo"] = func(ctx context.Context, r call.Request) call.Result {
		entered <- struct{}{}
		select {
		case <-ctx.Done():
			cancelled <- true
			return call.Result{Tool: r.Tool, Status: call.Cancelled, Code: "cancelled", Reason: "cancelled"}
		case <-release:
			cancelled <- false
			return done(r, "released")
		}
	}
	return entered, release, cancelled
}

func TestCancelledNotification(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) { testCancelledNotification(t, era) })
	}
}

func testCancelledNotification(t *testing.T, era string) {
	b := newBench(t, nil)
	entered, _, cancelled := waits(b)
	session := b.connectAs(t, era, nil)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { _, err := session.CallTool(ctx, callParams("echo", `{}`)); ended <- err }()
	<-entered
	cancel()
	if !<-cancelled {
		t.Error("the call was not cancelled")
	}
	if err := <-ended; err == nil {
		t.Error("the client saw no end")
	}
}

// hangUp sends a request and closes the connection once the call runs.
func hangUp(t *testing.T, b *bench, request string, entered chan struct{}) {
	t.Helper()
	head, body, _ := strings.Cut(request, "\n\n")
	conn, err := net.Dial("tcp", b.host)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(head, "\n")
	r, err := http.NewRequest("POST", "http://"+b.host+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range append(lines[1:], "Authorization: Bearer alice-token",
		"Content-Type: application/json", "Accept: application/json, text/event-stream") {
		name, text, _ := strings.Cut(line, ": ")
		r.Header.Set(name, text)
	}
	if err := r.Write(conn); err != nil {
		t.Fatal(err)
	}
	<-entered
	_ = conn.Close()
}

// TestHangingUp: without sessions it cancels, with a session it does not.
func TestHangingUp(t *testing.T) {
	b := newBench(t, nil)
	entered, release, cancelled := waits(b)
	hangUp(t, b, modernRequest("echo"), entered)
	if !<-cancelled {
		t.Error("2026-07-28: the call was not cancelled")
	}
	session := b.connectAs(t, "2025-11-25", nil)
	hangUp(t, b, "POST /mcp\nMcp-Session-Id: "+session.ID()+"\nMcp-Protocol-Version: 2025-11-25\n\n"+
		`{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"echo","arguments":{}}}`, entered)
	// The server has seen the end of the connection when it answers another.
	if err := session.Ping(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	close(release)
	if <-cancelled {
		t.Error("2025-11-25: the call was cancelled")
	}
}

// TestGracefulStop: streams end, the running call is answered, new ones are
// refused.
func TestGracefulStop(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) { testGracefulStop(t, era) })
	}
}

func testGracefulStop(t *testing.T, era string) {
	b := newBench(t, nil)
	entered, release, _ := waits(b)
	session := b.connectAs(t, era, &mcp.ClientOptions{}) // holds a stream open
	type answer struct {
		result *mcp.CallToolResult
		err    error
	}
	ended := make(chan answer, 1)
	go func() {
		result, err := session.CallTool(t.Context(), callParams("echo", `{}`))
		ended <- answer{result, err}
	}()
	<-entered
	stopped := make(chan error, 1)
	go func() { stopped <- b.stop() }()
	eventually(t, "closed listener", func() bool {
		conn, err := net.Dial("tcp", b.host)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
	select {
	case err := <-stopped:
		t.Fatalf("stopped while a call ran: %v", err)
	default:
	}
	close(release)
	if a := <-ended; a.err != nil || a.result.IsError {
		t.Errorf("the running call: %v %v", a.result, a.err)
	}
	if err := <-stopped; err != nil {
		t.Errorf("stop: %v", err)
	}
}

// TestStopCancelsAfterGrace: a call that does not end is cancelled, and the
// server waits until it has settled.
func TestStopCancelsAfterGrace(t *testing.T) {
	b := newBench(t, nil)
	entered, _, cancelled := waits(b)
	session := b.connect(t, nil)
	go func() { _, _ = session.CallTool(t.Context(), callParams("echo", `{}`)) }()
	<-entered
	expired, cancel := context.WithCancel(context.Background())
	cancel()
	if err := b.server.Close(expired); err == nil {
		t.Error("no error although the call was cut short")
	}
	if !<-cancelled {
		t.Error("the call was not cancelled")
	}
}
