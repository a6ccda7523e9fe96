package argument

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// compileFull compiles a schema without references for the words that nodes
// leave out. Formats mean the same in both.
func compileFull(w *written, words map[string]keyword) (*jsonschema.Schema, error) {
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(noLoader{})
	compiler.AssertFormat()
	for _, name := range formats() {
		check := formatCheck(name)
		compiler.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(v any) error {
			if s, ok := v.(string); ok {
				return check(s)
			}
			return nil
		}})
	}
	const here = "writ:schema"
	bare := rewrite(w, words, func(schema *written) { schema.remove("under", "must", "allow_leading") })
	if err := compiler.AddResource(here, plain(bare)); err != nil {
		return nil, err
	}
	return compiler.Compile(here)
}

type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errors.New("nothing is fetched") }

// full lets the full validator check v, whose own words have passed.
func (c *checker) full(n *node, v any) {
	err := n.full.Validate(v)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		if err != nil {
			c.problem("cannot be validated: %v", err)
		}
		return
	}
	c.leaves(invalid)
}

// leaves reports the innermost errors, deepest reason first.
func (c *checker) leaves(e *jsonschema.ValidationError) {
	depth := len(c.trail)
	defer func() { c.trail = c.trail[:depth] }()
	path := e.ErrorKind.KeywordPath()
	if len(e.Causes) > 0 && (len(path) == 0 || path[0] == "allOf") {
		for _, cause := range e.Causes {
			c.leaves(cause)
		}
		return
	}
	for _, key := range e.InstanceLocation {
		c.trail = append(c.trail, step{key: key, index: -1})
	}
	c.problem("%s", explain(e))
}

// explain says in one line which word of the schema did not hold.
func explain(e *jsonschema.ValidationError) string {
	if len(e.Causes) == 0 {
		return text(e)
	}
	var reasons []string
	for _, cause := range e.Causes {
		for len(cause.Causes) > 0 {
			cause = cause.Causes[0]
		}
		if reason := text(cause); !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	if len(reasons) > 3 {
		reasons = append(reasons[:3], "…")
	}
	return fmt.Sprintf("does not satisfy %s of the schema (%s)", strings.Join(e.ErrorKind.KeywordPath(), "/"), strings.Join(reasons, " | "))
}

func text(e *jsonschema.ValidationError) string {
	if unit := e.BasicOutput(); unit.Error != nil {
		return cut(unit.Error.String())
	}
	return "does not satisfy the schema"
}
