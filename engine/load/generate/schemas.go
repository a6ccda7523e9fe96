package main

import (
	"slices"
	"strings"
)

const (
	dialect = "https://json-schema.org/draft/2020-12/schema"
	address = "https://writ.dev/schema/"
)

// schemas makes one JSON Schema for each kind, and one of all kinds whose
// branches are chosen by kind.
func (g *grammar) schemas() ([]file, error) {
	defs, err := g.derived()
	if err != nil {
		return nil, err
	}
	var files []file
	for _, kind := range g.kinds {
		data, err := pretty(object{
			{"$schema", dialect}, {"$id", address + kind + ".json"}, {"title", kind},
			{"$ref", "#/$defs/" + kind}, {"$defs", reachable(defs, kind)},
		})
		if err != nil {
			return nil, err
		}
		files = append(files, file{"schema/json/" + kind + ".json", data})
	}
	var branches []any
	for _, kind := range g.kinds {
		branches = append(branches, object{
			{"if", object{{"properties", object{{"kind", object{{"const", kind}}}}}, {"required", []string{"kind"}}}},
			{"then", object{{"$ref", "#/$defs/" + kind}}},
		})
	}
	data, err := pretty(object{
		{"$schema", dialect}, {"$id", address + "writ.json"}, {"title", "Writ document"}, {"type", "object"},
		{"properties", object{{"kind", object{{"enum", g.kinds}, {"description", "Kind of the document."}}}}},
		{"required", []string{"kind"}}, {"allOf", branches}, {"x-reserved-kinds", g.reserved}, {"$defs", defs},
	})
	return append(files, file{"schema/json/writ.json", data}), err
}

// reachable keeps the definitions that one of them needs.
func reachable(defs object, from string) object {
	seen := map[string]bool{}
	var visit func(v any)
	visit = func(v any) {
		switch v := v.(type) {
		case object:
			for _, m := range v {
				if text, ok := m.value.(string); ok && m.key == "$ref" {
					name := strings.TrimPrefix(text, "#/$defs/")
					if !seen[name] {
						seen[name] = true
						visit(defs.get(name))
					}
				}
				visit(m.value)
			}
		case []any:
			for _, item := range v {
				visit(item)
			}
		}
	}
	visit(object{{"$ref", "#/$defs/" + from}})
	return slices.DeleteFunc(slices.Clone(defs), func(m member) bool { return !seen[m.key] })
}
