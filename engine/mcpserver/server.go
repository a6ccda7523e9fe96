// Package mcpserver answers one question: how do MCP clients speak to us?
//
// It serves the catalog over Streamable HTTP, both eras of the protocol on one
// path, and over standard input and output. Every call goes to a Caller, which
// is the pipeline: the room decides nothing, executes nothing and may not
// import an executor. Who calls comes from the request's own token or from the
// operating system, never from a message and never from an older request of
// the same session. What leaves the room was written for clients: results,
// reasons, and protocol errors without internal text. Clients are never asked
// for anything, so nothing that they send can count as an approval.
package mcpserver

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/writ-dev/writ/engine/call"
)

// Defaults (S-15, S-21, S-58, DESIGN §3). Arguments and messages can be
// raised up to HardMaxMessage.
const (
	DefaultMaxArguments = 16 << 10
	DefaultMaxMessage   = 32 << 10
	HardMaxMessage      = 4 << 20
	DefaultMaxSessions  = 256
	// DefaultMaxSessionsEach is for one principal.
	DefaultMaxSessionsEach = 64
	DefaultSessionTimeout  = 30 * time.Minute
	DefaultProgressEvery   = 500 * time.Millisecond
	DefaultEndGrace        = 5 * time.Second
)

// Caller carries out calls. It never panics and never returns an error: every
// failure is in the result. It returns only after what it started has ended.
type Caller interface {
	Call(ctx context.Context, request call.Request) call.Result
}

// Limits bound what clients may send and hold. Zero means the default.
type Limits struct {
	MaxArguments    int // bytes of a call's arguments
	MaxMessage      int // bytes of one message on standard input
	MaxSessions     int // sessions and open listen streams
	MaxSessionsEach int // the same, of one principal
	SessionTimeout  time.Duration
	ProgressEvery   time.Duration
	// EndGrace is how long calls on standard input may go on after its end.
	EndGrace time.Duration
}

// Options configure a Server. Caller and Source are needed.
type Options struct {
	Caller  Caller
	Source  Source
	Expose  Expose // "" means both
	Name    string // of the server; "" means writ
	Version string
	Limits  Limits
	Log     *slog.Logger
	// Now, NewID and Ticker are replaced in tests. NewID returns a text that
	// was never used before.
	Now    func() time.Time
	NewID  func() string
	Ticker func(time.Duration) (ticks <-chan time.Time, stop func())
}

// Server is one MCP server for all transports. It holds one SDK server, whose
// tools follow the catalog.
type Server struct {
	options  Options
	sdk      *mcp.Server
	build    func() Build
	sessions *sessions
	calls    *calls

	applying sync.RWMutex // held while the listed tools change
	view     atomic.Pointer[view]
	follow   func() // ends the subscription
}

// New makes a Server and starts to follow the catalog; Close ends that.
func New(o Options) *Server {
	o = o.withDefaults()
	s := &Server{
		options:  o,
		build:    sync.OnceValue(func() Build { return readBuild(o.Version) }),
		sessions: newSessions(o.Limits.MaxSessions, o.Limits.MaxSessionsEach, o.Now),
		calls:    newCalls(),
	}
	s.sdk = mcp.NewServer(
		&mcp.Implementation{Name: o.Name, Title: "Writ", Version: o.Version},
		&mcp.ServerOptions{
			Instructions: instructions,
			Logger:       slog.New(quiet{o.Log.Handler()}),
			PageSize:     pageSize,
			Capabilities: &mcp.ServerCapabilities{
				Tools:     &mcp.ToolCapabilities{ListChanged: true},
				Prompts:   &mcp.PromptCapabilities{},
				Resources: &mcp.ResourceCapabilities{},
			},
			SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = "private" },
		})
	s.sdk.AddReceivingMiddleware(s.receive)
	s.addMetaTools()
	s.refresh()
	changes, cancel := o.Source.Subscribe()
	done := make(chan struct{})
	s.follow = sync.OnceFunc(func() { cancel(); close(done) })
	go func() {
		for {
			select {
			case <-changes:
				s.refresh()
			case <-done:
				return
			}
		}
	}()
	return s
}

// pageSize keeps a whole catalog on one page: a client that lists page by page
// while the catalog changes would miss tools.
const pageSize = 10_000

const instructions = `Every tool of this server is checked against written policy before it runs.
Check isError in every result: a call that was refused, failed or only partly done says so and gives the reason first. That a call was answered does not mean that it succeeded, and nothing is retried for you.
A call that policy refuses stays refused until the policy changes; do not rephrase it to get around a rule.
Approvals are given locally by a person on the server's side. No tool, argument or answer of a client can approve a call.
writ_tools lists what can be called now, writ_invoke calls a tool by name, writ_inspect describes the server.`

func (o Options) withDefaults() Options {
	l := &o.Limits
	l.MaxArguments = bounded(l.MaxArguments, DefaultMaxArguments, HardMaxMessage)
	l.MaxMessage = bounded(l.MaxMessage, DefaultMaxMessage, HardMaxMessage)
	l.MaxSessions = bounded(l.MaxSessions, DefaultMaxSessions, 1<<16)
	l.MaxSessionsEach = bounded(l.MaxSessionsEach, DefaultMaxSessionsEach, l.MaxSessions)
	if l.SessionTimeout <= 0 {
		l.SessionTimeout = DefaultSessionTimeout
	}
	if l.ProgressEvery <= 0 {
		l.ProgressEvery = DefaultProgressEvery
	}
	if l.EndGrace <= 0 {
		l.EndGrace = DefaultEndGrace
	}
	if o.Name == "" {
		o.Name = "writ"
	}
	if o.Version == "" {
		o.Version = "devel"
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = rand.Text
	}
	if o.Ticker == nil {
		o.Ticker = func(d time.Duration) (<-chan time.Time, func()) {
			t := time.NewTicker(d)
			return t.C, t.Stop
		}
	}
	return o
}

func bounded(n, fallback, most int) int {
	if n <= 0 {
		n = fallback
	}
	return min(n, most)
}

// Close refuses new calls, waits until those that run are answered, and ends
// the sessions with their streams. When the context ends first, it cancels
// what runs and waits until that has settled.
func (s *Server) Close(ctx context.Context) error {
	s.follow()
	s.calls.stop()
	err := s.calls.wait(ctx)
	var ending sync.WaitGroup
	for session := range s.sdk.Sessions() {
		ending.Go(func() { _ = session.Close() })
	}
	ending.Wait()
	return err
}
