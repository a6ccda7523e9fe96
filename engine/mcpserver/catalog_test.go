package mcpserver

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/engine/argument"
	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/catalog"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/tool"
)

func TestFromCatalog(t *testing.T) {
	doc := &document.Tool{}
	arguments, problems := argument.Compile(doc, func(string) bool { return false })
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	made := func(change func(*catalog.Tool)) *catalog.Tool {
		c := &catalog.Tool{Enabled: true, Worst: call.Dangerous, Tool: &tool.Tool{
			Name: "rm", Title: "Remove", Description: "Removes.", Group: "files", Document: doc, Arguments: arguments, Kind: "file",
		}}
		change(c)
		return c
	}
	want := Tool{
		Name: "rm", Title: "Remove", Description: "Removes.", Group: "files", Input: arguments.Projection(),
		Risk: "dangerous", Annotations: Annotations{Destructive: true},
	}
	if diff := cmp.Diff(want, fromCatalog(made(func(*catalog.Tool) {}))); diff != "" {
		t.Error(diff)
	}
	if got := fromCatalog(made(func(c *catalog.Tool) { c.Enabled = false })).Unavailable; got == "" {
		t.Error("a tool that is switched off is shown as available")
	}
	if got := fromCatalog(made(func(c *catalog.Tool) { c.PerCall = true })).Risk; got != "per_call" {
		t.Errorf("risk %q", got)
	}
}

func TestSourceBeforeTheFirstGeneration(t *testing.T) {
	source := FromCatalog(&catalog.Live{})
	if generation, tools := source.Tools(); generation != 0 || source.Generation() != 0 || len(tools) != 0 {
		t.Errorf("generation %d with %d tools", generation, len(tools))
	}
}
