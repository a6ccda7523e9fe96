package httpcall_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/executor"
	httpcall "github.com/writ-dev/writ/engine/executor/http"
	"github.com/writ-dev/writ/engine/value"
)

func TestAnswer(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if r.URL.Path == "/gone" {
			w.WriteHeader(http.StatusGone)
		}
		_, _ = io.WriteString(w, "hello "+r.Method+" "+r.URL.RequestURI())
	})
	b := newBench(document.HTTP{URL: "${args.url}", Method: "${args.method}", Allow: []string{"loopback"}})
	got := b.run(t, map[string]any{"url": at(server, "HERE.example.com") + "/x?q=1", "method": "GET"})
	want := map[string]any{"status": int64(200), "content_type": "text/plain; charset=utf-8", "bytes": int64(18), "body": "hello GET /x?q=1"}
	want["bytes"] = int64(len(want["body"].(string)))
	if got.Status != call.Complete || !value.Equal(got.Value, want) || got.MediaType != "text/plain" {
		t.Fatalf("%s %s: %v", got.Status, got.Reason, got.Value)
	}
	got = b.run(t, map[string]any{"url": at(server, "here.example.com") + "/gone", "method": "GET"})
	if got.Status != call.Failed || got.Reason != "HTTP 410 Gone" || string(got.Body.Head) != "hello GET /gone" {
		t.Fatalf("%s %s: %s", got.Status, got.Reason, got.Body.Head)
	}
	got = b.run(t, map[string]any{"url": at(server, "here.example.com"), "method": "HEAD"})
	if got.Status != call.Complete || len(got.Body.Head) != 0 {
		t.Fatalf("%s %s: %s", got.Status, got.Reason, got.Body.Head)
	}
	b.tool.Output = &document.Output{As: "json"}
	if got := b.run(t, map[string]any{"url": at(server, "here.example.com"), "method": "GET"}); got.Value != nil || len(got.Body.Head) == 0 {
		t.Fatalf("a shaped tool got %v", got.Value)
	}
}

func TestRefusedAddresses(t *testing.T) {
	server := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the server was called") })
	for _, test := range []struct{ name, url, allow string }{
		{"loopback", server.URL, ""},
		{"name of loopback", at(server, "here.example.com"), ""},
		{"localhost", at(server, "localhost"), ""},
		{"old spelling", at(server, "127.1"), "loopback"},
		{"number", at(server, "2130706433"), "loopback"},
		{"private", "http://inside.example.com/", "loopback"},
		{"narrowed by name", at(server, "there.example.com"), "loopback here.example.com"},
		{"a name does not widen", at(server, "here.example.com"), "here.example.com"},
		{"credentials", "http://u:p@here.example.com/", "loopback"},
		{"empty credentials", "http://@here.example.com/", "loopback"},
		{"fragment", at(server, "here.example.com") + "/#x", "loopback"},
		{"scheme", "file:///etc/passwd", "loopback"},
		{"no scheme", "here.example.com", "loopback"},
		{"backslash", `http://here.example.com\@there.example.com/`, "loopback"},
		{"control", "http://here.example.com/\r\nX: y", "loopback"},
		{"port zero", "http://here.example.com:0/", "loopback"},
		{"no port", "http://here.example.com:/", "loopback"},
		{"zone", "http://[fe80::1%25eth0]/", "loopback"},
		{"mapped", "http://[::ffff:127.0.0.1]/", "loopback"},
		{"unknown host", "http://none.example.com/", "loopback"},
		{"metadata", "http://169.254.169.254/latest", "loopback private"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(document.HTTP{URL: "${args.url}", Allow: strings.Fields(test.allow)})
			got := b.run(t, map[string]any{"url": test.url})
			if got.Status != call.Refused || strings.Contains(got.Reason, "10.0.0.1") {
				t.Fatalf("%s: %s", got.Status, got.Reason)
			}
		})
	}
}

func TestRequestOfAConnection(t *testing.T) {
	type seen struct{ method, uri, auth, accept, media, body string }
	got := make(chan seen, 1)
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- seen{r.Method, r.RequestURI, r.Header.Get("Authorization"), r.Header.Get("Accept"), r.Header.Get("Content-Type"), string(body)}
	})
	b := newBench(document.HTTP{
		Connection: "api", Path: "/repos/${args.a}/x-${args.b}", Method: "POST",
		Query:   map[string]string{"q": "${args.a}", "list": "${args.list}", "gone": "${args.maybe}", "fixed": "1 2"},
		Headers: map[string]string{"accept": "text/${args.b}", "X-Gone": "${args.maybe}"},
		JSON:    json.RawMessage(`{"name":"${args.a}","n":"${args.n}","gone":"${args.maybe}"}`),
	})
	b.connections = connectionTo(at(server, "here.example.com") + "/v1/")
	e := b.must(t)
	effect, err := e.Prepare(t.Context(), executor.Input{Arguments: map[string]any{"a": "o w/n&r?#", "b": "plain", "n": int64(7), "list": []any{"x", "y"}}})
	if err != nil {
		t.Fatal(err)
	}
	whole := effect.Preview + string(value.JSON(effect.Bound))
	if strings.Contains(whole, "s3cret") || !strings.Contains(whole, "Bearer ${secrets.token}") || !strings.Contains(whole, "keyed-12") {
		t.Fatalf("what is shown and bound: %s", whole)
	}
	if outcome := e.Execute(t.Context(), effect, executor.Run{}); outcome.Status != call.Complete {
		t.Fatalf("%s: %s", outcome.Status, outcome.Reason)
	}
	want := seen{
		"POST", "/v1/repos/o%20w%2Fn&r%3F%23/x-plain?fixed=1+2&list=x&list=y&q=o+w%2Fn%26r%3F%23", "Bearer s3cret-value",
		"text/plain", "application/json", `{"n":7,"name":"o w/n&r?#"}`,
	}
	if got := <-got; got != want {
		t.Fatalf("sent %+v\nwant %+v", got, want)
	}
}

func TestRefusedArguments(t *testing.T) {
	for name, args := range map[string]map[string]any{
		"step up":         {"a": "..", "b": "x"},
		"step up inside":  {"a": "x/../../y", "b": "x"},
		"encoded step up": {"a": "%2e%2e", "b": "x"},
		"twice encoded":   {"a": "x%252f%252e%252e", "b": "x"},
		"partly encoded":  {"a": "%2e%2e/%zz", "b": "x"},
		"backslash":       {"a": `x\..\y`, "b": "x"},
		"with parameter":  {"a": "..;x", "b": "x"},
		"empty":           {"a": "", "b": "x"},
		"control":         {"a": "a\x00b", "b": "x"},
		"new header":      {"a": "x", "b": "x\r\nX-Evil: 1"},
		"not ascii":       {"a": "x", "b": "é"},
		"absent in path":  {"b": "x"},
	} {
		b := newBench(document.HTTP{Connection: "api", Path: "/repos/${args.a}/issues", Headers: map[string]string{"X-B": "${args.b}"}})
		b.connections = connectionTo("http://here.example.com")
		if got := b.run(t, args); got.Status != call.Refused {
			t.Errorf("%s: %s", name, got.Status)
		}
	}
	b := newBench(document.HTTP{Connection: "api", Path: "/", Method: "POST", Form: map[string]string{"a": "${args.a}"}})
	b.connections = connectionTo("http://here.example.com")
	if got := b.run(t, map[string]any{"a": strings.Repeat("x", httpcall.BodyLimit)}); got.Status != call.Refused {
		t.Errorf("a body above the limit: %s", got.Status)
	}
}

func TestLimits(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/gzip" {
			w.Header().Set("Content-Encoding", "gzip")
			bomb := gzip.NewWriter(w)
			_, _ = bomb.Write(make([]byte, 4<<20))
			_ = bomb.Close()
			return
		}
		_, _ = io.WriteString(w, strings.Repeat("x", 5000))
	})
	b := newBench(document.HTTP{URL: "${args.url}", Allow: []string{"loopback"}, MaxBytes: "${args.n}"})
	got := b.run(t, map[string]any{"url": at(server, "here.example.com"), "n": int64(1000)})
	if got.Status != call.Complete || len(got.Body.Head) != 1000 || !got.Body.Truncated() || got.Value.(map[string]any)["truncated"] != true {
		t.Fatalf("%s: %d of %d bytes", got.Status, len(got.Body.Head), got.Body.Total)
	}
	for _, n := range []int64{0, -1, httpcall.AnswerLimit + 1} {
		if got := b.run(t, map[string]any{"url": at(server, "here.example.com"), "n": n}); got.Status != call.Refused {
			t.Errorf("max_bytes %d: %s", n, got.Status)
		}
	}
	got = b.run(t, map[string]any{"url": at(server, "here.example.com") + "/gzip", "n": int64(1000)})
	if got.Status != call.Failed || !strings.Contains(got.Reason, "compressed") {
		t.Errorf("%s: %s", got.Status, got.Reason)
	}
}

func TestTime(t *testing.T) {
	release := make(chan struct{})
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "begin")
		w.(http.Flusher).Flush()
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	b := newBench(document.HTTP{URL: "${args.url}", Allow: []string{"loopback"}, TryTimeout: document.Duration(50 * time.Millisecond)})
	if got := b.run(t, map[string]any{"url": at(server, "here.example.com")}); got.Status != call.TimedOut {
		t.Errorf("try: %s %s", got.Status, got.Reason)
	}
	b.tool.HTTP.TryTimeout = 0
	e := b.must(t)
	effect, err := e.Prepare(t.Context(), executor.Input{Arguments: map[string]any{"url": at(server, "here.example.com")}})
	if err != nil {
		t.Fatal(err)
	}
	late, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got := e.Execute(late, effect, executor.Run{}); got.Status != call.TimedOut {
		t.Errorf("call: %s %s", got.Status, got.Reason)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if got := e.Execute(stopped, effect, executor.Run{}); got.Status != call.Cancelled {
		t.Errorf("cancelled: %s %s", got.Status, got.Reason)
	}
}

func TestOfflineLooksNothingUp(t *testing.T) {
	b := newBench(document.HTTP{URL: "https://none.example.com/${args.a}"})
	e := b.must(t)
	effect, err := e.Prepare(t.Context(), executor.Input{Arguments: map[string]any{"a": "x"}, Offline: true})
	if err != nil || len(effect.Unresolved) != 1 || !strings.HasPrefix(effect.Preview, "GET https://none.example.com/x") {
		t.Fatalf("%+v, %v", effect, err)
	}
	if got := e.Execute(t.Context(), effect, executor.Run{}); got.Status != call.Failed {
		t.Fatalf("an offline effect was executed: %s", got.Status)
	}
}

func TestCertificateIsVerified(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the server was called") }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	b := newBench(document.HTTP{URL: "${args.url}", Allow: []string{"loopback"}})
	got := b.run(t, map[string]any{"url": at(server, "here.example.com")})
	if got.Status != call.Failed || !strings.Contains(got.Reason, "certificate") {
		t.Fatalf("%s: %s", got.Status, got.Reason)
	}
}

// A server that sends a secret back does not reveal it.
func TestAnswerIsRedacted(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; was="+r.Header.Get("Authorization"))
		_, _ = io.WriteString(w, "you sent "+r.Header.Get("Authorization"))
	})
	b := newBench(document.HTTP{Connection: "api", Path: "/"})
	b.connections = connectionTo(at(server, "here.example.com"))
	e := b.must(t)
	effect, err := e.Prepare(t.Context(), executor.Input{})
	if err != nil {
		t.Fatal(err)
	}
	got := e.Execute(t.Context(), effect, executor.Run{Redactor: b.secrets.Stream})
	all := string(got.Body.Head) + string(value.JSON(got.Value))
	if strings.Contains(all, "s3cret") || !strings.Contains(all, "you sent Bearer [redacted token]") {
		t.Fatalf("got %s", all)
	}
}
