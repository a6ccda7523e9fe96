package mcpserver

import "github.com/writ-dev/writ/engine/catalog"

// FromCatalog shows the generation in force. Before the first there are no
// tools.
func FromCatalog(live *catalog.Live) Source { return source{live} }

type source struct{ live *catalog.Live }

func (s source) Subscribe() (<-chan struct{}, func()) { return s.live.Subscribe() }

func (s source) Generation() uint64 {
	if c := s.live.Current(); c != nil {
		return c.Generation
	}
	return 0
}

func (s source) Tools() (uint64, []Tool) {
	c := s.live.Current()
	if c == nil {
		return 0, nil
	}
	all := c.Tools()
	tools := make([]Tool, 0, len(all))
	for _, t := range all {
		tools = append(tools, fromCatalog(t))
	}
	return c.Generation, tools
}

func fromCatalog(t *catalog.Tool) Tool {
	hints := t.Annotations()
	shown := Tool{
		Name: t.Name, Title: t.Title, Description: t.ShownDescription(), Group: t.Group,
		Input: t.Arguments.Projection(), Output: t.OutputSchema, Risk: t.Worst.String(),
		Annotations: Annotations{
			ReadOnly: hints.ReadOnly, Destructive: hints.Destructive,
			Idempotent: hints.Idempotent, OpenWorld: hints.OpenWorld,
		},
		Unavailable: t.Unavailable,
	}
	if t.PerCall {
		shown.Risk = "per_call"
	}
	if !t.Enabled {
		shown.Unavailable = "switched off by the configuration"
	}
	return shown
}
