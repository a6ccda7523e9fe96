package load

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/writ-dev/writ/engine/value"
	"github.com/writ-dev/writ/schema"
)

// grammar is the JSON Schema that was derived from schema/*.cue, compiled
// once, and as written for messages.
type grammar struct {
	kinds    []string
	reserved []string // kinds of a later version
	compiled map[string]*jsonschema.Schema
	defs     map[string]any
}

const combined = "writ.json"

func newGrammar() (*grammar, error) {
	text, err := schema.Files.ReadFile("json/" + combined)
	if err != nil {
		return nil, fmt.Errorf("read the grammar: %w", err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("parse the grammar: %w", err)
	}
	top := schemaNode(parsed)
	g := &grammar{compiled: map[string]*jsonschema.Schema{}, defs: schemaNode(top["$defs"])}
	g.kinds = words(schemaNode(schemaNode(top["properties"])["kind"])["enum"])
	g.reserved = words(top["x-reserved-kinds"])
	compiler := jsonschema.NewCompiler()
	id, _ := top["$id"].(string)
	if err := compiler.AddResource(id, parsed); err != nil {
		return nil, fmt.Errorf("add the grammar: %w", err)
	}
	for _, kind := range g.kinds {
		if g.compiled[kind], err = compiler.Compile(id + "#/$defs/" + kind); err != nil {
			return nil, fmt.Errorf("compile the grammar of %s: %w", kind, err)
		}
	}
	return g, nil
}

func schemaNode(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func words(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, item := range list {
		switch item := item.(type) {
		case string:
			out = append(out, item)
		case json.Number:
			out = append(out, item.String())
		}
	}
	return out
}

// resolve follows a reference to its definition.
func (g *grammar) resolve(s map[string]any) map[string]any {
	for range MaxDepth {
		ref, ok := s["$ref"].(string)
		if !ok {
			break
		}
		s = schemaNode(g.defs[strings.TrimPrefix(ref, "#/$defs/")])
	}
	return s
}

// below finds the schema of a key or of the items of a list; nil when it says
// nothing.
func (g *grammar) below(s map[string]any, step string) map[string]any {
	s = g.resolve(s)
	if property := schemaNode(schemaNode(s["properties"])[step]); property != nil {
		return property
	}
	for _, pattern := range value.Keys(schemaNode(s["patternProperties"])) {
		return schemaNode(schemaNode(s["patternProperties"])[pattern])
	}
	if rest := schemaNode(s["additionalProperties"]); rest != nil {
		return rest
	}
	return schemaNode(s["items"])
}

// locate finds the schema of the value at a path of a document of this kind.
func (g *grammar) locate(kind string, path []string) map[string]any {
	s := schemaNode(g.defs[kind])
	for _, step := range path {
		s = g.below(s, step)
	}
	return s
}

// note reads an annotation of a schema or of what it refers to.
func (g *grammar) note(s map[string]any, name string) string {
	if text, ok := s[name].(string); ok {
		return text
	}
	text, _ := g.resolve(s)[name].(string)
	return text
}

// keys lists what a closed object may hold, and what it may hold later.
func (g *grammar) keys(s map[string]any) (known, later []string, closed bool) {
	s = g.resolve(s)
	rest, written := s["additionalProperties"].(bool)
	return value.Keys(schemaNode(s["properties"])), words(s["x-reserved"]), written && !rest
}

// Kinds lists the kinds of documents.
func Kinds() ([]string, error) {
	g, err := newGrammar()
	if err != nil {
		return nil, err
	}
	return slices.Clone(g.kinds), nil
}

// JSONSchema returns the JSON Schema of one kind, or of all kinds with a
// branch for each when kind is "". An unknown kind is an error.
func JSONSchema(kind string) ([]byte, error) {
	name := kind + ".json"
	if kind == "" {
		name = combined
	}
	text, err := schema.Files.ReadFile("json/" + name)
	if err != nil || strings.ContainsAny(kind, "/.\\") || kind == "writ" {
		return nil, fmt.Errorf("there is no kind %q", kind)
	}
	return text, nil
}
