package guard_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/guard"
)

type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }

type oneToken string

func (o oneToken) Authenticate(token string) (call.Principal, bool) {
	return call.Principal{Name: "alice"}, token == string(o)
}

func hosts(t *testing.T, o guard.HostOptions) *guard.Hosts {
	t.Helper()
	h, err := guard.NewHosts(o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestHostAndOrigin(t *testing.T) {
	plain := guard.HostOptions{Bound: address("0.0.0.0:8765"), Advertised: []string{"https://Writ.example.com", "http://10.1.2.3:99"}}
	eighty := guard.HostOptions{Bound: address("127.0.0.1:80")}
	secure := guard.HostOptions{Bound: address("[::1]:8443"), TLS: true, Origins: []string{"https://console.example.com"}}
	for _, c := range []struct {
		options      guard.HostOptions
		host, origin string
		want         int
	}{
		{plain, "localhost:8765", "", 200},
		{plain, "LocalHost:8765", "", 200},
		{plain, "127.0.0.1:8765", "http://127.0.0.1:8765", 200},
		{plain, "[::1]:8765", "http://localhost:8765", 200},
		{plain, "writ.example.com", "https://writ.example.com", 200},
		{plain, "writ.example.com:443", "", 200},
		{plain, "10.1.2.3:99", "", 200},
		{plain, "192.0.2.1:8765", "http://192.0.2.1:8765", 200}, // where the connection came in
		{plain, "192.0.2.2:8765", "", 403},
		{plain, "localhost", "", 403},
		{plain, "localhost:8766", "", 403},
		{plain, "localhost.:8765", "", 403},
		{plain, "", "", 403},
		{plain, "writ.example.com.evil.example", "", 403},
		{plain, "localhost:8765", "http://localhost:8766", 403},
		{plain, "localhost:8765", "https://localhost:8765", 403},
		{plain, "localhost:8765", "null", 403},
		{plain, "localhost:8765", "http://evil.example", 403},
		{plain, "localhost:8765", "http://192.0.2.1:8765", 403},
		{eighty, "localhost", "http://localhost", 200},
		{eighty, "localhost:80", "http://127.0.0.1:80", 200},
		{secure, "localhost:8443", "https://localhost:8443", 200},
		{secure, "localhost:8443", "http://localhost:8443", 403},
		{secure, "localhost:8443", "https://console.example.com", 200},
		{secure, "console.example.com", "", 403},
	} {
		g := guard.New(guard.Options{Hosts: hosts(t, c.options), Authenticator: oneToken("t")})
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = c.host
		r = r.WithContext(contextWithLocal(r, "192.0.2.1:8765"))
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		w := httptest.NewRecorder()
		g.Outermost(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("host %q origin %q: %d, want %d", c.host, c.origin, w.Code, c.want)
		}
		if w.Code == 403 && w.Body.Len() > 0 {
			t.Errorf("host %q: a refusal has a body", c.host)
		}
	}
}

func TestAdvertisedOriginIsBare(t *testing.T) {
	for _, bad := range []string{
		"writ.example.com", "ftp://writ.example.com", "https://u:p@writ.example.com", "https://writ.example.com/mcp",
		"https://writ.example.com?x", "https://writ.example.com#x", "http://0.0.0.0:8765", "http://[::]:8765", "https://",
	} {
		if _, err := guard.NewHosts(guard.HostOptions{Bound: address("127.0.0.1:1"), Advertised: []string{bad}}); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestToken(t *testing.T) {
	long := strings.Repeat("a", 257)
	for _, c := range []struct {
		headers []string
		token   string
		want    int
	}{
		{[]string{"Bearer secret"}, "secret", 200},
		{[]string{"bearer secret"}, "secret", 200},
		{nil, "", 401},
		{[]string{""}, "", 401},
		{[]string{"Bearer"}, "", 401},
		{[]string{"Bearer "}, "", 401},
		{[]string{"secret"}, "secret", 401},
		{[]string{"Basic secret"}, "secret", 401},
		{[]string{"Bearer wrong"}, "secret", 401},
		{[]string{"Bearer  secret"}, "secret", 401},
		{[]string{"Bearer secret "}, "secret", 401},
		{[]string{"Bearer secret, Bearer secret"}, "secret", 401},
		{[]string{"Bearer secret", "Bearer secret"}, "secret", 401},
		{[]string{"Bearer " + long}, long, 401},
		{[]string{"Bearer " + long[:256]}, long[:256], 200},
		{[]string{"Bearer sécret"}, "sécret", 401},
	} {
		g := guard.New(guard.Options{Hosts: hosts(t, guard.HostOptions{Bound: address("127.0.0.1:1")}), Authenticator: oneToken(c.token)})
		r := httptest.NewRequest("GET", "/", nil)
		r.Header["Authorization"] = c.headers
		w := httptest.NewRecorder()
		name := ""
		g.Authenticated(guard.Endpoint{Methods: []string{"GET"}}, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			p, _ := guard.Principal(r.Context())
			name = p.Name
		})).ServeHTTP(w, r)
		if w.Code != c.want || (name == "alice") != (c.want == 200) {
			t.Errorf("%q: %d %q, want %d", c.headers, w.Code, name, c.want)
		}
		if challenge := w.Header().Get("WWW-Authenticate"); (challenge != "") != (c.want == 401) {
			t.Errorf("%q: challenge %q", c.headers, challenge)
		}
	}
}

func TestRefusalsAreToldAndBodyIsWhole(t *testing.T) {
	var told []string
	g := guard.New(guard.Options{
		Hosts: hosts(t, guard.HostOptions{Bound: address("127.0.0.1:1")}), Authenticator: oneToken("t"),
		MaxBody: 4, Refused: func(reason string) { told = append(told, reason) },
	})
	body := ""
	handler := g.Authenticated(guard.Endpoint{Methods: []string{"POST"}, MediaType: "application/json"},
		http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			again, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			body = string(guard.Body(r)) + "+" + string(again)
		}))
	for _, c := range []struct {
		method, media, body string
		want                int
	}{
		{"POST", "application/json; charset=utf-8", "1234", 200},
		{"POST", "application/json", "", 200},
		{"POST", "application/json", "12345", 413},
		{"POST", "application/jsonx", "1", 415},
		{"POST", "", "1", 415},
		{"GET", "application/json", "", 405},
	} {
		body = ""
		r := httptest.NewRequest(c.method, "/", strings.NewReader(c.body))
		r.Header.Set("Content-Type", c.media)
		r.Header.Set("Authorization", "Bearer t")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%+v: %d", c, w.Code)
		}
		if want := c.body + "+" + c.body; c.want == 200 && body != want {
			t.Errorf("%+v: body %q", c, body)
		}
	}
	if got := strings.Join(told, " "); got != "body media_type media_type method" {
		t.Errorf("told %q", got)
	}
}

func TestOpenPathsSkipTheHostCheckOnlyExactly(t *testing.T) {
	g := guard.New(guard.Options{Hosts: hosts(t, guard.HostOptions{Bound: address("127.0.0.1:1")}), Open: []string{"/healthz"}})
	for path, want := range map[string]int{"/healthz": 200, "/healthz/": 403, "/mcp": 403, "//healthz": 403} {
		r := httptest.NewRequest("GET", "http://evil.example"+path, nil)
		w := httptest.NewRecorder()
		g.Outermost(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
	}
}

func contextWithLocal(r *http.Request, local string) context.Context {
	addr, err := net.ResolveTCPAddr("tcp", local)
	if err != nil {
		panic(err)
	}
	return context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(addr))
}

// TestClientThatDoesNotRead: a write to it fails after the timeout instead of
// holding the handler.
func TestClientThatDoesNotRead(t *testing.T) {
	g := guard.New(guard.Options{
		Hosts: hosts(t, guard.HostOptions{Bound: address("127.0.0.1:1")}), Open: []string{"/"}, WriteTimeout: 50 * time.Millisecond,
	})
	failed := make(chan error, 1)
	server := httptest.NewServer(g.Outermost(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		piece := make([]byte, 1<<20)
		for {
			if _, err := w.Write(piece); err != nil {
				failed <- err
				return
			}
		}
	})))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// TestBodyOfAStranger: who is turned away, or asks for what has no body,
// cannot hold a connection by promising one that never comes.
func TestBodyOfAStranger(t *testing.T) {
	g := guard.New(guard.Options{
		Hosts: hosts(t, guard.HostOptions{Bound: address("127.0.0.1:1")}), Open: []string{"/healthz"}, Authenticator: oneToken("t"),
	})
	mux := http.NewServeMux()
	mux.Handle("/mcp", g.Authenticated(guard.Endpoint{Methods: []string{"GET", "POST"}}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	mux.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	server := httptest.NewServer(g.Outermost(mux))
	t.Cleanup(server.Close)
	for name, head := range map[string]string{
		"no token":        "POST /mcp HTTP/1.1\r\nHost: localhost:1\r\nContent-Length: 1000\r\n\r\n{",
		"no token, chunk": "POST /mcp HTTP/1.1\r\nHost: localhost:1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{",
		"wrong host":      "POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 1000\r\n\r\n{",
		"open path":       "GET /healthz HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 1000\r\n\r\n{",
		"no such path":    "POST /no HTTP/1.1\r\nHost: localhost:1\r\nContent-Length: 1000\r\n\r\n{",
		"get":             "GET /mcp HTTP/1.1\r\nHost: localhost:1\r\nAuthorization: Bearer t\r\nContent-Length: 1000\r\n\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, head); err != nil {
				t.Fatal(err)
			}
			_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second)) // for a broken guard only
			answer, err := io.ReadAll(conn)
			if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 ") {
				t.Errorf("%q, %v", answer, err)
			}
		})
	}
}
