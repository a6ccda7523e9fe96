package main

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/engine/value"
)

// completeTool offers the names of tools.
func (a *app) completeTool(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, t := range a.known(c, "") {
		names = append(names, cobra.CompletionWithDesc(t.Name, t.Title))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeCall offers the names of tools, and then those of the arguments.
func (a *app) completeCall(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.completeTool(c, args, "")
	}
	var keys []string
	for _, t := range a.known(c, args[0]) {
		var schema struct {
			Properties map[string]struct {
				Description string `json:"description"`
			} `json:"properties"`
		}
		if json.Unmarshal(t.InputSchema, &schema) != nil {
			continue
		}
		for _, key := range value.Keys(schema.Properties) {
			if !typedAlready(args[1:], key) {
				keys = append(keys, cobra.CompletionWithDesc(key+"=", schema.Properties[key].Description))
			}
		}
	}
	return keys, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

func typedAlready(args []string, key string) bool {
	for _, arg := range args {
		if strings.HasPrefix(arg, key+"=") || strings.HasPrefix(arg, key+":=") {
			return true
		}
	}
	return false
}

// known asks for tools; whoever completes a line hears of no mistakes.
func (a *app) known(c *cobra.Command, name string) []toolInfo {
	quiet := *a
	quiet.errors = io.Discard
	p, err := quiet.place(c, false)
	if err != nil {
		return nil
	}
	var list []toolInfo
	if quiet.ask(c.Context(), p, question{verb: "tools", with: toolsQuestion{Name: name}, into: &list}) != nil {
		return nil
	}
	return list
}
