package mcpserver

import (
	"io"
	"net/http"

	"github.com/uptrace/bunrouter"

	"github.com/writ-dev/writ/engine/guard"
)

// Path is where MCP is served; the rest is for those who watch over a server.
const (
	Path        = "/mcp"
	HealthPath  = "/healthz"
	ReadyPath   = "/readyz"
	MetricsPath = "/metrics"
)

// OpenPaths are those that strangers may ask, for guard.Options.Open.
func OpenPaths() []string { return []string{HealthPath, ReadyPath} }

// Route is a further path of the listener, behind the check of Host and
// Origin. What needs a token is wrapped by guard.Authenticated.
type Route struct {
	Path    string
	Handler http.Handler
}

// HandlerOptions configure NewHandler.
type HandlerOptions struct {
	Guard *guard.Guard
	MCP   *Server
	// Metrics serves Prometheus text; nil means there is none.
	Metrics http.Handler
	// Ready reports whether a catalog is in force and the server does not
	// stop; nil means always.
	Ready  func() bool
	Routes []Route
}

// NewHandler is everything that the HTTP listener serves.
func NewHandler(o HandlerOptions) http.Handler {
	router := bunrouter.New(
		bunrouter.WithNotFoundHandler(plain(http.StatusNotFound, "not found\n")),
		bunrouter.WithMethodNotAllowedHandler(plain(http.StatusMethodNotAllowed, "method not allowed\n")),
	)
	all(router, Path, o.Guard.Authenticated(Endpoint(), o.MCP.Handler()))
	if o.Metrics != nil {
		all(router, MetricsPath, o.Guard.Authenticated(guard.Endpoint{Methods: []string{http.MethodGet}}, o.Metrics))
	}
	healthy := func() bool { return true }
	ready := o.Ready
	if ready == nil {
		ready = healthy
	}
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		router.Handle(method, HealthPath, health(healthy))
		router.Handle(method, ReadyPath, health(func() bool { return ready() && !o.MCP.calls.ending() }))
	}
	for _, route := range o.Routes {
		all(router, route.Path, route.Handler)
	}
	return o.Guard.Outermost(router)
}

// all leaves the choice of methods to the handler, which first wants a token.
func all(router *bunrouter.Router, path string, handler http.Handler) {
	for _, method := range []string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut,
		http.MethodPatch, http.MethodDelete, http.MethodOptions,
	} {
		router.Handle(method, path, bunrouter.HTTPHandler(handler))
	}
}

// health says ok or not ok, and nothing else to anybody.
func health(good func() bool) bunrouter.HandlerFunc {
	return func(w http.ResponseWriter, r bunrouter.Request) error {
		if good() {
			return plain(http.StatusOK, "ok\n")(w, r)
		}
		return plain(http.StatusServiceUnavailable, "not ok\n")(w, r)
	}
}

func plain(status int, text string) bunrouter.HandlerFunc {
	return func(w http.ResponseWriter, _ bunrouter.Request) error {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		_, err := io.WriteString(w, text)
		return err
	}
}
