package httpcall_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/document"
)

// journal notes what a server was sent.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) note(r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	host, _, _ := strings.Cut(r.Host, ":")
	line := r.Method + " " + host + r.URL.Path + " auth=" + r.Header.Get("Authorization") + " body=" + string(body)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

func (j *journal) all() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.lines, "\n")
}

func TestRedirects(t *testing.T) {
	var location string
	var status int
	seen := &journal{}
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen.note(r)
		if r.URL.Path == "/start" {
			w.Header().Set("Location", location)
			w.WriteHeader(status)
		}
	})
	here, there := at(server, "here.example.com"), at(server, "there.example.com")
	for _, test := range []struct {
		name, location string
		status         int
		redirects      int
		method, allow  string
		want, sent     string // a part of the reason, and of what was sent last
	}{
		{"off", "/next", 302, 0, "GET", "loopback", "not followed", "GET here.example.com/start auth=Bearer s3cret-value body="},
		{"same host", "/next", 302, 1, "GET", "loopback", "", "GET here.example.com/next auth=Bearer s3cret-value body="},
		{"another host loses secrets", there + "/next", 302, 1, "GET", "loopback", "", "GET there.example.com/next auth= body="},
		{"another host is not sent a body", there + "/next", 307, 1, "POST", "loopback", "another host", "POST here.example.com/start"},
		{"same host keeps the body", "/next", 308, 1, "POST", "loopback", "", `POST here.example.com/next auth=Bearer s3cret-value body={"a":1}`},
		{"see other drops the body", "/next", 303, 1, "POST", "loopback", "", "GET here.example.com/next auth=Bearer s3cret-value body="},
		{"loop", "/start", 302, 3, "GET", "loopback", "more than 3 redirects", "GET here.example.com/start"},
		{"inwards", "http://inside.example.com/", 302, 1, "GET", "loopback", "refused", "GET here.example.com/start"},
		{"metadata", "http://169.254.169.254/", 302, 1, "GET", "loopback", "refused", "GET here.example.com/start"},
		{"loopback by number", "http://2130706433/", 302, 1, "GET", "loopback", "four decimal", "GET here.example.com/start"},
		{"loopback when only this host is allowed", server.URL + "/next", 302, 1, "GET", "here.example.com", "refused", "GET here.example.com/start"},
		{"scheme", "file:///etc/passwd", 302, 1, "GET", "loopback", "http", "GET here.example.com/start"},
		{"credentials", "http://u:p@here.example.com/", 302, 1, "GET", "loopback", "credentials", "GET here.example.com/start"},
	} {
		t.Run(test.name, func(t *testing.T) {
			location, status = test.location, test.status
			seen.lines = nil
			doc := document.HTTP{Connection: "api", Path: "/start", Method: test.method}
			if test.method == "POST" {
				doc.JSON = []byte(`{"a":1}`)
			}
			b := newBench(doc)
			b.connections = connectionTo(here)
			b.connections["api"].HTTP.Redirects = test.redirects
			b.connections["api"].HTTP.Allow = strings.Fields(test.allow)
			got := b.run(t, nil)
			if (got.Status == call.Complete) != (test.want == "") || !strings.Contains(got.Reason, test.want) {
				t.Errorf("%s: %s", got.Status, got.Reason)
			}
			lines := strings.Split(seen.all(), "\n")
			if last := lines[len(lines)-1]; !strings.HasPrefix(last, test.sent) || test.want == "" && last != test.sent {
				t.Errorf("sent %q, want %q", last, test.sent)
			}
			if strings.Contains(got.Reason, "10.0.0.1") {
				t.Errorf("the reason tells an address: %s", got.Reason)
			}
		})
	}
}

// A caller's URL that may go to named hosts only stays there on redirects.
func TestRedirectStaysNarrow(t *testing.T) {
	seen := &journal{}
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen.note(r)
		w.Header().Set("Location", "http://there.example.com"+r.Host[strings.Index(r.Host, ":"):])
		w.WriteHeader(http.StatusFound)
	})
	b := newBench(document.HTTP{URL: "${args.url}", Redirects: 2, Allow: []string{"loopback", "here.example.com"}})
	got := b.run(t, map[string]any{"url": at(server, "here.example.com")})
	if got.Status != call.Failed || !strings.Contains(got.Reason, "refused") || strings.Contains(seen.all(), "there") {
		t.Fatalf("%s %s: %s", got.Status, got.Reason, seen.all())
	}
}
