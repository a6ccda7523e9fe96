package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/writ-dev/writ"
	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/load"
	"github.com/writ-dev/writ/engine/setting"
)

// documents reads the documents of a configuration, again and again.
type documents struct {
	embedded bool
	loader   func() (*load.Loader, error) // made when it is first needed
	cache    *load.Cache
	also     []string // files beside those of the settings
	now      func() time.Time
}

func newDocuments(c setting.Configuration, now func() time.Time) documents {
	return documents{embedded: c.Embedded, loader: sync.OnceValues(load.New), now: now}
}

// load returns what the documents say, and the paths that were read.
func (d *documents) load(ctx context.Context, settings *setting.Settings) (*document.Set, []string, diag.List) {
	var problems diag.List
	loader, err := d.loader()
	if err != nil {
		problems.Errorf(diag.Position{}, "internal", "the grammar in the binary cannot be used: %v", err)
		return nil, nil, problems
	}
	if d.embedded {
		return d.packs(ctx, loader)
	}
	paths := append(documentPaths(settings), d.also...)
	result := loader.Load(ctx, load.Options{Paths: paths, Previous: d.cache, Now: d.now})
	if result.Cache != nil {
		d.cache = result.Cache
	}
	return result.Set, paths, result.Problems
}

func documentPaths(settings *setting.Settings) []string {
	paths := make([]string, len(settings.Documents))
	for i, written := range settings.Documents {
		paths[i] = settings.Path(written)
	}
	return paths
}

// packPrefix begins the name of the folder to which packs are written.
const packPrefix = "writ-packs-"

// packs reads the documents in the binary. The loader reads files, so they are
// written to a private folder for as long as that takes.
func (d *documents) packs(ctx context.Context, loader *load.Loader) (*document.Set, []string, diag.List) {
	var problems diag.List
	folder, err := os.MkdirTemp("", packPrefix)
	if err == nil {
		defer os.RemoveAll(folder)
		err = unpack(writ.Packs, folder)
	}
	if err != nil {
		problems.Errorf(diag.Position{}, "unreadable", "unpack the packs of the binary: %v", err)
		return nil, nil, problems
	}
	result := loader.Load(ctx, load.Options{Paths: []string{filepath.Join(folder, "tools.d"), filepath.Join(folder, "policies")}, Trusted: true})
	return result.Set, nil, result.Problems
}

func unpack(packs fs.FS, folder string) error {
	return fs.WalkDir(packs, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(folder, filepath.FromSlash(name))
		if entry.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		data, err := fs.ReadFile(packs, name)
		if err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o600)
	})
}

// packed shortens the position of a document of the packs.
func packed(text string) string {
	at := strings.Index(text, packPrefix)
	if at < 0 {
		return text
	}
	_, name, found := strings.Cut(text[at:], string(filepath.Separator))
	if !found {
		return text
	}
	return fmt.Sprintf("(in the binary) %s", name)
}
