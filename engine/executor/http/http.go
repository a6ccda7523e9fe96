// Package httpcall answers one question: how is one HTTP request sent?
//
// A tool calls an address that its arguments name, or a path of a Connection
// whose address and credentials its author fixed. Prepare renders the exact
// request, looks the host up and checks every address of it (package network);
// Execute dials one of those addresses and no other. Values in a URL are
// percent-encoded and can change neither host nor depth of a path. A secret is
// read when the request is sent, goes to the host of its Connection alone, and
// is named, never shown, before that. Everything is bounded: bodies, answers,
// redirects, tries (T-27 to T-29, T-31). Errors name no address that a host
// led to.
package httpcall

import (
	"context"
	"crypto/x509"
	"time"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/executor"
	"github.com/writ-dev/writ/engine/network"
	"github.com/writ-dev/writ/engine/template"
	"github.com/writ-dev/writ/engine/value"
)

// Limits, in bytes.
const (
	AnswerDefault = 256 << 10 // T-27
	AnswerLimit   = 2 << 20   // T-27
	SaveDefault   = 16 << 20
	SaveLimit     = 32 << 20 // a download is held in memory until it is approved
	BodyLimit     = 64 << 10 // T-28
	urlLimit      = 8 << 10
	headerLimit   = 64 << 10 // of an answer
)

// RedirectLimit is the largest number of redirects that a document may allow.
const RedirectLimit = 10

// Options is what a Kind works with.
type Options struct {
	Guard *network.Guard
	// Roots are the certificate authorities that are trusted; nil means those
	// of the operating system.
	Roots *x509.CertPool
	// Now is time.Now when nil.
	Now func() time.Time
	// Sleep waits, or returns the error of the context. Nil means a timer.
	Sleep func(context.Context, time.Duration) error
}

// Kind compiles http tools. It keeps the rates of connections by their names
// for as long as the process lives, so that a new generation does not begin
// with a full allowance.
type Kind struct {
	options Options
	rates   *rates
}

// New makes a Kind.
func New(options Options) *Kind {
	if options.Guard == nil {
		options.Guard = &network.Guard{}
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Sleep == nil {
		options.Sleep = sleep
	}
	return &Kind{options: options, rates: &rates{}}
}

func sleep(ctx context.Context, duration time.Duration) error {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Executor carries out one http tool.
type Executor struct {
	kind       *Kind
	files      executor.Guard
	secrets    executor.Secrets
	target     target
	connection *connection // nil when the tool names its own address
	method     choice
	fields     []field
	body       body
	reach      reach
	limit      limit
	timeout    time.Duration // of the whole call, which bounds Prepare too
	tryTimeout time.Duration
	save       string // JSON pointer of the path argument, or ""
	repeatable bool   // a try that broke off may be repeated
	shaped     bool   // the tool says how the body is read
}

// reach is where requests of a tool may go.
type reach struct {
	allow     network.Allow
	words     []string
	narrow    bool // only hosts that allow names
	redirects int
}

// connection is a compiled Connection.
type connection struct {
	name   string
	base   target
	sealed []field // their templates read secrets
	rate   *document.Rate
	retry  retry
}

// field is a named template: a header, or a parameter of query or form.
type field struct {
	name  string
	value *template.Template
}

// choice is a literal, or a template of one slot.
type choice struct {
	literal string
	slot    *template.Template
}

// limit is a number of bytes, or a template of one slot that gives it.
type limit struct {
	fixed, most int64
	slot        *template.Template
}

// Facts declares bytes, the size of the download, for tools that save.
func (e *Executor) Facts() map[string]value.Field {
	if e.save == "" {
		return nil
	}
	return map[string]value.Field{"bytes": value.Of(value.Integer)}
}

// Compile checks the http block of a tool and the Connection that it names.
func (k *Kind) Compile(d executor.Declaration) (executor.Executor, diag.List) {
	c := &compiler{declaration: d, doc: d.Tool.HTTP, slots: executor.Slots(d.Arguments)}
	e := &Executor{
		kind: k, files: d.Guard, secrets: d.Secrets,
		timeout:    executor.Timeout(d.Tool),
		tryTimeout: time.Duration(d.Tool.HTTP.TryTimeout),
		repeatable: d.Tool.Idempotent || d.Tool.Risk == "read_only",
		shaped:     d.Tool.Output != nil && d.Tool.Output.As != "",
	}
	c.address(e)
	e.method = c.method()
	e.fields = c.headers(e.connection)
	e.body = c.body(e.method)
	e.limit = c.limit()
	e.save = c.save(e)
	if c.problems.HasErrors() {
		return nil, c.problems
	}
	return e, c.problems
}
