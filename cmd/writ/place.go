package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/load"
	"github.com/writ-dev/writ/engine/setting"
)

// place is where a command works: which configuration holds, what its
// writ.yaml says, and where its state is.
type place struct {
	configuration setting.Configuration
	settings      *setting.Settings
	sources       func() setting.Sources // reads writ.yaml again
	state         string
}

// place finds the configuration and reads its settings. Strange says that the
// current folder may belong to anybody.
func (a *app) place(c *cobra.Command, strange bool) (*place, error) {
	configuration, err := a.find(strange)
	if err != nil {
		return nil, err
	}
	flags := settingFlags(c)
	p := &place{configuration: configuration, sources: func() setting.Sources {
		return setting.Sources{
			File: configuration.File(), Base: configuration.Dir, Environ: a.environ, Flags: flags,
		}
	}}
	settings, problems := p.read()
	if problems.HasErrors() {
		return nil, mistakes{problems}
	}
	p.settings = settings
	if p.state, err = setting.StateDir(settings, configuration, a.environ); err != nil {
		return nil, err
	}
	return p, nil
}

// find says which configuration holds, and tells a person when they did not
// name it.
func (a *app) find(strange bool) (setting.Configuration, error) {
	lookup := setting.Lookup{Flag: a.config, Environ: a.environ}
	if !strange {
		current, err := a.folder()
		if err != nil {
			return setting.Configuration{}, fmt.Errorf("current folder: %w", err)
		}
		lookup.Current = current
	}
	configuration, err := setting.Find(lookup)
	if err != nil {
		return setting.Configuration{}, err
	}
	if _, named := a.environment(setting.ConfigVariable); a.config == "" && !named {
		fmt.Fprintf(a.errors, "writ: configuration %s (%s)\n", shownDir(configuration), configuration.Reason)
	}
	return configuration, nil
}

func shownDir(c setting.Configuration) string {
	if c.Embedded {
		return "in the binary"
	}
	return c.Dir
}

// embeddedSettings is the writ.yaml of the packs in the binary: no folder of
// the machine is open to them.
const embeddedSettings = "version: 1\n"

// read reads the settings as they are now.
func (p *place) read() (*setting.Settings, diag.List) {
	sources := p.sources()
	if p.configuration.Embedded {
		sources.Data = []byte(embeddedSettings)
		return setting.Load(sources)
	}
	data, err := readFile(sources.File)
	if err != nil {
		var problems diag.List
		problems.Errorf(diag.Position{File: sources.File}, "unreadable", "%v", err)
		return nil, problems
	}
	sources.Data = data
	settings, problems := setting.Load(sources)
	// Whoever can write the folder can put another writ.yaml into it.
	problems = append(problems, load.Exposed(p.configuration.Dir, sources.File)...).Sorted()
	if problems.HasErrors() {
		return nil, problems
	}
	return settings, problems
}

// readFile reads no more than writ.yaml may have, and one byte that shows that
// it has more.
func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, unwrapPath(err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, setting.MaxFile+1))
	if err != nil {
		return nil, unwrapPath(err)
	}
	return data, nil
}

// unwrapPath leaves out the path, which the position of the message has.
func unwrapPath(err error) error {
	var inner *os.PathError
	if errors.As(err, &inner) {
		return inner.Err
	}
	return err
}

// settingFlags are the flags that stand for settings and were set.
func settingFlags(c *cobra.Command) map[string]string {
	flags := map[string]string{}
	for _, entry := range setting.Table() {
		name := entry.Flag()
		if name == "" {
			continue
		}
		if flag := c.Flags().Lookup(name); flag != nil && flag.Changed {
			flags[name] = flag.Value.String()
		}
	}
	return flags
}
