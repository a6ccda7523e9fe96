// Package tlsprobe answers one question: which certificates does a server show?
//
// It makes one TLS handshake with an address that package network vetted,
// reads the chain and closes the connection: no HTTP is sent (T-30). The chain
// is read whatever it is worth; the verdict says separately whether the name
// fits, the dates hold, and an authority of the operating system vouches for
// it. Nothing of the server's certificate is trusted for anything but printing.
package tlsprobe

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/executor"
	"github.com/writ-dev/writ/engine/network"
	"github.com/writ-dev/writ/engine/template"
	"github.com/writ-dev/writ/engine/value"
)

// chainLimit is how many certificates of a chain are reported, textLimit how
// many bytes of a name.
const (
	chainLimit = 10
	textLimit  = 512
)

// Options is what a Kind works with.
type Options struct {
	Guard *network.Guard
	// Roots are the authorities of the verdict; nil means those of the
	// operating system.
	Roots *x509.CertPool
	// Now is time.Now when nil.
	Now func() time.Time
}

// Kind compiles tls tools.
type Kind struct{ options Options }

// New makes a Kind.
func New(options Options) *Kind {
	if options.Guard == nil {
		options.Guard = &network.Guard{}
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	return &Kind{options: options}
}

// Executor inspects the server that its arguments name.
type Executor struct {
	options    Options
	host, port *template.Template
	allow      network.Allow
	words      []any
	narrow     bool
	timeout    time.Duration
}

type plan struct{ vetted network.Vetted }

// Compile checks host, port and allow.
func (k *Kind) Compile(d executor.Declaration) (executor.Executor, diag.List) {
	doc := d.Tool.TLS
	var problems diag.List
	parse := func(text string, path ...any) *template.Template {
		at := d.Tool.Source.At(append([]any{"tls"}, path...)...)
		parsed, found := template.Parse(text, at)
		if !found.HasErrors() {
			found = append(found, parsed.Check(executor.Slots(d.Arguments), template.Word)...)
		}
		problems = append(problems, found...)
		return parsed
	}
	port := string(doc.Port)
	if port == "" {
		port = "443"
	}
	e := &Executor{options: k.options, timeout: executor.Timeout(d.Tool), host: parse(doc.Host, "host"), port: parse(port, "port")}
	var err error
	if e.allow, err = network.ParseAllow(doc.Allow); err != nil {
		problems.Errorf(d.Tool.Source.At("tls", "allow"), "tls-allow", "%v", err)
	}
	for _, word := range doc.Allow {
		e.words = append(e.words, word)
	}
	if problems.HasErrors() {
		return nil, problems
	}
	if host, fixed := e.host.Literal(); fixed {
		e.allow = e.allow.TrustNames()
		if _, _, err := network.Host(host); err != nil {
			problems.Errorf(d.Tool.Source.At("tls", "host"), "tls-host", "%v", err)
		}
	} else {
		e.narrow = e.allow.Names()
	}
	if text, fixed := e.port.Literal(); fixed {
		if _, err := parsePort(text); err != nil {
			problems.Errorf(d.Tool.Source.At("tls", "port"), "tls-port", "%v", err)
		}
	}
	if problems.HasErrors() {
		return nil, problems
	}
	return e, problems
}

func parsePort(text string) (uint16, error) {
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 || text != strconv.FormatUint(port, 10) {
		return 0, errors.New("a port is a number from 1 to 65535")
	}
	return uint16(port), nil
}

// Prepare checks where the host leads.
func (e *Executor) Prepare(ctx context.Context, in executor.Input) (call.Effect, error) {
	lookup := template.Values(map[string]any{"args": in.Arguments})
	host, err := e.host.Text(lookup)
	if err != nil {
		return call.Effect{}, fmt.Errorf("host: %w", err)
	}
	text, err := e.port.Text(lookup)
	if err != nil {
		return call.Effect{}, fmt.Errorf("port: %w", err)
	}
	port, err := parsePort(text)
	if err != nil {
		return call.Effect{}, err
	}
	name, err := e.options.Guard.Check(host, port, e.allow)
	if err == nil && e.narrow && !e.allow.Has(name) {
		err = &network.RefusedError{Host: name, Why: "the tool inspects only the hosts that it names"}
	}
	if err != nil {
		return call.Effect{}, err
	}
	effect := call.Effect{
		Bound:   map[string]any{"host": name, "port": int64(port), "allow": append([]any{}, e.words...)},
		Preview: fmt.Sprintf("inspect the TLS certificates of %s, port %d", name, port),
	}
	if in.Offline {
		effect.Unresolved = []string{"the addresses of " + name}
		return effect, nil
	}
	if in.Previous != nil {
		if pinned, ok := in.Previous.Pinned.(plan); ok && pinned.vetted.Host == name && pinned.vetted.Port == port {
			effect.Pinned = pinned
			return effect, nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	vetted, err := e.options.Guard.Vet(ctx, name, port, e.allow)
	if err != nil {
		return call.Effect{}, err
	}
	effect.Pinned = plan{vetted}
	return effect, nil
}

// Execute makes the handshake and reports the chain.
func (e *Executor) Execute(ctx context.Context, effect call.Effect, run executor.Run) call.Outcome {
	p, ok := effect.Pinned.(plan)
	if !ok {
		return executor.Fail("the call was not prepared")
	}
	state, err := e.handshake(ctx, p.vetted)
	switch {
	case err != nil && ctx.Err() != nil:
		return executor.Ended(ctx)
	case err != nil:
		return executor.Fail(err.Error())
	}
	report := e.report(p.vetted.Host, state)
	return call.Outcome{
		Status: call.Complete, Value: report,
		Body: run.Capture(value.JSON(report)), MediaType: "application/json",
	}
}

func (e *Executor) handshake(ctx context.Context, to network.Vetted) (tls.ConnectionState, error) {
	raw, err := e.options.Guard.Dial(ctx, to)
	if err != nil {
		return tls.ConnectionState{}, err
	}
	// The chain is what is asked for, also a bad one: it is judged afterwards.
	conn := tls.Client(raw, &tls.Config{ServerName: to.Host, InsecureSkipVerify: true, MinVersion: tls.VersionTLS10})
	defer func() { _ = conn.Close() }()
	if err := conn.HandshakeContext(ctx); err != nil {
		return tls.ConnectionState{}, errors.New("the server made no TLS handshake")
	}
	return conn.ConnectionState(), nil
}

func (e *Executor) report(host string, state tls.ConnectionState) map[string]any {
	chain := []any{}
	for _, certificate := range state.PeerCertificates[:min(len(state.PeerCertificates), chainLimit)] {
		sum := sha256.Sum256(certificate.Raw)
		names := []any{}
		for _, name := range certificate.DNSNames[:min(len(certificate.DNSNames), 100)] {
			names = append(names, clean(name))
		}
		chain = append(chain, map[string]any{
			"subject": clean(certificate.Subject.String()), "issuer": clean(certificate.Issuer.String()),
			"not_before": certificate.NotBefore.UTC().Format(time.RFC3339), "not_after": certificate.NotAfter.UTC().Format(time.RFC3339),
			"sha256": hex.EncodeToString(sum[:]), "names": names,
		})
	}
	return map[string]any{
		"host": host, "version": tls.VersionName(state.Version), "cipher": tls.CipherSuiteName(state.CipherSuite),
		"chain": chain, "verdict": e.judge(host, state.PeerCertificates),
	}
}

// judge says of each condition whether it holds. Trusted alone means that all
// of them do.
func (e *Executor) judge(host string, chain []*x509.Certificate) map[string]any {
	verdict := map[string]any{"host_matches": false, "dates_valid": false, "authority": "none", "trusted": false}
	if len(chain) == 0 {
		return verdict
	}
	now := e.options.Now()
	leaf := chain[0]
	verdict["host_matches"] = leaf.VerifyHostname(host) == nil
	verdict["dates_valid"] = !now.Before(leaf.NotBefore) && !now.After(leaf.NotAfter)
	roots := e.options.Roots
	if roots == nil {
		var err error
		if roots, err = x509.SystemCertPool(); err != nil || roots.Equal(x509.NewCertPool()) {
			verdict["authority"] = "roots unavailable"
			return verdict
		}
	}
	between := x509.NewCertPool()
	for _, certificate := range chain[1:] {
		between.AddCert(certificate)
	}
	_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: now})
	var unknown x509.UnknownAuthorityError
	switch {
	case err == nil:
		verdict["authority"] = "known"
	case errors.As(err, &unknown):
		verdict["authority"] = "unknown"
	default:
		verdict["authority"] = "not verified"
	}
	verdict["trusted"] = err == nil && verdict["host_matches"] == true
	return verdict
}

// clean bounds a text that the server chose. Package output escapes it.
func clean(text string) string {
	if len(text) > textLimit {
		text = text[:textLimit] + "…"
	}
	return strings.ToValidUTF8(text, "\ufffd")
}
