package httpcall

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/writ-dev/writ/engine/network"
	"github.com/writ-dev/writ/engine/template"
)

// answer is what came back, bounded.
type answer struct {
	sent   bool // a connection stood, so the request may have arrived
	status int
	header http.Header
	body   []byte
	more   bool  // the body was longer than the limit
	total  int64 // bytes of the body, at least, as far as is known
}

// hop is one request of a chain of redirects.
type hop struct {
	method  string
	address *url.URL
	vetted  network.Vetted
	header  http.Header
	body    []byte
}

// follow sends the request and follows redirects as far as the document
// allows. Each new address is checked like the first; nothing goes from https
// to http; headers and body stay with the host that they were meant for.
func (e *Executor) follow(ctx context.Context, p *plan) (answer, error) {
	header, err := e.header(p.request)
	if err != nil {
		return answer{}, err
	}
	next := hop{p.request.method, p.request.address, p.vetted, header, p.request.body}
	sent := false
	for left := e.reach.redirects; ; left-- {
		got, err := e.send(ctx, next, p.request.limit)
		got.sent = got.sent || sent
		sent = got.sent
		if err != nil || e.reach.redirects == 0 || !isRedirect(got) {
			return got, err
		}
		if left == 0 {
			return got, failure(fmt.Sprintf("more than %d redirects", e.reach.redirects))
		}
		if next, err = e.redirect(ctx, next, got); err != nil {
			return got, fmt.Errorf("redirect: %w", err)
		}
	}
}

func isRedirect(got answer) bool {
	switch got.status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return got.header.Get("Location") != ""
	}
	return false
}

func (e *Executor) redirect(ctx context.Context, from hop, got answer) (hop, error) {
	location, err := url.Parse(got.header.Get("Location"))
	if err != nil {
		return hop{}, failure("its address cannot be read")
	}
	resolved := from.address.ResolveReference(location)
	resolved.Fragment, resolved.RawFragment = "", ""
	address, err := ParseURL(resolved.String())
	if err != nil {
		return hop{}, failure(err.Error())
	}
	if from.address.Scheme == "https" && address.Scheme == "http" {
		return hop{}, failure("it leads from https to http")
	}
	if _, err := e.admit(address); err != nil {
		return hop{}, err
	}
	host, port := hostPort(address)
	to := hop{method: from.method, address: address, header: from.header, body: from.body}
	if to.vetted, err = e.kind.options.Guard.Vet(ctx, host, port, e.reach.allow); err != nil {
		return hop{}, err
	}
	rewrite := got.status != http.StatusTemporaryRedirect && got.status != http.StatusPermanentRedirect
	if rewrite && to.method != http.MethodHead {
		to.method, to.body = http.MethodGet, nil
		to.header = to.header.Clone()
		to.header.Del("Content-Type")
	}
	if address.Host != from.address.Host || address.Scheme != from.address.Scheme {
		if to.body != nil {
			return hop{}, failure("it would take the body to another host")
		}
		to.header = http.Header{"User-Agent": {"writ"}}
	}
	return to, nil
}

// header fills in the secrets. Only here do their values exist, and only for
// the host of the Connection.
func (e *Executor) header(r *request) (http.Header, error) {
	header := http.Header{"User-Agent": {"writ"}}
	for _, f := range r.fields {
		header.Set(f.name, f.text)
	}
	if r.media != "" && header.Get("Content-Type") == "" {
		header.Set("Content-Type", r.media)
	}
	if e.connection == nil {
		return header, nil
	}
	for _, f := range e.connection.sealed {
		text, err := f.value.Text(e.secret())
		if err == nil && checkHeader(text) != nil {
			err = errors.New("a secret holds characters that no header may hold")
		}
		if err != nil {
			return nil, failure(fmt.Sprintf("header %s: %v", f.name, err))
		}
		header.Set(f.name, text)
	}
	return header, nil
}

func (e *Executor) secret() template.Lookup {
	return func(slot []string) (any, bool, error) {
		text, err := e.secrets.Value(slot[1])
		return text, err == nil, err
	}
}

// send makes one connection, to an address that was vetted, for one request.
// A connection is not kept: the next call may reach elsewhere, or not at all.
func (e *Executor) send(ctx context.Context, h hop, limit int64) (got answer, err error) {
	conn, err := e.kind.options.Guard.Dial(ctx, h.vetted)
	if err != nil {
		return got, err
	}
	got.sent = true
	// Closing also ends what the transport may still do after a cancellation.
	defer func() { _ = conn.Close() }()
	var taken atomic.Bool
	transport := &http.Transport{
		DialContext: func(_ context.Context, _, address string) (net.Conn, error) {
			host, port := hostPort(h.address)
			if address != joinHost(host, port) || taken.Swap(true) {
				return nil, &network.RefusedError{Host: host, Why: "it is not the host that was checked"}
			}
			return conn, nil
		},
		TLSClientConfig:        &tls.Config{RootCAs: e.kind.options.Roots, MinVersion: tls.VersionTLS12},
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: headerLimit,
	}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, h.method, h.address.String(), bytes.NewReader(h.body))
	if err != nil {
		return got, failure("the request cannot be made")
	}
	if h.body == nil {
		request.Body = http.NoBody
	}
	request.Header = h.header.Clone()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return got, err
	}
	defer func() { _ = response.Body.Close() }()
	return read(response, limit, got)
}

// read takes at most limit bytes of the body. Nothing is decompressed: an
// answer that was compressed unasked is refused, so that its size is its size.
func read(response *http.Response, limit int64, got answer) (answer, error) {
	got.status, got.header = response.StatusCode, response.Header
	if got.status < 200 {
		return got, failure("the server wants to speak another protocol")
	}
	if encoding := response.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return got, failure("the answer is compressed, which was not asked for")
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err != nil {
		return got, err
	}
	got.total = int64(len(body))
	if got.total > limit {
		got.more, body = true, body[:limit]
		got.total = max(got.total, response.ContentLength)
	}
	if response.Request.Method == http.MethodHead {
		got.total = max(0, response.ContentLength)
	}
	got.body = body
	return got, nil
}

// mediaType is the type of the body without its parameters.
func (a answer) mediaType() string {
	media, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return media
}

// failure is an error in words that are meant for callers.
type failure string

func (f failure) Error() string { return string(f) }

// explain turns an error of the transport into words for callers, which tell
// nothing of the network behind.
func explain(err error) error {
	var certificate *tls.CertificateVerificationError
	var timeout net.Error
	var connect *network.ConnectError
	var refused *network.RefusedError
	var operation *net.OpError
	var record tls.RecordHeaderError
	var own failure
	var rate *RateError
	switch {
	case errors.As(err, &own), errors.As(err, &rate):
		return err
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &connect):
		return connect
	case errors.As(err, &certificate):
		return errors.New("the certificate of the server is not accepted: " + certificateReason(certificate.Err))
	case errors.As(err, &record):
		return errors.New("the server does not speak TLS")
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return errors.New("the server did not answer in time")
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.As(err, &operation):
		return errors.New("the server ended the connection")
	}
	return errors.New("the server did not answer as HTTP demands")
}

func certificateReason(err error) string {
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &host):
		return "it is for another host"
	case errors.As(err, &unknown):
		return "its authority is not known"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "it is expired or not yet valid"
	}
	return "it does not verify"
}
