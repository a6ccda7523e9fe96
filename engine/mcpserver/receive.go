package mcpserver

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/writ-dev/writ/engine/call"
)

// receive wraps the handling of every message: no panic ends the process, no
// internal text leaves, what was not declared is not answered, and the list of
// tools is never seen half changed.
func (s *Server) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (result mcp.Result, err error) {
		defer func() {
			if fault := recover(); fault != nil {
				s.options.Log.Error("panic in mcp method", "method", method, "fault", fault, "stack", string(debug.Stack()))
				result, err = nil, internalError()
			}
		}()
		session, _ := request.GetSession().(*mcp.ServerSession)
		s.sessions.touch(session)
		switch method {
		case "initialize", listen:
			p, ok := s.peer(ctx, request.GetExtra(), session)
			if !ok || p.entry == call.EntryMCP && !s.sessions.add(session, p.principal.Name) {
				return nil, &jsonrpc.Error{Code: codeBusy, Message: "too many sessions: close one, or try again later"}
			}
		case "tools/list":
			s.refresh()
			s.applying.RLock()
			defer s.applying.RUnlock()
		case "tools/call":
			s.refresh()
			ctx, request = s.redirect(ctx, request)
		case "logging/setLevel", "completion/complete", "resources/subscribe", "resources/unsubscribe":
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: method + " is not offered by this server"}
		}
		result, err = next(ctx, method, request)
		return result, s.scrub(method, err)
	}
}

// codeBusy is the first of the codes that JSON-RPC leaves to servers.
const codeBusy = -32000

func internalError() error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
}

// scrub lets protocol errors pass and replaces all else: the SDK would send
// the text of a Go error to the client.
func (s *Server) scrub(method string, err error) error {
	if err == nil {
		return nil
	}
	var wire *jsonrpc.Error
	if errors.As(err, &wire) && wire.Code != jsonrpc.CodeInternalError {
		return err
	}
	s.options.Log.Warn("mcp method failed", "method", method, "error", err)
	return internalError()
}

// peer is who sent a message, and by which way.
type peer struct {
	principal call.Principal
	entry     call.Entry
	session   string
	// gone ends when the connection does; nil for requests that carry the
	// end of their client themselves.
	gone context.Context
}

type peerKey struct{}

// peer reads the caller of this very request. Over HTTP that is the request's
// own token: the context of a session still carries the token of the request
// that opened it. Over a connection it is who was attached to it.
func (s *Server) peer(ctx context.Context, extra *mcp.RequestExtra, session *mcp.ServerSession) (peer, bool) {
	if extra != nil && extra.TokenInfo != nil {
		principal, ok := extra.TokenInfo.Extra[principalExtra].(call.Principal)
		return peer{principal: principal, entry: call.EntryMCP, session: session.ID()}, ok
	}
	p, ok := ctx.Value(peerKey{}).(peer)
	return p, ok
}

// quiet passes the SDK's log on as debug output: it reports every session and
// every mistake of a client as if it were ours.
type quiet struct{ slog.Handler }

func (q quiet) Enabled(ctx context.Context, _ slog.Level) bool {
	return q.Handler.Enabled(ctx, slog.LevelDebug)
}

func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	r.Level = slog.LevelDebug
	return q.Handler.Handle(ctx, r)
}

func (q quiet) WithAttrs(a []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(a)} }
func (q quiet) WithGroup(name string) slog.Handler   { return quiet{q.Handler.WithGroup(name)} }
