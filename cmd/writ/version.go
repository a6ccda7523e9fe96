package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// build is which code this is.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Target   string `json:"target"`
}

func readBuild() build {
	b := build{Version: "devel", Go: runtime.Version(), Target: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    "Prints the version of this binary, the revision of its source, and what built\nit.",
		Example: "  writ version\n  writ version --json",
		Args:    positional(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			b := readBuild()
			if a.json {
				return a.printJSON(b)
			}
			fmt.Fprintf(a.out, "writ %s (%s, %s)\n", b.Version, b.Go, b.Target)
			if b.Revision != "" {
				modified := ""
				if b.Modified {
					modified = ", with changes"
				}
				fmt.Fprintf(a.out, "revision %s of %s%s\n", b.Revision, b.Time, modified)
			}
			return nil
		},
	}
}
