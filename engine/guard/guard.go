// Package guard answers one question: may this HTTP request come in at all?
//
// It is the outermost layer of every listener. The order is fixed: the Host
// and Origin headers first (403 with an empty body), then the bearer token
// (401 with a challenge, the same for every reason), then method, media type
// and the size of the body. Behind it a handler reads the caller with
// Principal and the whole body with Body. Health paths skip the Host check
// and the token, and must tell strangers nothing. The guard decides nothing
// about tools, keeps no session, and never looks at what a body says.
package guard

import (
	"net/http"
	"slices"
	"time"

	"github.com/writ-dev/writ/engine/call"
)

// Defaults and hard maxima. MaxBody is S-15; the rest are bounds on slow or
// greedy clients.
const (
	DefaultMaxBody     = 32 << 10
	HardMaxBody        = 4 << 20
	DefaultMaxRequests = 1024
	DefaultBodyTimeout = 10 * time.Second
	// DefaultWriteTimeout bounds one write to a client that does not read. A
	// stream as a whole is not bounded.
	DefaultWriteTimeout = 30 * time.Second
)

// Authenticator knows who holds a token. It compares in constant time and
// answers in the same way whether a token is unknown, revoked or malformed.
type Authenticator interface {
	Authenticate(token string) (call.Principal, bool)
}

// Options configure a Guard. Hosts and Authenticator are needed.
type Options struct {
	Hosts         *Hosts
	Authenticator Authenticator
	// Open lists the paths that skip the Host check, such as /healthz.
	Open []string
	// MaxBody is in bytes, at most HardMaxBody; 0 means DefaultMaxBody.
	MaxBody int64
	// MaxRequests bounds the authenticated requests, streams included, that are
	// served at once; 0 means DefaultMaxRequests.
	MaxRequests  int
	BodyTimeout  time.Duration // 0 means DefaultBodyTimeout
	WriteTimeout time.Duration // 0 means DefaultWriteTimeout
	// Refused, when not nil, is told why a request was turned away: host,
	// origin, token, method, media_type, body, busy.
	Refused func(reason string)
}

// Guard checks requests. It is safe for use by many requests at once.
type Guard struct {
	options Options
	slots   chan struct{}
}

// New makes a Guard.
func New(o Options) *Guard {
	if o.MaxBody <= 0 {
		o.MaxBody = DefaultMaxBody
	}
	o.MaxBody = min(o.MaxBody, HardMaxBody)
	if o.MaxRequests <= 0 {
		o.MaxRequests = DefaultMaxRequests
	}
	if o.BodyTimeout <= 0 {
		o.BodyTimeout = DefaultBodyTimeout
	}
	if o.WriteTimeout <= 0 {
		o.WriteTimeout = DefaultWriteTimeout
	}
	if o.Refused == nil {
		o.Refused = func(string) {}
	}
	return &Guard{options: o, slots: make(chan struct{}, o.MaxRequests)}
}

// Outermost wraps everything that a listener serves: no request passes whose
// Host or Origin is not ours (S-14), except to the open paths.
func (g *Guard) Outermost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bounded := newBoundedWriter(w, g.options.WriteTimeout)
		if r.ContentLength != 0 {
			if r.Method != http.MethodPost {
				bounded.leaveBody() // nobody reads it, and an answer that streams would wait for it
			}
			defer bounded.leaveBody()
		}
		if !slices.Contains(g.options.Open, r.URL.Path) {
			if reason := g.options.Hosts.check(r); reason != "" {
				g.refuse(bounded, reason, http.StatusForbidden, "")
				return
			}
		}
		next.ServeHTTP(bounded, r)
	})
}

// Endpoint says what an authenticated path accepts.
type Endpoint struct {
	Methods []string
	// MediaType is what a request with the method POST must send; "" means any.
	MediaType string
}

// Authenticated lets through who holds a token, then checks method, media type
// and body. The next handler finds the caller with Principal and, for POST,
// the whole body both in the request and with Body.
func (g *Guard) Authenticated(e Endpoint, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		principal, ok := g.authenticate(r)
		if !ok {
			w.Header().Set("WWW-Authenticate", `Bearer realm="writ"`)
			g.refuse(w, "token", http.StatusUnauthorized, "unauthorized: send one valid bearer token\n")
			return
		}
		if !slices.Contains(e.Methods, r.Method) {
			for _, method := range e.Methods {
				w.Header().Add("Allow", method)
			}
			g.refuse(w, "method", http.StatusMethodNotAllowed, "method not allowed\n")
			return
		}
		select {
		case g.slots <- struct{}{}:
			defer func() { <-g.slots }()
		default:
			w.Header().Set("Retry-After", "1")
			g.refuse(w, "busy", http.StatusServiceUnavailable, "busy: too many requests at once\n")
			return
		}
		r = r.WithContext(withPrincipal(r.Context(), principal))
		if r.Method == http.MethodPost && !g.takeBody(e, w, r) {
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (g *Guard) refuse(w http.ResponseWriter, reason string, status int, text string) {
	g.options.Refused(reason)
	if text != "" {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
	}
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text))
}
