package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/executor"
	"github.com/writ-dev/writ/engine/policy"
	"github.com/writ-dev/writ/engine/risk"
	"github.com/writ-dev/writ/engine/root"
	"github.com/writ-dev/writ/engine/rule"
	"github.com/writ-dev/writ/engine/tool"
	"github.com/writ-dev/writ/engine/value"
)

// Inputs are what a generation depends on beside its documents. They come
// from writ.yaml and may change with it.
type Inputs struct {
	Roots         *root.Set
	Claims        map[string]value.Field
	ToolGroups    map[string]bool
	ToolOverrides map[string]bool
	// DangerousGrants accepts grants with max_risk: dangerous.
	DangerousGrants bool
	// Secrets changes whenever a secret may have another value although its
	// document is the same; what it holds means nothing.
	Secrets string
}

// Options are fixed for the life of a Compiler.
type Options struct {
	Kinds executor.Kinds
	// Secrets compiles the Secret documents of a generation.
	Secrets func([]*document.Secret) (executor.Secrets, diag.List)
	Now     func() time.Time
}

// Compiler builds generations. It keeps what was compiled by document, so that
// a document which did not change is not compiled again. It is used by one
// goroutine at a time.
type Compiler struct {
	options    Options
	generation uint64
	builds     uint64 // also those that failed

	inputs      Inputs
	common      tool.Environment // of all tools of all generations
	secretDocs  []*document.Secret
	connections []*document.Connection
	secrets     executor.Secrets
	secretNotes diag.List

	tools    map[*document.Tool]compiled[*tool.Tool]
	rules    map[*document.RiskRules]compiled[[]*risk.Rule]
	policies map[*document.ApprovalPolicy]compiled[*policy.Policy]
	fitted   map[fitting]*fitted
}

// fitting is a rule and a tool that it may apply to.
type fitting struct {
	rule *rule.Rule
	tool *tool.Tool
}

// fitted is what came of it.
type fitted struct {
	bound    *rule.Bound
	skipped  string
	problems diag.List
	used     uint64 // the number of the build that asked last
}

type compiled[T any] struct {
	product  T
	problems diag.List
}

// NewCompiler makes a compiler with empty caches.
func NewCompiler(options Options) *Compiler {
	return &Compiler{options: options, fitted: map[fitting]*fitted{}}
}

// Compile builds the next generation. Any error gives a nil Catalog and leaves
// the generation number as it was. Warnings are returned beside a Catalog.
func (c *Compiler) Compile(set *document.Set, inputs Inputs) (*Catalog, diag.List) {
	c.refresh(set, inputs)
	c.builds++
	b := &build{
		compiler: c, number: c.builds, set: set,
		catalog: &Catalog{
			Documents: len(set.Tools) + len(set.RiskRules) + len(set.Policies) + len(set.Grants) +
				len(set.Connections) + len(set.Secrets) + len(set.Tests),
			Roots: inputs.Roots, DangerousGrants: inputs.DangerousGrants, Secrets: c.secrets, Tests: set.Tests,
			Skipped: map[string]map[string]string{},
			byName:  make(map[string]*Tool, len(set.Tools)),
		},
		problems: slices.Clone(c.secretNotes),
		programs: map[string]bool{},
	}
	b.tools()
	b.switches()
	b.references()
	b.rules()
	b.policies()
	b.bind()
	b.grants()
	b.examples()
	if b.problems.HasErrors() {
		return nil, b.problems.Sorted()
	}
	b.forget()
	c.generation++
	b.catalog.Generation, b.catalog.Published = c.generation, c.options.Now()
	return b.catalog, b.problems.Sorted()
}

// Discard says that the newest generation was not put in force: the next one
// takes its number.
func (c *Compiler) Discard(newest *Catalog) {
	if newest != nil && newest.Generation == c.generation {
		c.generation--
	}
}

// refresh drops from the caches what does not belong to the set, and all tools
// when something changed that any of them may depend on.
func (c *Compiler) refresh(set *document.Set, inputs Inputs) {
	if !slices.Equal(c.secretDocs, set.Secrets) || c.inputs.Secrets != inputs.Secrets || c.secrets == nil {
		c.secrets, c.secretNotes = c.options.Secrets(set.Secrets)
		c.tools = nil
	}
	if !slices.Equal(c.connections, set.Connections) || c.inputs.Roots != inputs.Roots ||
		!reflect.DeepEqual(c.inputs.Claims, inputs.Claims) {
		c.tools = nil
	}
	if !reflect.DeepEqual(c.inputs.Claims, inputs.Claims) {
		c.rules, c.policies = nil, nil
	}
	if c.builds == 0 || !reflect.DeepEqual(c.inputs.Claims, inputs.Claims) {
		c.common = tool.Environment{Claims: inputs.Claims}.Share()
	}
	c.inputs, c.secretDocs, c.connections = inputs, set.Secrets, set.Connections
	c.tools = kept(c.tools, set.Tools)
	c.rules = kept(c.rules, set.RiskRules)
	c.policies = kept(c.policies, set.Policies)
}

func kept[K comparable, T any](cache map[K]compiled[T], documents []K) map[K]compiled[T] {
	fresh := make(map[K]compiled[T], len(documents))
	for _, doc := range documents {
		if known, ok := cache[doc]; ok {
			fresh[doc] = known
		}
	}
	return fresh
}

// once compiles a document that is not in the cache.
func once[K comparable, T any](cache map[K]compiled[T], doc K, compile func(K) (T, diag.List)) (T, diag.List) {
	known, ok := cache[doc]
	if !ok {
		known.product, known.problems = compile(doc)
		cache[doc] = known
	}
	return known.product, known.problems
}

// build is the work on one generation.
type build struct {
	compiler *Compiler
	set      *document.Set
	catalog  *Catalog
	problems diag.List
	number   uint64
	fits     int // pairs of a rule and a tool
	cover    cover
	programs map[string]bool // that were looked for, and whether they are there
}

func (b *build) tools() {
	c := b.compiler
	environment := c.common
	environment.Kinds, environment.Secrets, environment.Guard = c.options.Kinds, c.secrets, c.inputs.Roots
	environment.Connections = make(map[string]*document.Connection, len(b.set.Connections))
	environment.Root = c.inputs.Roots.Declared
	for _, connection := range b.set.Connections {
		environment.Connections[connection.Name] = connection
	}
	for _, doc := range b.set.Tools {
		if strings.HasPrefix(doc.Name, ReservedPrefix) {
			b.problems.Errorf(doc.Source.At("name"), "reserved-name", "tool names that begin with %s are Writ's own", ReservedPrefix)
		}
		t, problems := once(c.tools, doc, func(doc *document.Tool) (*tool.Tool, diag.List) {
			return tool.Compile(doc, environment)
		})
		b.problems = append(b.problems, problems...)
		if t == nil {
			t = &tool.Tool{Name: doc.Name, Group: doc.Group, Labels: doc.Labels, Document: doc}
		}
		entry := &Tool{Tool: t, Enabled: b.enabled(doc), Worst: t.Floor}
		if t.Executor != nil {
			entry.Unavailable = b.unavailable(t)
		}
		b.catalog.byName[doc.Name] = entry
		b.catalog.tools = append(b.catalog.tools, entry)
	}
	slices.SortFunc(b.catalog.tools, func(a, b *Tool) int { return cmp.Compare(a.Name, b.Name) })
}

// ReservedPrefix begins the names of the tools that Writ itself offers.
const ReservedPrefix = "writ_"

// enabled is the switch of a tool: its own override, else its group's, else
// what its document says (contract T-03). A tool without a group is always on.
func (b *build) enabled(doc *document.Tool) bool {
	if doc.Group == "" {
		return true
	}
	if on, ok := b.compiler.inputs.ToolOverrides[doc.Name]; ok {
		return on
	}
	if on, ok := b.compiler.inputs.ToolGroups[doc.Group]; ok {
		return on
	}
	return doc.Enabled == nil || *doc.Enabled
}

// switches refuses switches for what does not exist or cannot be switched (contract T-04).
func (b *build) switches() {
	at := diag.Position{File: "writ.yaml"}
	groups := map[string]bool{}
	for _, t := range b.catalog.tools {
		groups[t.Group] = true
	}
	for _, name := range value.Keys(b.compiler.inputs.ToolGroups) {
		if !groups[name] || name == "" {
			b.problems.Errorf(at, "unknown-group", "tool_groups: no tool is in group %q", name).
				Hinted("%s", diag.DidYouMean(name, value.Keys(groups)))
		}
	}
	for _, name := range value.Keys(b.compiler.inputs.ToolOverrides) {
		switch t := b.catalog.byName[name]; {
		case t == nil:
			b.problems.Errorf(at, "unknown-tool", "tool_overrides: there is no tool %q", name).
				Hinted("%s", diag.DidYouMean(name, value.Keys(b.catalog.byName)))
		case t.Group == "":
			b.problems.Errorf(at, "no-group", "tool_overrides: tool %q is in no group and is always on", name)
		}
	}
	for _, t := range b.catalog.tools {
		if t.Group == "" && t.Document.Enabled != nil && !*t.Document.Enabled {
			b.problems.Errorf(t.Document.Source.At("enabled"), "no-group", "a tool without a group is always on").
				Hinted("give it a group")
		}
	}
}

// unavailable says why a tool cannot be called on this machine, or "".
func (b *build) unavailable(t *tool.Tool) string {
	roots := b.compiler.inputs.Roots
	for _, name := range t.Roots() {
		if name == tool.Anywhere {
			continue
		}
		if !roots.Declared(name) {
			return fmt.Sprintf("declare roots.%s in writ.yaml", name)
		}
		if ok, reason := roots.Available(name); !ok {
			return reason
		}
	}
	if requires := t.Document.Requires; requires != nil {
		if len(requires.OS) > 0 && !slices.Contains(requires.OS, runtime.GOOS) {
			return "needs " + strings.Join(requires.OS, " or ")
		}
		for _, name := range requires.Commands {
			if !b.installed(name) {
				return fmt.Sprintf("needs the program %s", name)
			}
		}
		for _, name := range requires.Env {
			if os.Getenv(name) == "" {
				return fmt.Sprintf("needs the environment variable %s", name)
			}
		}
	}
	if checker, ok := t.Executor.(executor.Availability); ok {
		return checker.Unavailable()
	}
	return ""
}

// installed reports whether a program is found in PATH, looking once for each
// generation.
func (b *build) installed(name string) bool {
	found, ok := b.programs[name]
	if !ok {
		_, err := exec.LookPath(name)
		found = err == nil
		b.programs[name] = found
	}
	return found
}

func (b *build) rules() {
	for _, doc := range b.set.RiskRules {
		rules, problems := once(b.compiler.rules, doc, risk.Compile)
		b.problems = append(b.problems, problems...)
		b.catalog.Rules = append(b.catalog.Rules, rules...)
	}
	b.catalog.RuleCount += len(b.catalog.Rules)
	slices.SortFunc(b.catalog.Rules, func(a, b *risk.Rule) int { return cmp.Compare(a.ID, b.ID) })
}

func (b *build) policies() {
	for _, doc := range b.set.Policies {
		compiled, problems := once(b.compiler.policies, doc, func(doc *document.ApprovalPolicy) (*policy.Policy, diag.List) {
			return policy.Compile(doc, b.compiler.inputs.Claims)
		})
		b.problems = append(b.problems, problems...)
		b.catalog.Policies = append(b.catalog.Policies, compiled)
		b.catalog.RuleCount += len(compiled.Rules)
	}
	slices.SortFunc(b.catalog.Policies, func(a, b *policy.Policy) int { return cmp.Compare(a.Name, b.Name) })
}

// Loosened names what a generation takes away that kept calls in check: deny
// rules, policies and floors.
func Loosened(before, after *Catalog) []string {
	if before == nil {
		return nil
	}
	removed := map[string]bool{}
	for _, p := range before.Policies {
		removed["policy "+p.Name] = true
		for _, rule := range p.Rules {
			removed["deny rule "+rule.ID] = true
		}
	}
	for _, p := range after.Policies {
		delete(removed, "policy "+p.Name)
		for _, rule := range p.Rules {
			delete(removed, "deny rule "+rule.ID)
		}
	}
	for _, t := range before.tools {
		if now := after.byName[t.Name]; now != nil && now.Floor < t.Floor {
			removed[fmt.Sprintf("floor %s of tool %s (now %s)", t.Floor, t.Name, now.Floor)] = true
		}
	}
	return slices.Sorted(maps.Keys(removed))
}

var _ tool.Resolver = (*root.Set)(nil)
