package output

import (
	"encoding/json"
	"slices"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
)

// schema is as much of a JSON Schema as says which fields are impossible.
// Whatever else a schema says is left to its validator.
type schema struct {
	Type       any               `json:"type"`
	Properties map[string]schema `json:"properties"`
	Additional any               `json:"additionalProperties"`
	Items      *schema           `json:"items"`
	Required   []string          `json:"required"`
}

// UnmarshalJSON accepts true and false beside objects.
func (s *schema) UnmarshalJSON(data []byte) error {
	type plain schema
	if data[0] != '{' {
		return nil
	}
	return json.Unmarshal(data, (*plain)(s))
}

// fitsSchema reports fields that the structure promised by outputSchema can
// never have, and promised ones that are not among the fields.
func (s *Shape) fitsSchema(tool *document.Tool, mistakes *diag.List) {
	if tool.OutputSchema == nil || len(s.fields) == 0 {
		return
	}
	var root schema
	if json.Unmarshal(tool.OutputSchema, &root) != nil {
		return // whoever compiles the schema says so
	}
	row := root
	if s.hasRows {
		wrapped, ok := root.Properties["result"]
		if !ok && root.Properties != nil && root.Additional == false {
			mistakes.Errorf(tool.Source.At("outputSchema"), "output-schema", "rows become {\"result\": [...]}, which outputSchema does not allow").
				Also(tool.Source.At("output", "rows"), "rows are taken here")
			return
		}
		if wrapped.Items == nil {
			return
		}
		row = *wrapped.Items
	} else if list, ok := root.Properties["result"]; ok && list.Items != nil && len(root.Properties) == 1 {
		row = *list.Items
	}
	names := make([]string, 0, len(s.fields))
	for _, f := range s.fields {
		names = append(names, f.name)
		s.fieldFits(tool, f, row, mistakes)
	}
	for _, name := range row.Required {
		if !slices.Contains(names, name) {
			mistakes.Errorf(tool.Source.At("output", "fields"), "output-schema", "outputSchema requires %q, which is not among the fields", name).
				Also(tool.Source.At("outputSchema"), "the schema")
		}
	}
}

func (s *Shape) fieldFits(tool *document.Tool, f field, row schema, mistakes *diag.List) {
	at := tool.Source.Key("output", "fields", f.name)
	property, known := row.Properties[f.name]
	if !known {
		if row.Properties != nil && row.Additional == false {
			mistakes.Errorf(at, "output-schema", "outputSchema has no field %q", f.name).
				Hinted("%s", diag.DidYouMean(f.name, keys(row.Properties)))
		}
		return
	}
	kind := f.kind
	switch {
	case f.mask:
		kind = "string"
	case slices.ContainsFunc(f.path, func(s step) bool { return s.each }):
		kind = "array"
	}
	if kind != "" && !property.allows(kind) {
		mistakes.Errorf(at, "output-schema", "field %q is %s, which outputSchema does not allow", f.name, kind)
	}
}

func (s schema) allows(kind string) bool {
	one := func(t any) bool { return t == kind || t == "number" && kind == "integer" }
	switch t := s.Type.(type) {
	case string:
		return one(t)
	case []any:
		return slices.ContainsFunc(t, one)
	}
	return true
}

func keys(m map[string]schema) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	return names
}
