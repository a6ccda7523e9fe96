package httpcall_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/executor"
	httpcall "github.com/writ-dev/writ/engine/executor/http"
	"github.com/writ-dev/writ/engine/network"
	"github.com/writ-dev/writ/engine/value"
)

// names is a resolver that knows the hosts of a test.
type names map[string]string

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if address, ok := n[host]; ok {
		return []netip.Addr{netip.MustParseAddr(address)}, nil
	}
	return nil, errors.New("no such host in the test")
}

// vault holds the secrets of a test, each for the connection "api".
type vault map[string]string

func (v vault) Declared(name, _, connection string) (bool, bool) {
	_, ok := v[name]
	return ok, connection == "api"
}

func (v vault) Value(name string) (string, error) { return v[name], nil }

func (v vault) Digest(name string) (string, error) { return fmt.Sprintf("keyed-%d", len(v[name])), nil }

func (v vault) Redact(text string) string {
	for name, secret := range v {
		text = strings.ReplaceAll(text, secret, "[redacted "+name+"]")
	}
	return text
}

func (v vault) Stream() executor.Stream { return &whole{vault: v} }

// whole is a Stream that holds everything back until the end.
type whole struct {
	vault vault
	held  strings.Builder
}

func (w *whole) Write(piece []byte) []byte {
	w.held.Write(piece)
	return nil
}

func (w *whole) Flush() []byte { return []byte(w.vault.Redact(w.held.String())) }

// bench is everything that one test compiles with.
type bench struct {
	options     httpcall.Options
	tool        document.Tool
	connections map[string]*document.Connection
	secrets     vault
}

// newBench resolves here.example.com and there.example.com to this machine.
func newBench(doc document.HTTP) *bench {
	resolver := names{"here.example.com": "127.0.0.1", "there.example.com": "127.0.0.1", "inside.example.com": "10.0.0.1"}
	return &bench{
		options: httpcall.Options{Guard: &network.Guard{Resolver: resolver}},
		tool:    document.Tool{Header: document.Header{Name: "t"}, HTTP: &doc, Risk: "read_only"},
		secrets: vault{"token": "s3cret-value"},
	}
}

func (b *bench) compile() (executor.Executor, diag.List) {
	return httpcall.New(b.options).Compile(executor.Declaration{
		Tool: &b.tool, Connections: b.connections, Secrets: b.secrets,
		Arguments: value.Struct(map[string]value.Field{
			"url": value.Of(value.String), "a": value.Of(value.String), "b": value.Of(value.String),
			"n": value.Of(value.Integer), "list": value.ListOf(value.String),
			"maybe":  {Type: value.Type{Kind: value.String}, Optional: true},
			"path":   {Type: value.Type{Kind: value.String, Format: "path"}},
			"method": {Type: value.Type{Kind: value.String, Enum: []any{"GET", "HEAD"}}},
			"wild":   {Type: value.Type{Kind: value.String, Enum: []any{"GET", "TRACE"}}},
		}),
	})
}

func (b *bench) must(t *testing.T) executor.Executor {
	t.Helper()
	e, problems := b.compile()
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return e
}

// run prepares and executes; a prepare error comes back as a refusal.
func (b *bench) run(t *testing.T, args map[string]any) call.Outcome {
	t.Helper()
	e := b.must(t)
	effect, err := e.Prepare(t.Context(), executor.Input{Arguments: args})
	if err != nil {
		return call.Outcome{Status: call.Refused, Reason: err.Error()}
	}
	return e.Execute(t.Context(), effect, executor.Run{})
}

// at is the address of a test server under another name.
func at(server *httptest.Server, host string) string {
	scheme, port := server.URL[:strings.Index(server.URL, ":")], server.URL[strings.LastIndex(server.URL, ":"):]
	return scheme + "://" + host + port
}

func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

func connectionTo(url string) map[string]*document.Connection {
	return map[string]*document.Connection{"api": {
		Header: document.Header{Name: "api"},
		HTTP: &document.ConnectionHTTP{
			BaseURL: url, Allow: []string{"loopback"},
			Headers: map[string]string{"Authorization": "Bearer ${secrets.token}"},
		},
	}}
}
