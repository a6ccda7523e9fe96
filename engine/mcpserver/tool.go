package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Tool is what clients may know of one tool.
type Tool struct {
	Name        string
	Title       string
	Description string
	Group       string
	Input       json.RawMessage // a plain JSON Schema with "type": "object" at the top
	Output      json.RawMessage // nil when none is promised
	Risk        string          // the worst level that applicable rules can reach, or per_call
	Annotations Annotations
	// Unavailable says why the tool cannot be called now; "" means it can.
	Unavailable string
}

// Annotations are hints about the worst that a tool can do.
type Annotations struct {
	ReadOnly, Destructive, Idempotent, OpenWorld bool
}

// Source is the catalog in force. Generation is cheap, it is asked on every
// request. Subscribe's channel receives after each change; it may merge some.
type Source interface {
	Generation() uint64
	Tools() (generation uint64, tools []Tool)
	Subscribe() (changes <-chan struct{}, cancel func())
}

// Expose says how declared tools are reached.
type Expose string

// The ways. The writ_ tools that describe are always there.
const (
	ExposeBoth   Expose = "both"
	ExposeNative Expose = "native" // no writ_invoke
	ExposeMeta   Expose = "meta"   // writ_invoke only
)

// Reserved reports whether a name belongs to the server's own tools.
func Reserved(name string) bool { return strings.HasPrefix(name, "writ_") }

// view is the catalog as it was last applied. It is immutable.
type view struct {
	generation uint64
	tools      []Tool          // all, by name
	native     map[string]Tool // those that the SDK lists
}

// refresh makes the SDK's list equal to the catalog. It touches only tools
// that changed, because every touch tells all clients that the list changed.
func (s *Server) refresh() {
	if v := s.view.Load(); v != nil && v.generation == s.options.Source.Generation() {
		return
	}
	s.applying.Lock()
	defer s.applying.Unlock()
	generation, tools := s.options.Source.Tools()
	old := s.view.Load()
	if old == nil {
		old = &view{}
	} else if old.generation == generation {
		return
	}
	next := &view{generation: generation, tools: tools, native: map[string]Tool{}}
	if s.options.Expose != ExposeMeta {
		for _, tool := range tools {
			if tool.Unavailable != "" || Reserved(tool.Name) {
				continue
			}
			before, listed := old.native[tool.Name]
			if listed && tool.looksLike(before) || s.list(tool) {
				next.native[tool.Name] = tool
			}
		}
	}
	var gone []string
	for name := range old.native {
		if _, still := next.native[name]; !still {
			gone = append(gone, name)
		}
	}
	if len(gone) > 0 {
		s.sdk.RemoveTools(gone...)
	}
	s.view.Store(next)
}

// list hands a tool to the SDK, which panics on a schema that it cannot show.
func (s *Server) list(tool Tool) (ok bool) {
	defer func() {
		if fault := recover(); fault != nil {
			s.options.Log.Error("tool cannot be shown to clients", "tool", tool.Name, "reason", fmt.Sprint(fault))
		}
	}()
	s.sdk.AddTool(tool.definition(), s.native(tool.Name))
	return true
}

func (t Tool) looksLike(other Tool) bool {
	return t.Name == other.Name && t.Title == other.Title && t.Description == other.Description &&
		t.Annotations == other.Annotations && bytes.Equal(t.Input, other.Input) && bytes.Equal(t.Output, other.Output)
}

func (t Tool) definition() *mcp.Tool {
	d := &mcp.Tool{
		Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.Input,
		Annotations: &mcp.ToolAnnotations{
			ReadOnlyHint:    t.Annotations.ReadOnly,
			DestructiveHint: &t.Annotations.Destructive,
			IdempotentHint:  t.Annotations.Idempotent,
			OpenWorldHint:   &t.Annotations.OpenWorld,
		},
	}
	if t.Output != nil {
		d.OutputSchema = t.Output
	}
	return d
}

// Refresh applies the catalog in force now. Requests do so by themselves; it
// is for who wants clients to be told without waiting for the subscription.
func (s *Server) Refresh() { s.refresh() }
