package mcpserver

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/writ-dev/writ/engine/call"
)

// native handles calls of one declared tool by its own name.
func (s *Server) native(name string) mcp.ToolHandler {
	return func(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		result := s.call(ctx, request, name, request.Params.Arguments)
		if result.Code == codeUnknownTool {
			return nil, unknownTool(name)
		}
		return present(result), nil
	}
}

func unknownTool(name string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", cut(name, maxName))}
}

// maxName is in bytes (S-58).
const maxName = 128

type redirectKey struct{}

// redirect takes a call of a tool that clients are not shown to the pipeline
// all the same: there it leaves a record, and a tool that is only unavailable
// says why. The SDK calls, and marks the results of, only tools that it lists,
// so it is handed the name of one whose handler knows of this. In the meta way
// declared names are no names of MCP tools at all.
func (s *Server) redirect(ctx context.Context, request mcp.Request) (context.Context, mcp.Request) {
	asked, ok := request.(*mcp.CallToolRequest)
	if !ok || asked.Params == nil || s.options.Expose == ExposeMeta || Reserved(asked.Params.Name) {
		return ctx, request
	}
	if _, listed := s.view.Load().native[asked.Params.Name]; listed {
		return ctx, request
	}
	copied, params := *asked, *asked.Params
	params.Name = inspectName
	copied.Params = &params
	return context.WithValue(ctx, redirectKey{}, asked.Params.Name), &copied
}

// The codes of results that this room makes itself, as in call.Result.
const (
	codeUnknownTool = "unknown_tool"
	codeInvalid     = "invalid_arguments"
	codeStopping    = "busy"
	codeInternal    = "internal"
)

// call sends one call through the pipeline and reports its progress.
func (s *Server) call(ctx context.Context, request *mcp.CallToolRequest, tool string, arguments []byte) (result call.Result) {
	defer func() {
		if fault := recover(); fault != nil {
			s.options.Log.Error("panic in a call", "tool", tool, "fault", fault, "stack", string(debug.Stack()))
			result = refusal(tool, call.Failed, codeInternal, "internal error")
		}
	}()
	p, ok := s.peer(ctx, request.Extra, request.Session)
	if !ok {
		return refusal(tool, call.Refused, "denied", "the caller is not known")
	}
	if request.Params.InputResponses != nil || request.Params.RequestState != "" {
		return refusal(tool, call.Refused, codeInvalid, "this server never asks its callers: leave out inputResponses and requestState")
	}
	if limit := s.options.Limits.MaxArguments; len(arguments) > limit {
		return refusal(tool, call.Refused, codeInvalid, fmt.Sprintf("arguments have %d bytes, at most %d are allowed", len(arguments), limit))
	}
	ctx, leave, ok := s.calls.enter(ctx)
	if !ok {
		return refusal(tool, call.Refused, codeStopping, "the server is stopping")
	}
	defer leave()
	if p.gone != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(p.gone, cancel)()
	}
	if string(arguments) == "null" {
		arguments = nil
	}
	watch, stop := s.watch(ctx, request)
	defer stop()
	return s.options.Caller.Call(ctx, call.Request{
		ID: s.options.NewID(), Tool: tool, Arguments: arguments,
		Principal: p.principal, Entry: p.entry, Session: p.session, Progress: watch,
	})
}

func refusal(tool string, status call.Status, code, reason string) call.Result {
	return call.Result{Tool: tool, Status: status, Code: code, Reason: reason}
}

// calls counts what runs and what is not answered yet, so that a stop can wait
// for both and then cancel.
type calls struct {
	mu       sync.Mutex
	changed  *sync.Cond
	running  int // in the pipeline
	open     int // messages whose answer is not written yet
	stopping bool
	cancels  map[*context.CancelFunc]struct{}
}

func newCalls() *calls {
	c := &calls{cancels: map[*context.CancelFunc]struct{}{}}
	c.changed = sync.NewCond(&c.mu)
	return c
}

// enter admits a call unless the server stops. The context that it returns
// also ends when the time to drain is over.
func (c *calls) enter(ctx context.Context) (_ context.Context, leave func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopping {
		return ctx, nil, false
	}
	c.running++
	ctx, cancel := context.WithCancel(ctx)
	c.cancels[&cancel] = struct{}{}
	return ctx, func() {
		cancel()
		c.mu.Lock()
		delete(c.cancels, &cancel)
		c.mu.Unlock()
		c.add(-1, 0)
	}, true
}

// hold counts a message until it is answered. A session must not be closed
// before: the SDK then drops the answer.
func (c *calls) hold() (release func()) {
	c.add(0, 1)
	return func() { c.add(0, -1) }
}

func (c *calls) add(running, open int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running += running
	c.open += open
	if c.stopping {
		c.changed.Broadcast()
	}
}

func (c *calls) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopping = true
}

// ending reports whether a stop has begun.
func (c *calls) ending() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopping
}

// wait returns when everything is answered. After the context has ended it
// cancels what runs; it still waits for that, because an effect must settle,
// but no longer for clients that do not read.
func (c *calls) wait(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.changed.Broadcast()
	})()
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.running+c.open > 0 {
		if ctx.Err() != nil {
			for cancel := range c.cancels {
				(*cancel)()
			}
			for c.running > 0 {
				c.changed.Wait()
			}
			return fmt.Errorf("drain calls: %w", ctx.Err())
		}
		c.changed.Wait()
	}
	return nil
}
