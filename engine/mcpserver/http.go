package mcpserver

import (
	"bytes"
	"context"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/guard"
)

// principalExtra is where a request's token information holds the caller.
const principalExtra = "principal"

// modern is the first revision without sessions.
const modern = "2026-07-28"

// listen is the one message that is not answered until the client leaves.
const listen = "subscriptions/listen"

// Endpoint is what the MCP path accepts, for guard.Authenticated.
func Endpoint() guard.Endpoint {
	return guard.Endpoint{
		Methods:   []string{http.MethodGet, http.MethodPost, http.MethodDelete},
		MediaType: "application/json",
	}
}

// transports serve the eras of the protocol on one path. The newer one has no
// sessions, the older ones do; each client gets all that its era has.
type transports struct {
	server   *Server
	sessions http.Handler // 2025-11-25 and older
	stream   http.Handler // 2026-07-28, answers as an event stream
	single   http.Handler // 2026-07-28, answers with one JSON value
}

// Handler serves MCP over HTTP. It stands behind guard.Authenticated, which
// tells it the caller and the body.
func (s *Server) Handler() http.Handler {
	get := func(*http.Request) *mcp.Server { return s.sdk }
	options := mcp.StreamableHTTPOptions{
		SessionTimeout:      s.options.Limits.SessionTimeout,
		MaxRequestBodyBytes: HardMaxMessage,
		// The guard checks Host and Origin, also behind a proxy, where this
		// check would refuse the advertised name.
		DisableLocalhostProtection: true,
		// Without sessions the request is the call: who hangs up cancels it.
		// In the older protocol hanging up means nothing.
		PropagateRequestCancellation: true,
	}
	stream, single := options, options
	stream.Stateless = true
	single.Stateless, single.JSONResponse = true, true
	return identify(&transports{
		server:   s,
		sessions: mcp.NewStreamableHTTPHandler(get, &options),
		stream:   mcp.NewStreamableHTTPHandler(get, &stream),
		single:   mcp.NewStreamableHTTPHandler(get, &single),
	})
}

// identify hands the caller that the guard found to the SDK, in the only way
// that it has. The user id keeps sessions from being taken over.
func identify(next http.Handler) http.Handler {
	verify := func(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
		principal, ok := guard.Principal(ctx)
		if !ok {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{UserID: principal.Name, Extra: map[string]any{principalExtra: principal}}, nil
	}
	return auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(next)
}

func (t *transports) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := guard.Body(r)
	var message envelope
	if r.Method == http.MethodPost {
		var f *fault
		if message, f = checkMessage(body); f != nil {
			refuse(w, f)
			return
		}
		if message.method != listen {
			defer t.server.calls.hold()()
		}
	}
	session := r.Header.Get("Mcp-Session-Id")
	switch {
	case session == "" && r.Header.Get("Mcp-Protocol-Version") >= modern:
		t.stateless(w, r, body)
	case session == "" && r.Method == http.MethodPost:
		t.open(w, r, message)
	default:
		t.sessions.ServeHTTP(w, r)
	}
}

// open lets only those messages make a session that belong before one.
func (t *transports) open(w http.ResponseWriter, r *http.Request, message envelope) {
	switch message.method {
	case "initialize", "ping", "server/discover":
	default:
		refuse(w, &fault{message.id, jsonrpc.CodeInvalidRequest, "there is no session: send initialize first, and its Mcp-Session-Id with what follows"})
		return
	}
	if t.server.sessions.full(principalOf(r).Name) {
		w.Header().Set("Retry-After", "60")
		http.Error(w, "too many sessions: close one, or try again later", http.StatusServiceUnavailable)
		return
	}
	t.sessions.ServeHTTP(w, r)
}

func refuse(w http.ResponseWriter, f *fault) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(f.response())
}

// stateless answers with one JSON value when nothing can come before it:
// that is cheaper, and some clients read nothing else.
func (t *transports) stateless(w http.ResponseWriter, r *http.Request, body []byte) {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	onlyJSON := strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/")
	if onlyJSON {
		r.Header = r.Header.Clone()
		r.Header.Set("Accept", "application/json, text/event-stream")
	}
	if onlyJSON || !bytes.Contains(body, []byte("progressToken")) {
		t.single.ServeHTTP(w, r)
		return
	}
	t.stream.ServeHTTP(w, r)
}

func principalOf(r *http.Request) call.Principal {
	principal, _ := guard.Principal(r.Context())
	return principal
}
