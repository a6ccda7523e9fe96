// Package executor answers one question: how is an effect carried out?
//
// There is one folder for each kind (command, http, file, tls). A kind
// compiles the block of a tool document once, when it is loaded; the Executor
// that comes of it prepares an exact effect from canonical arguments, which
// may read but never write, and executes nothing but an effect that it
// prepared. Which kinds exist is a map made in package main: there is no
// registration. Only package pipeline calls Execute.
package executor

import (
	"context"
	"time"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/value"
)

// Kind compiles tools of one kind. One Kind lives as long as the process and
// may keep what outlasts a generation, such as rate limits and connections.
type Kind interface {
	// Compile checks the kind's block of a tool, every slot of it against the
	// arguments, and reports all mistakes with positions.
	Compile(Declaration) (Executor, diag.List)
}

// Kinds maps the key of a tool document (command, http, …) to its kind.
type Kinds map[string]Kind

// Declaration is what a kind may know when it compiles a tool.
type Declaration struct {
	Tool *document.Tool
	// Arguments is an Object type with exactly the tool's arguments.
	Arguments   value.Type
	Connections map[string]*document.Connection
	// Leading lists, by argument name, the first characters that the argument
	// may begin with although they could turn it into an option.
	Leading map[string][]string
	Secrets Secrets
	// Guard keeps programs and paths away from Writ's own files.
	Guard Guard
}

// Secrets gives the values of declared secrets to who may use them.
type Secrets interface {
	// Declared reports whether a secret of this name exists and whether the
	// tool or connection may use it.
	Declared(name, tool, connection string) (exists, allowed bool)
	// Value reads a secret. An error names the secret, never its value.
	Value(name string) (string, error)
	Redactor
}

// Digester is a Secrets that can tell whether a value changed without telling
// the value. What an approval binds holds this digest beside the name.
type Digester interface {
	// Digest is a keyed digest of a secret's value, in hexadecimal.
	Digest(name string) (string, error)
}

// Redactor cuts the values of all secrets out of what leaves an executor, also
// where they are base64 or percent-encoded, and writes "[redacted NAME]".
type Redactor interface {
	Redact(text string) string
	// Stream cleans a text that comes in pieces.
	Stream() Stream
}

// Guard says which paths belong to Writ itself.
type Guard interface {
	// Protected reports whether an absolute, resolved path is, or is inside,
	// or contains Writ's own configuration or state.
	Protected(path string) bool
}

// Executor prepares and executes the effects of one tool. It is immutable and
// used by many calls at once.
type Executor interface {
	// Prepare fixes the effect. It reads, but never writes. Errors are for the
	// caller to read: they carry no secret, host path or stack.
	Prepare(context.Context, Input) (call.Effect, error)
	// Execute carries out an effect of its own Prepare, once. The context ends
	// when the call is cancelled or its time is over; Execute returns only
	// after what it started has ended. It reports every failure in the
	// Outcome.
	Execute(context.Context, call.Effect, Run) call.Outcome
}

// Availability is an Executor that can tell, when a generation is built,
// whether it could work on this machine.
type Availability interface {
	// Unavailable says what is missing, for the person who runs the server, or "".
	Unavailable() string
}

// FactDeclarer is an Executor whose effects carry typed facts for rules.
type FactDeclarer interface {
	Facts() map[string]value.Field
}

// Resource is a file that Prepare resolved from an argument, and what the
// executor needs to act on it without resolving it again.
type Resource struct {
	Root     string // name of the root in writ.yaml
	RootPath string // absolute, resolved
	Relative string // slash-separated, inside the root; "." for the root itself
}

// Input is what Prepare works from.
type Input struct {
	// Arguments are canonical; a path argument is absolute and resolved.
	Arguments map[string]any
	// Paths gives, for each path argument by JSON pointer such as "/repo" or
	// "/files/0", where in which root it is.
	Paths     map[string]Resource
	Principal call.Principal
	// Offline is set by explain and test: look up no program, fetch nothing,
	// note what was left out in Effect.Unresolved.
	Offline bool
	// Previous is the effect that was approved, when a call is prepared again
	// at execution: what it pinned is used as approved, only live targets that
	// will be changed are read again.
	Previous *call.Effect
}

// Run is how Execute is bounded and observed.
type Run struct {
	// MaxBytes caps each captured stream in memory: the first and the last
	// half are kept.
	MaxBytes int64
	// Line, when not nil, is called with the number of complete lines so far.
	Line func(lines int64)
	// Grace is how long a program gets between TERM and KILL.
	Grace time.Duration
	// Redactor cleans output while it is read, before anything is cut.
	Redactor func() Stream
}

// Stream redacts a stream in pieces: what Write returns is safe to keep, what
// it holds back comes with Flush.
type Stream interface {
	Write(piece []byte) []byte
	Flush() []byte
}
