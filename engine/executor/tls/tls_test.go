package tlsprobe_test

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/executor"
	tlsprobe "github.com/writ-dev/writ/engine/executor/tls"
	"github.com/writ-dev/writ/engine/network"
	"github.com/writ-dev/writ/engine/value"
)

// here resolves every name to this machine.
type here struct{}

func (here) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

func compile(t *testing.T, options tlsprobe.Options, doc document.TLS) executor.Executor {
	t.Helper()
	options.Guard = &network.Guard{Resolver: here{}}
	e, problems := tlsprobe.New(options).Compile(executor.Declaration{
		Tool: &document.Tool{Header: document.Header{Name: "t"}, TLS: &doc},
		Arguments: value.Struct(map[string]value.Field{
			"host": value.Of(value.String), "port": value.Of(value.Integer),
			"maybe": {Type: value.Type{Kind: value.Integer}, Optional: true},
		}),
	})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return e
}

// server is a TLS server whose certificate is for example.com; no request may
// reach its handler.
func server(t *testing.T) (*httptest.Server, int64) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("HTTP was sent") }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	address := netip.MustParseAddrPort(s.Listener.Addr().String())
	return s, int64(address.Port())
}

var arguments = document.TLS{Host: "${args.host}", Port: "${args.port}", Allow: []string{"loopback"}}

func inspect(t *testing.T, e executor.Executor, host string, port int64) call.Outcome {
	t.Helper()
	effect, err := e.Prepare(t.Context(), executor.Input{Arguments: map[string]any{"host": host, "port": port}})
	if err != nil {
		return call.Outcome{Status: call.Refused, Reason: err.Error()}
	}
	return e.Execute(t.Context(), effect, executor.Run{})
}

func TestVerdict(t *testing.T) {
	s, port := server(t)
	known, other := x509.NewCertPool(), x509.NewCertPool()
	known.AddCert(s.Certificate())
	during, after := s.Certificate().NotBefore.Add(time.Hour), s.Certificate().NotAfter.Add(time.Hour)
	for _, test := range []struct {
		name, host string
		roots      *x509.CertPool
		now        time.Time
		want       map[string]any
	}{
		{"good", "Example.com.", known, during, map[string]any{"host_matches": true, "dates_valid": true, "authority": "known", "trusted": true}},
		{"other host", "other.example.org", known, during, map[string]any{"host_matches": false, "dates_valid": true, "authority": "known", "trusted": false}},
		{"expired", "example.com", known, after, map[string]any{"host_matches": true, "dates_valid": false, "authority": "not verified", "trusted": false}},
		{"unknown authority", "example.com", other, during, map[string]any{"host_matches": true, "dates_valid": true, "authority": "unknown", "trusted": false}},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := compile(t, tlsprobe.Options{Roots: test.roots, Now: func() time.Time { return test.now }}, arguments)
			got := inspect(t, e, test.host, port)
			if got.Status != call.Complete {
				t.Fatalf("%s: %s", got.Status, got.Reason)
			}
			report := got.Value.(map[string]any)
			if !value.Equal(report["verdict"], test.want) {
				t.Errorf("verdict %v, want %v", report["verdict"], test.want)
			}
			sum := sha256.Sum256(s.Certificate().Raw)
			leaf := report["chain"].([]any)[0].(map[string]any)
			if leaf["sha256"] != hex.EncodeToString(sum[:]) || leaf["not_after"] != s.Certificate().NotAfter.UTC().Format(time.RFC3339) {
				t.Errorf("leaf %v", leaf)
			}
			if string(got.Body.Head) != string(value.JSON(report)) {
				t.Errorf("body %s", got.Body.Head)
			}
		})
	}
}

func TestRefuses(t *testing.T) {
	_, port := server(t)
	e := compile(t, tlsprobe.Options{}, document.TLS{Host: "${args.host}", Port: "${args.port}"})
	for _, host := range []string{"example.com", "127.0.0.1", "localhost", "127.1", "::1", "a b", ""} {
		if got := inspect(t, e, host, port); got.Status != call.Refused {
			t.Errorf("%q: %s", host, got.Status)
		}
	}
	e = compile(t, tlsprobe.Options{}, document.TLS{Host: "${args.host}", Port: "${args.port}", Allow: []string{"loopback", "example.com"}})
	if got := inspect(t, e, "example.org", port); got.Status != call.Refused {
		t.Errorf("a host that is not named: %s", got.Status)
	}
	for _, bad := range []int64{0, -1, 65536} {
		if got := inspect(t, e, "example.com", bad); got.Status != call.Refused {
			t.Errorf("port %d: %s", bad, got.Status)
		}
	}
}

func TestNoHandshake(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	port := netip.MustParseAddrPort(plain.Listener.Addr().String()).Port()
	e := compile(t, tlsprobe.Options{}, arguments)
	if got := inspect(t, e, "example.com", int64(port)); got.Status != call.Failed || got.Reason != "the server made no TLS handshake" {
		t.Errorf("%s: %s", got.Status, got.Reason)
	}
}

func TestOffline(t *testing.T) {
	e := compile(t, tlsprobe.Options{}, document.TLS{Host: "example.com"})
	effect, err := e.Prepare(t.Context(), executor.Input{Offline: true})
	if err != nil || len(effect.Unresolved) != 1 || effect.Preview != "inspect the TLS certificates of example.com, port 443" {
		t.Fatalf("%+v, %v", effect, err)
	}
	if got := e.Execute(t.Context(), effect, executor.Run{}); got.Status != call.Failed {
		t.Fatalf("an offline effect was executed: %s", got.Status)
	}
}

func TestCompileRefuses(t *testing.T) {
	for name, doc := range map[string]document.TLS{
		"host":     {Host: "127.1"},
		"no host":  {},
		"port":     {Host: "example.com", Port: "https"},
		"high":     {Host: "example.com", Port: document.Port(strconv.Itoa(65536))},
		"absent":   {Host: "example.com", Port: "${args.maybe}"},
		"unknown":  {Host: "${args.none}"},
		"allow":    {Host: "example.com", Allow: []string{"10.0.0.1"}},
		"unclosed": {Host: "${args.host"},
	} {
		_, problems := tlsprobe.New(tlsprobe.Options{}).Compile(executor.Declaration{
			Tool: &document.Tool{Header: document.Header{Name: "t"}, TLS: &doc},
			Arguments: value.Struct(map[string]value.Field{
				"host": value.Of(value.String), "maybe": {Type: value.Type{Kind: value.Integer}, Optional: true},
			}),
		})
		if !problems.HasErrors() {
			t.Errorf("%s was accepted", name)
		}
	}
}
