// Package argument answers two questions: are these arguments valid, and what
// is their canonical form?
//
// A tool declares its arguments in the short form or as JSON Schema 2020-12.
// Compile reads the declaration once, when it is loaded, and reports every
// mistake with its position; what comes of it decodes calls. There is one
// canonical value (package value), and schema, rules, preview, audit and
// executor all read that one. Decoding is strict where two parsers could
// differ, and lenient only where nothing is lost: a string that is exactly a
// JSON number or boolean stands for it where the schema asks for nothing
// else, and null for an argument that may be left out means that it is.
// The common words of a schema are checked by compiled nodes; the rest
// (anyOf, if, patternProperties, …) is left to a full validator, which only
// this package imports. The package is pure: it holds no state, reads no file
// and no clock, and never logs. Resolving paths is the work of package root.
package argument

import (
	"encoding/json"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/value"
)

// Schema is the compiled arguments of one tool. It is immutable and used by
// many calls at once.
type Schema struct {
	root       *node
	kind       value.Type
	paths      []Path
	projection json.RawMessage
	leading    map[string][]string
}

// Path says which values are paths. Pointer is a JSON pointer in which the
// step * selects every item of a list or every value of a map, such as
// "/repo" or "/files/*". Under names roots of writ.yaml; Must is exist, file,
// directory, absent or "".
type Path struct {
	Pointer string
	Under   []string
	Must    string
}

// Compile compiles the arguments of a tool. Roots reports whether a root is
// declared; one that is not makes a warning, since the tool is then not
// available. A nil roots warns of nothing. It returns nil when anything is an
// error.
func Compile(tool *document.Tool, roots func(name string) bool) (*Schema, diag.List) {
	var problems diag.List
	c := compiler{linter: linter{source: tool.Source, words: vocabulary(), roots: roots, problems: &problems}}
	var schema *written
	if tool.InputSchema != nil {
		schema = c.verbatim(tool.InputSchema, "inputSchema")
		if schema != nil {
			c.top(schema)
		}
	} else {
		schema = c.short(tool.Args)
	}
	if problems.HasErrors() {
		return nil, problems
	}
	s := c.compile(schema)
	if problems.HasErrors() {
		return nil, problems
	}
	return s, problems
}

// Decode reads the arguments of a call. Raw is a JSON object; nil, empty and
// null mean no arguments. The result is canonical, complete with defaults and
// valid, and belongs to the caller. Decode(JSON(Decode(raw))) is Decode(raw).
// An error is an *Error.
func (s *Schema) Decode(raw []byte) (map[string]any, error) { return s.decode(raw, false) }

// Partial reads arguments of which any may be missing, at any depth, such as
// the examples of a rule: every key must exist, every value must be valid, and
// defaults are filled. Words that speak of the arguments as a whole (anyOf,
// minProperties, …) are not checked.
func (s *Schema) Partial(raw []byte) (map[string]any, error) { return s.decode(raw, true) }

func (s *Schema) decode(raw []byte, partial bool) (map[string]any, error) {
	var way [8]step
	r := reader{text: raw, trail: way[:0]}
	values := map[string]any{}
	if r.peek() != 0 || r.at < len(raw) {
		read, err := r.read()
		if err != nil {
			return nil, err
		}
		object, ok := read.(map[string]any)
		if !ok && read != nil {
			return nil, &Error{Problems: []Problem{{Message: errNotObject.Error()}}}
		}
		if ok {
			values = object
		}
	}
	c := checker{partial: partial, trail: way[:0]}
	c.value(s.root, values)
	if err := c.err(); err != nil {
		return nil, err
	}
	return values, nil
}

// Type is a Struct of the arguments. A field is Optional when it may be absent
// from what Decode returns: neither required nor filled by a default.
func (s *Schema) Type() value.Type { return s.kind }

// Paths lists which values are paths, in the order of the declaration.
func (s *Schema) Paths() []Path { return s.paths }

// Projection is the schema that clients are shown: a plain object schema
// without references, without combinators at the top and without Writ's own
// words. What it leaves out is told in descriptions.
func (s *Schema) Projection() json.RawMessage { return s.projection }

// Leading lists, by argument name, the first characters that the argument may
// begin with although they could turn it into an option (allow_leading).
func (s *Schema) Leading() map[string][]string { return s.leading }
