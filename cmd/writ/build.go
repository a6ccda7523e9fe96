package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/writ-dev/writ/engine/catalog"
	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/identity"
	"github.com/writ-dev/writ/engine/reload"
	"github.com/writ-dev/writ/engine/root"
	"github.com/writ-dev/writ/engine/setting"
)

// builder makes generations of the files of a place. One goroutine uses it at
// a time; what it has put in force may be read by all.
type builder struct {
	place     *place
	documents documents
	compiler  *catalog.Compiler
	identity  identity.Options // but the callers
	protected []string         // beside what the settings name
	live      catalog.Live
	callers   atomic.Pointer[identity.Callers]
	approvers atomic.Pointer[identity.Approvers]
	inForce   product
	newest    *catalog.Catalog // that was compiled
	// entering, when not nil, is told of a generation before it is in force.
	entering func(*catalog.Catalog)
}

// product is all that a generation is made of.
type product struct {
	settings  *setting.Settings
	set       *document.Set
	inputs    catalog.Inputs
	own       []string // Writ's own files and folders
	catalog   *catalog.Catalog
	callers   *identity.Callers
	approvers *identity.Approvers
}

// build is the reload.Build of the engine.
func (b *builder) build(ctx context.Context) reload.Candidate {
	var c reload.Candidate
	settings, problems := b.place.read()
	c.Problems = append(c.Problems, problems...)
	if problems.HasErrors() {
		return c
	}
	c.Problems = append(c.Problems, b.needRestart(settings)...)
	next := product{settings: settings}
	set, read, problems := b.documents.load(ctx, settings)
	c.Problems = append(c.Problems, problems...)
	c.Watch = b.watch(read, set)
	next.set = set
	if callers, err := b.identify(settings); err != nil {
		b.complain(&c.Problems, "callers", err)
	} else if approvers, err := identity.NewApprovers(settings.Approvers, callers); err != nil {
		b.complain(&c.Problems, "approvers", err)
	} else {
		next.callers, next.approvers = callers, approvers
	}
	own := b.own(settings, set)
	roots, err := b.roots(settings, own)
	if err != nil {
		b.complain(&c.Problems, "roots", err)
	}
	if set == nil || roots == nil {
		c.Problems = c.Problems.Sorted()
		return c
	}
	next.inputs = catalog.Inputs{
		Roots: roots, Claims: settings.Claims, ToolGroups: settings.ToolGroups, ToolOverrides: settings.ToolOverrides,
		DangerousGrants: settings.AllowDangerousGrants,
		Secrets:         look(secretFiles(set)),
	}
	generation, problems := b.compile(set, next.inputs, c.Problems.HasErrors())
	c.Problems = append(c.Problems, problems...).Sorted()
	if c.Problems.HasErrors() {
		return c
	}
	next.catalog, next.own = generation, own
	c.Loosens = catalog.Loosened(b.live.Current(), generation)
	c.Unchanged = b.same(next)
	c.Commit = func() uint64 {
		b.inForce = next
		b.callers.Store(next.callers)
		b.approvers.Store(next.approvers)
		if b.entering != nil {
			b.entering(generation)
		}
		b.live.Publish(generation)
		return generation.Generation
	}
	return c
}

// compile compiles what was read. Incomplete says that documents are missing
// because of their mistakes: then what can be told of the others is, and not
// what may only follow from that.
func (b *builder) compile(set *document.Set, inputs catalog.Inputs, incomplete bool) (*catalog.Catalog, diag.List) {
	if b.newest != b.live.Current() {
		b.compiler.Discard(b.newest)
	}
	generation, problems := b.compiler.Compile(set, inputs)
	if generation != nil {
		b.newest = generation
	}
	return generation, slices.DeleteFunc(problems, func(d diag.Diagnostic) bool {
		switch d.Code {
		case "undeclared-root": // which folders are open is not for the packs to say
			return b.place.configuration.Embedded
		case "unknown-tool", "unknown-group", "unknown-connection", "unknown-secret", "unknown-scope",
			"matches-nothing", "covers-nothing", "applies-to-nothing", "denies-nothing", "deny-skips":
			return incomplete
		}
		return false
	})
}

func (b *builder) complain(list *diag.List, key string, err error) {
	list.Errorf(diag.Position{File: b.place.configuration.File()}, "invalid", "%s: %v", key, err)
}

func (b *builder) identify(settings *setting.Settings) (*identity.Callers, error) {
	options := b.identity
	options.Callers = settings.Callers
	return identity.New(options)
}

// roots opens the declared folders. What is open already stays, unless a
// folder has come or gone: compiled tools hold on to it.
func (b *builder) roots(settings *setting.Settings, own []string) (*root.Set, error) {
	base := b.place.configuration.Dir
	if base == "" {
		base = string(filepath.Separator)
	}
	fresh, err := root.Open(settings.Roots, base, own)
	if err != nil {
		return nil, err
	}
	old := b.inForce.inputs.Roots
	if old == nil || !maps.Equal(settings.Roots, b.inForce.settings.Roots) || !slices.Equal(own, b.inForce.own) {
		return fresh, nil
	}
	for _, name := range fresh.Names() {
		now, _ := fresh.Path(name)
		before, _ := old.Path(name)
		_, why := fresh.Available(name)
		if _, whyBefore := old.Available(name); now != before || why != whyBefore {
			return fresh, nil
		}
	}
	return old, nil
}

// own lists Writ's own files and folders, which no tool may touch.
func (b *builder) own(settings *setting.Settings, set *document.Set) []string {
	own := append([]string{b.place.state}, b.protected...)
	if b.place.configuration.Embedded {
		return own
	}
	own = append(own, b.place.configuration.File())
	for _, written := range append(slices.Clone(settings.Documents), settings.TLS.Certificate, settings.TLS.Key) {
		if written != "" {
			own = append(own, settings.Path(written))
		}
	}
	return append(own, secretFiles(set)...)
}

// watch lists what a generation depends on.
func (b *builder) watch(read []string, set *document.Set) []string {
	if b.place.configuration.Embedded {
		return nil
	}
	paths := append([]string{b.place.configuration.File()}, read...)
	paths = append(paths, secretFiles(set)...)
	slices.Sort(paths)
	return slices.Compact(paths)
}

// secretFiles lists the files that secrets are read from; as package secret
// says, a relative one lies beside its document.
func secretFiles(set *document.Set) []string {
	if set == nil {
		return nil
	}
	var paths []string
	for _, doc := range set.Secrets {
		switch path := filepath.FromSlash(doc.File); {
		case path == "":
		case filepath.IsAbs(path):
			paths = append(paths, path)
		default:
			paths = append(paths, filepath.Join(filepath.Dir(doc.Source.Start().File), path))
		}
	}
	return paths
}

// look changes when one of the files does.
func look(paths []string) string {
	var b strings.Builder
	for _, path := range paths {
		fmt.Fprintf(&b, "%q ", path)
		if info, err := os.Stat(path); err == nil {
			fmt.Fprintln(&b, info.Size(), info.ModTime().UnixNano(), info.Mode())
		}
	}
	return b.String()
}

// same reports whether the generation in force was made of the same.
func (b *builder) same(next product) bool {
	old := b.inForce
	return old.set != nil && sameDocuments(old.set, next.set) && reflect.DeepEqual(old.inputs, next.inputs) &&
		reflect.DeepEqual(old.settings.Callers, next.settings.Callers) &&
		reflect.DeepEqual(old.settings.Approvers, next.settings.Approvers)
}

// sameDocuments compares by identity: the loader gives the same document for
// the same content.
func sameDocuments(a, b *document.Set) bool {
	return slices.Equal(a.Tools, b.Tools) && slices.Equal(a.RiskRules, b.RiskRules) && slices.Equal(a.Policies, b.Policies) &&
		slices.Equal(a.Grants, b.Grants) &&
		slices.Equal(a.Connections, b.Connections) && slices.Equal(a.Secrets, b.Secrets) && slices.Equal(a.Tests, b.Tests)
}

// needRestart names the settings that a running process cannot change.
func (b *builder) needRestart(now *setting.Settings) diag.List {
	var list diag.List
	started := b.place.settings
	for _, s := range []struct {
		key           string
		before, after any
	}{
		{"listen", started.Listen, now.Listen},
		{"advertised_url", started.AdvertisedURL, now.AdvertisedURL},
		{"insecure_http", started.InsecureHTTP, now.InsecureHTTP},
		{"tls", started.TLS, now.TLS},
		{"limits", started.Limits, now.Limits},
		{"expose", started.Expose, now.Expose},
		{"reload", started.Reload, now.Reload},
	} {
		if s.before != s.after {
			list.Warnf(diag.Position{File: b.place.configuration.File()}, "needs-restart",
				"%s has changed, but the running server keeps what it started with", s.key).Hinted("restart it")
		}
	}
	return list
}
