package tool

import (
	"crypto/sha256"
	"encoding/json"
	"maps"

	"github.com/writ-dev/writ/engine/argument"
	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/executor"
	"github.com/writ-dev/writ/engine/match"
	"github.com/writ-dev/writ/engine/output"
	"github.com/writ-dev/writ/engine/rule"
	"github.com/writ-dev/writ/engine/template"
	"github.com/writ-dev/writ/engine/value"
)

// Compile compiles one document. It returns nil when anything is an error.
func Compile(doc *document.Tool, env Environment) (*Tool, diag.List) {
	b := builder{env: env, tool: &Tool{
		Name: doc.Name, Title: doc.Title, Description: doc.Description, Group: doc.Group,
		Labels: doc.Labels, Document: doc, Idempotent: doc.Idempotent,
		Timeout: executor.Timeout(doc),
	}}
	b.risk()
	if !b.arguments() {
		return nil, b.problems
	}
	b.scope()
	b.locks()
	b.executor()
	b.refuse()
	b.examples()
	b.output()
	b.digest()
	if b.problems.HasErrors() {
		return nil, b.problems
	}
	return b.tool, b.problems
}

type builder struct {
	env      Environment
	tool     *Tool
	problems diag.List
}

func (b *builder) add(problems diag.List) bool {
	b.problems = append(b.problems, problems...)
	return !problems.HasErrors()
}

func (b *builder) risk() {
	if b.tool.Document.Risk == "per_call" {
		b.tool.PerCall = true
		return
	}
	level, err := call.ParseLevel(b.tool.Document.Risk)
	if err != nil {
		b.problems.Errorf(b.tool.at("risk"), "unknown-risk", "%v", err)
	}
	b.tool.Floor = level
}

func (b *builder) arguments() bool {
	t := b.tool
	schema, problems := argument.Compile(t.Document, b.env.Root)
	if !b.add(problems) {
		return false
	}
	t.Arguments = schema
	for _, path := range schema.Paths() {
		for _, name := range path.Under {
			if name == Anywhere {
				t.Floor = max(t.Floor, call.Mutating)
			}
		}
	}
	t.environment = value.Struct(maps.Clone(b.env.roots()))
	t.environment.Fields["args"] = value.Field{Type: schema.Type()}
	return true
}

// roots are what expressions of every tool can read. Args, scope and facts are
// the tool's own.
func (e *Environment) roots() map[string]value.Field {
	if e.shared != nil {
		return e.shared
	}
	principal := map[string]value.Field{"name": value.Of(value.String), "roles": value.ListOf(value.String)}
	for name, claim := range e.Claims {
		principal[name] = claim
	}
	return map[string]value.Field{
		"scope":     {Type: value.Struct(nil)},
		"facts":     {Type: value.Struct(nil)},
		"principal": {Type: value.Struct(principal)},
		"entry":     {Type: value.Type{Kind: value.String, Enum: entries()}},
		"tool":      {Type: value.Struct(map[string]value.Field{"name": value.Of(value.String), "group": value.Of(value.String)})},
	}
}

// Share makes once what the environments of all tools have in common: it is
// most of what a tool would otherwise hold.
func (e Environment) Share() Environment {
	e.shared = e.roots()
	return e
}

func entries() []any {
	var list []any
	for _, entry := range call.Entries() {
		list = append(list, entry)
	}
	return list
}

// setRoot puts what has become known of a root into the environment.
func (b *builder) setRoot(root string, t value.Type) {
	b.tool.environment.Fields[root] = value.Field{Type: t}
}

// callerValues is what scope and lock templates may read.
func (b *builder) callerValues() value.Type {
	fields := b.tool.environment.Fields
	return value.Struct(map[string]value.Field{"args": fields["args"], "principal": fields["principal"]})
}

func (b *builder) scope() {
	t := b.tool
	t.scope = make(map[string]*template.Template, len(t.Document.Scope))
	fields := map[string]value.Field{}
	for _, key := range value.Keys(t.Document.Scope) {
		parsed := b.template(t.Document.Scope[key], template.Key, "scope", key)
		if parsed == nil {
			continue
		}
		t.scope[key] = parsed
		field := value.Of(value.String)
		if path, whole := parsed.Whole(); whole {
			found, optional, _ := b.callerValues().Lookup(path)
			field = value.Field{Type: found, Optional: optional}
			if found.Kind == value.List || found.Kind == value.Object {
				b.problems.Errorf(t.at("scope", key), "scope-type", "a scope is one value, and %s is a %s", path[len(path)-1], found.Kind)
			}
		}
		fields[key] = field
	}
	t.scopeKeys = value.Keys(t.scope)
	b.setRoot("scope", value.Struct(fields))
}

func (b *builder) locks() {
	for i, text := range b.tool.Document.Locks {
		if parsed := b.template(text, template.Word, "locks", i); parsed != nil {
			b.tool.locks = append(b.tool.locks, parsed)
		}
	}
}

// template parses and checks a template that reads the caller's values.
func (b *builder) template(text string, place template.Place, path ...any) *template.Template {
	at := b.tool.at(path...)
	parsed, problems := template.Parse(text, at)
	if !b.add(problems) || !b.add(parsed.Check(b.callerValues(), place)) {
		return nil
	}
	return parsed
}

func (b *builder) executor() {
	t, doc := b.tool, b.tool.Document
	for key, present := range map[string]bool{
		"command": doc.Command != nil, "http": doc.HTTP != nil, "file": doc.File != nil, "tls": doc.TLS != nil,
	} {
		if present {
			t.Kind = key
		}
	}
	kind, ok := b.env.Kinds[t.Kind]
	if !ok {
		b.problems.Errorf(doc.Source.Start(), "no-executor", "tool %s does not say how it is carried out", t.Name).
			Hinted("add one of command, http, file or tls")
		return
	}
	compiled, problems := kind.Compile(executor.Declaration{
		Tool: doc, Arguments: t.Arguments.Type(), Connections: b.env.Connections,
		Leading: t.Arguments.Leading(), Secrets: b.env.Secrets, Guard: b.env.Guard,
	})
	if !b.add(problems) {
		return
	}
	t.Executor = compiled
	if declarer, ok := compiled.(executor.FactDeclarer); ok {
		b.setRoot("facts", value.Struct(declarer.Facts()))
	}
}

// refuse compiles the checks across arguments. They run before the effect is
// known, so they cannot read facts.
func (b *builder) refuse() {
	t := b.tool
	target := t.RuleTarget()
	for i, written := range t.Document.Refuse {
		parsed, problems := rule.Parse(rule.Rule{
			ID: written.ID, Message: written.Message,
			At: t.at("refuse", i), When: t.at("refuse", i, "when"),
			Selector: match.Compile(&document.Match{Tools: []string{t.Name}}),
		}, written.When)
		if !b.add(problems) {
			continue
		}
		for _, read := range parsed.Expression.Reads() {
			if read.Path[0] == "facts" {
				b.problems.Errorf(parsed.When, "facts-in-refuse", "refuse is decided before facts are known").
					Hinted("use a deny rule")
			}
		}
		bound, _, problems := parsed.Bind(target)
		if b.add(problems) && bound != nil {
			t.refuse = append(t.refuse, bound)
		}
	}
}

func (b *builder) examples() {
	for i, example := range b.tool.Document.Examples {
		if _, err := b.tool.Arguments.Decode(example.Args); err != nil {
			b.problems.Errorf(b.tool.at("examples", i, "args"), "invalid-example", "the example would be rejected: %v", err)
		}
	}
}

func (b *builder) output() {
	shape, problems := output.Compile(b.tool.Document)
	b.add(problems)
	schema, problems := argument.CompileOutput(b.tool.Document)
	b.add(problems)
	if shape != nil && schema != nil {
		shape = shape.Checked(schema.Validate)
		b.tool.OutputSchema = schema.Projection()
	}
	b.tool.Output = shape
}

// digest sums the definition: the document as it was understood and the
// connection that it names.
func (b *builder) digest() {
	definition := struct {
		Tool       *document.Tool
		Connection *document.Connection
	}{Tool: b.tool.Document}
	if http := b.tool.Document.HTTP; http != nil {
		definition.Connection = b.env.Connections[http.Connection]
	}
	text, err := json.Marshal(definition)
	if err != nil {
		b.problems.Errorf(b.tool.Document.Source.Start(), "definition", "the definition cannot be summed: %v", err)
	}
	b.tool.Digest = sha256.Sum256(text)
}
