package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

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
	sources       func() setting.Sources // where settings come from, but writ.yaml
	state         string
	embedded      []byte // writ.yaml of the packs in the binary

	// last is what read found, so that a reload which other files caused does
	// not parse writ.yaml again.
	last struct {
		data     []byte
		settings *setting.Settings
		problems diag.List
	}
}

// place finds the configuration and reads its settings. Strange says that the
// current folder may belong to anybody.
func (a *app) place(c *cobra.Command, strange bool) (*place, error) {
	configuration, err := a.find(strange)
	if err != nil {
		return nil, err
	}
	flags := settingFlags(c)
	p := &place{configuration: configuration, embedded: a.embeddedSettings(), sources: func() setting.Sources {
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

// embeddedSettings is the writ.yaml of the packs in the binary. Nothing of the
// machine is open to them, but a folder that a person would have to make.
func (a *app) embeddedSettings() []byte {
	base := a.getenv("XDG_DATA_HOME")
	if home := a.getenv("HOME"); !filepath.IsAbs(base) && filepath.IsAbs(home) {
		base = filepath.Join(home, ".local", "share")
	}
	if !filepath.IsAbs(base) {
		return []byte("version: 1\n")
	}
	work, _ := json.Marshal(filepath.Join(base, "writ", "work")) // a text always encodes
	return append(append([]byte("version: 1\nroots: {work: "), work...), "}\n"...)
}

// read reads the settings as they are now. One goroutine does so at a time.
func (p *place) read() (*setting.Settings, diag.List) {
	sources := p.sources()
	if p.configuration.Embedded {
		sources.Data = p.embedded
		return setting.Load(sources)
	}
	data, err := readFile(sources.File)
	if err != nil {
		var problems diag.List
		problems.Errorf(diag.Position{File: sources.File}, "unreadable", "%v", err)
		return nil, problems
	}
	if p.last.data == nil || !bytes.Equal(data, p.last.data) {
		sources.Data = data
		p.last.data = data
		p.last.settings, p.last.problems = setting.Load(sources)
	}
	settings, problems := p.last.settings, slices.Clone(p.last.problems)
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
