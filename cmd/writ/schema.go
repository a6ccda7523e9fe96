package main

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/schema"
)

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema [KIND]",
		Short: "Print the JSON Schema of documents",
		Long: `Prints the JSON Schema of one kind of document. Without a kind it prints one
schema for all of them, which chooses by the key kind, so that an editor
completes files with several documents.`,
		Example: `  writ schema Tool
  writ schema > writ.schema.json
  # yaml-language-server: $schema=writ.schema.json     (first line of a file)`,
		Args: positional(cobra.MaximumNArgs(1)),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return kinds(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			name := "writ"
			if len(args) == 1 {
				if name = kindNamed(args[0]); name == "" {
					return usagef("there is no kind %q: use %s%s", args[0], diag.OneOf(kinds()), suffix(diag.DidYouMean(args[0], kinds())))
				}
			}
			text, err := fs.ReadFile(schema.Files, "json/"+name+".json")
			if err != nil {
				return fmt.Errorf("read schema: %w", err)
			}
			_, err = a.out.Write(text)
			return err
		},
	}
}

// kinds lists the kinds of documents.
func kinds() []string {
	names, _ := fs.Glob(schema.Files, "json/*.json") // the pattern is good
	var list []string
	for _, name := range names {
		if kind := strings.TrimSuffix(path.Base(name), ".json"); kind != "writ" {
			list = append(list, kind)
		}
	}
	return list
}

func kindNamed(word string) string {
	for _, kind := range kinds() {
		if strings.EqualFold(kind, word) {
			return kind
		}
	}
	return ""
}
