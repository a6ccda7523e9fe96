package argument

import (
	"encoding/json"
	"slices"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/value"
)

// Output is the compiled outputSchema of a tool. It is immutable.
type Output struct {
	root       *node
	kind       value.Type
	projection json.RawMessage
}

// CompileOutput compiles the outputSchema of a tool: JSON Schema 2020-12 with
// type: object, without which some clients drop the whole list of tools. It
// returns nil when the tool has none or anything is an error.
func CompileOutput(tool *document.Tool) (*Output, diag.List) {
	var problems diag.List
	if tool.OutputSchema == nil {
		return nil, nil
	}
	c := compiler{linter: linter{source: tool.Source, words: vocabulary(), problems: &problems}}
	schema := c.verbatim(tool.OutputSchema, "outputSchema")
	if schema == nil || problems.HasErrors() {
		return nil, problems
	}
	rewrite(schema, c.words, func(w *written) {
		for _, key := range w.keys {
			if slices.Contains([]string{"under", "must", "allow_leading"}, key) || key == "format" && w.text(key) == "path" {
				c.problems.Errorf(c.key(w, key), "no-effect", "%s belongs to arguments, not to what a tool returns", key)
			}
		}
	})
	root := build(schema, c.words)
	if root.needsFull() {
		full, err := compileFull(schema, c.words)
		if err != nil {
			problems.Errorf(c.at(schema), "schema-text", "the schema cannot be compiled: %v", err)
			return nil, problems
		}
		root.attach(full)
	}
	if problems.HasErrors() {
		return nil, problems
	}
	return &Output{root: root, kind: root.typeOfValue(), projection: project(schema, c.words)}, problems
}

// Validate checks a canonical value as it is: nothing is coerced or filled.
// An error is an *Error.
func (o *Output) Validate(v any) error {
	c := checker{exact: true}
	c.value(o.root, v)
	return c.err()
}

// Type is what is known of every value that is valid.
func (o *Output) Type() value.Type { return o.kind }

// Projection is the schema that clients are shown, with references inlined
// and combinators at the top told in the description.
func (o *Output) Projection() json.RawMessage { return o.projection }
