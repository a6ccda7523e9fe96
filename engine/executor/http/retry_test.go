package httpcall_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/executor"
	httpcall "github.com/writ-dev/writ/engine/executor/http"
)

// clock is a time that passes only while somebody sleeps.
type clock struct {
	now    time.Time
	sleeps []time.Duration
}

func (c *clock) Now() time.Time { return c.now }

func (c *clock) Sleep(_ context.Context, duration time.Duration) error {
	c.now = c.now.Add(duration)
	c.sleeps = append(c.sleeps, duration)
	return nil
}

func newClock() *clock { return &clock{now: time.Now()} }

func (b *bench) on(c *clock) { b.options.Now, b.options.Sleep = c.Now, c.Sleep }

func TestRetry(t *testing.T) {
	for _, test := range []struct {
		name       string
		retry      document.Retry
		risk       string
		idempotent bool
		fail       int // answers before success
		status     int
		after      string
		want       call.Status
		sleeps     string
	}{
		{"read", document.Retry{Max: 3, WhenFailed: []string{"503"}}, "read_only", false, 2, 503, "", call.Complete, "[500ms 1s]"},
		{"mutating is not repeated", document.Retry{Max: 3, WhenFailed: []string{"503"}}, "mutating", false, 1, 503, "", call.Failed, "[]"},
		{"idempotent is", document.Retry{Max: 3, WhenFailed: []string{"503"}}, "mutating", true, 1, 503, "", call.Complete, "[500ms]"},
		{"other code", document.Retry{Max: 3, WhenFailed: []string{"503"}}, "read_only", false, 1, 500, "", call.Failed, "[]"},
		{"too often", document.Retry{Max: 2, WhenFailed: []string{"503"}}, "read_only", false, 9, 503, "", call.Failed, "[500ms 1s]"},
		{"backoff is capped", document.Retry{Max: 3, WhenFailed: []string{"503"}, Backoff: document.Duration(6 * time.Second)}, "read_only", false, 3, 503, "", call.Complete, "[6s 10s 10s]"},
		{"retry-after", document.Retry{Max: 3, WhenFailed: []string{"429"}}, "read_only", false, 1, 429, "7", call.Complete, "[7s]"},
		{"retry-after beyond the time", document.Retry{Max: 3, WhenFailed: []string{"429"}}, "read_only", false, 1, 429, "3600", call.Failed, "[]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var calls atomic.Int64
			server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if calls.Add(1) <= int64(test.fail) {
					w.Header().Set("Retry-After", test.after)
					w.WriteHeader(test.status)
				}
			})
			c := newClock()
			b := newBench(document.HTTP{Connection: "api", Path: "/"})
			b.on(c)
			b.tool.Risk, b.tool.Idempotent = test.risk, test.idempotent
			b.connections = connectionTo(at(server, "here.example.com"))
			b.connections["api"].Retry = &test.retry
			e := b.must(t)
			effect, err := e.Prepare(t.Context(), executor.Input{})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			got := e.Execute(ctx, effect, executor.Run{})
			if got.Status != test.want || fmt.Sprint(c.sleeps) != test.sleeps {
				t.Fatalf("%s %s after %v", got.Status, got.Reason, c.sleeps)
			}
		})
	}
}

// A connection that was never made is retried for every tool.
func TestRetryConnect(t *testing.T) {
	seen := &journal{}
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) { seen.note(r) })
	c := newClock()
	b := newBench(document.HTTP{Connection: "api", Path: "/", Method: "POST", JSON: []byte(`{}`)})
	b.on(c)
	b.tool.Risk = "dangerous"
	refusals := 1
	b.options.Guard.Connect = func(ctx context.Context, network, address string) (net.Conn, error) {
		if refusals--; refusals >= 0 {
			return nil, syscall.ECONNREFUSED
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	b.connections = connectionTo(at(server, "here.example.com"))
	b.connections["api"].Retry = &document.Retry{Max: 1, WhenFailed: []string{"connect"}}
	if got := b.run(t, nil); got.Status != call.Complete || len(c.sleeps) != 1 {
		t.Fatalf("%s %s after %v", got.Status, got.Reason, c.sleeps)
	}
	refusals = 2
	if got := b.run(t, nil); got.Status != call.Failed || !strings.Contains(got.Reason, "connection refused") {
		t.Fatalf("%s %s", got.Status, got.Reason)
	}
}

// A request that broke off may have been carried out.
func TestBrokenOffIsNotRepeated(t *testing.T) {
	var calls atomic.Int64
	server := serve(t, func(http.ResponseWriter, *http.Request) {
		calls.Add(1)
		panic(http.ErrAbortHandler)
	})
	b := newBench(document.HTTP{Connection: "api", Path: "/", Method: "POST", JSON: []byte(`{}`)})
	b.on(newClock())
	b.tool.Risk = "mutating"
	b.connections = connectionTo(at(server, "here.example.com"))
	b.connections["api"].Retry = &document.Retry{Max: 2, WhenFailed: []string{"connect"}}
	if got := b.run(t, nil); got.Status != call.Failed || calls.Load() != 1 {
		t.Fatalf("%s %s after %d calls", got.Status, got.Reason, calls.Load())
	}
	b.tool.Idempotent = true
	if got := b.run(t, nil); got.Status != call.Failed || calls.Load() != 4 {
		t.Fatalf("%s %s after %d calls", got.Status, got.Reason, calls.Load())
	}
}

// The rate belongs to the connection: another generation goes on counting.
func TestRate(t *testing.T) {
	server := serve(t, func(http.ResponseWriter, *http.Request) {})
	c := newClock()
	b := newBench(document.HTTP{Connection: "api", Path: "/"})
	b.on(c)
	b.connections = connectionTo(at(server, "here.example.com"))
	b.connections["api"].Rate = &document.Rate{Calls: 2, Every: document.Duration(10 * time.Second)}
	kind := httpcall.New(b.options)
	once := func(limit time.Duration) call.Outcome {
		e, problems := kind.Compile(executor.Declaration{Tool: &b.tool, Connections: b.connections, Secrets: b.secrets})
		if err := problems.Err(); err != nil {
			t.Fatal(err)
		}
		effect, err := e.Prepare(t.Context(), executor.Input{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithDeadline(t.Context(), c.now.Add(limit))
		defer cancel()
		return e.Execute(ctx, effect, executor.Run{})
	}
	for range 5 {
		if got := once(time.Minute); got.Status != call.Complete {
			t.Fatalf("%s: %s", got.Status, got.Reason)
		}
	}
	if fmt.Sprint(c.sleeps) != "[10s 10s]" {
		t.Fatalf("waited %v", c.sleeps)
	}
	if got := once(time.Minute); got.Status != call.Complete {
		t.Fatalf("%s: %s", got.Status, got.Reason)
	}
	if got := once(5 * time.Second); got.Status != call.Failed || !strings.Contains(got.Reason, "rate of connection api") {
		t.Fatalf("%s: %s", got.Status, got.Reason)
	}
}
