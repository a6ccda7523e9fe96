// Package tool answers one question: what can be called?
//
// A Tool is one compiled tool document: its arguments, its floor, its scope,
// its locks and its executor. Everything that can be wrong with the document
// alone is found here, with positions, when it is loaded. At a call the tool
// turns bytes into canonical arguments and then into a prepared call; it may
// read while it does so, and never writes. It knows no rules and no policies.
package tool

import (
	"encoding/json"
	"time"

	"github.com/writ-dev/writ/engine/argument"
	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/condition"
	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/executor"
	"github.com/writ-dev/writ/engine/match"
	"github.com/writ-dev/writ/engine/output"
	"github.com/writ-dev/writ/engine/rule"
	"github.com/writ-dev/writ/engine/template"
	"github.com/writ-dev/writ/engine/value"
)

// Tool is one compiled tool. It is immutable.
type Tool struct {
	Name, Title, Description, Group string

	Labels     map[string]string
	Document   *document.Tool
	Kind       string // the key of its executor in the document
	Floor      call.Level
	PerCall    bool
	Idempotent bool
	Arguments  *argument.Schema
	// OutputSchema is what clients are shown, or nil.
	OutputSchema json.RawMessage
	Timeout      time.Duration
	Output       *output.Shape
	Executor     executor.Executor
	Digest       call.Digest // of the definition

	environment value.Type
	scope       map[string]*template.Template
	scopeKeys   []string
	locks       []*template.Template
	refuse      []*rule.Bound
}

// Environment is what a tool may refer to when it is compiled.
type Environment struct {
	Kinds       executor.Kinds
	Connections map[string]*document.Connection
	Secrets     executor.Secrets
	Guard       executor.Guard
	// Root reports whether a root of this name is declared.
	Root func(name string) bool
	// Claims are the typed claims of principals.
	Claims map[string]value.Field

	shared map[string]value.Field
}

// Target is the tool as selectors see it.
func (t *Tool) Target() match.Target {
	return match.Target{Name: t.Name, Group: t.Group, Labels: t.Labels, Scope: t.ScopeKeys()}
}

// RuleTarget is the tool as rules see it.
func (t *Tool) RuleTarget() rule.Target {
	return rule.Target{Target: t.Target(), At: t.Document.Source.Start(), Environment: t.environment}
}

// ScopeKeys lists the trusted dimensions of the tool's calls.
// The list is not to be changed.
func (t *Tool) ScopeKeys() []string { return t.scopeKeys }

// Roots lists the roots that the tool's path arguments may lie under.
func (t *Tool) Roots() []string {
	seen := map[string]bool{}
	for _, path := range t.Arguments.Paths() {
		for _, name := range path.Under {
			seen[name] = true
		}
	}
	return value.Keys(seen)
}

// Values makes what expressions read. Scope and facts may be nil before they
// are known.
func (t *Tool) Values(request call.Request, arguments, scope, facts map[string]any) condition.Environment {
	return condition.Environment{
		Args:      arguments,
		Scope:     scope,
		Facts:     facts,
		Principal: principalOf(request.Principal),
		Entry:     string(request.Entry),
		Tool:      map[string]any{"name": t.Name, "group": t.Group},
	}
}

// principalOf is the principal as expressions and templates read it. Claims
// cannot hide the name or the roles.
func principalOf(p call.Principal) map[string]any {
	roles := make([]any, len(p.Roles))
	for i, role := range p.Roles {
		roles[i] = role
	}
	values := make(map[string]any, 2+len(p.Claims))
	for name, claim := range p.Claims {
		values[name] = claim
	}
	values["name"], values["roles"] = p.Name, roles
	return values
}

func (t *Tool) at(path ...any) diag.Position { return t.Document.Source.At(path...) }
