package main

import (
	"sync"

	"github.com/writ-dev/writ/engine/catalog"
	"github.com/writ-dev/writ/engine/mcpserver"
)

// shelf shows the catalog in force to MCP clients.
type shelf struct {
	live *catalog.Live

	mu    sync.Mutex
	of    *catalog.Catalog
	tools []mcpserver.Tool // of that one
}

func (s *shelf) Generation() uint64 { return s.live.Current().Generation }

func (s *shelf) Subscribe() (<-chan struct{}, func()) { return s.live.Subscribe() }

// Tools lists what is switched on (contract T-02).
func (s *shelf) Tools() (uint64, []mcpserver.Tool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	current := s.live.Current()
	if s.of == current {
		return current.Generation, s.tools
	}
	s.of, s.tools = current, make([]mcpserver.Tool, 0, len(current.Tools()))
	for _, t := range current.Tools() {
		if t.Enabled {
			s.tools = append(s.tools, shownTool(t))
		}
	}
	return current.Generation, s.tools
}

func shownTool(t *catalog.Tool) mcpserver.Tool {
	hints := t.Annotations()
	return mcpserver.Tool{
		Name: t.Name, Title: t.Title, Description: t.ShownDescription(), Group: t.Group,
		Input: t.Arguments.Projection(), Output: t.OutputSchema, Risk: worst(t), Unavailable: t.Unavailable,
		Annotations: mcpserver.Annotations{
			ReadOnly: hints.ReadOnly, Destructive: hints.Destructive, Idempotent: hints.Idempotent, OpenWorld: hints.OpenWorld,
		},
	}
}

// worst is the highest level that a call of the tool can reach.
func worst(t *catalog.Tool) string {
	if t.PerCall {
		return "per_call"
	}
	return t.Worst.String()
}
