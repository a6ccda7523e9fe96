package main

import (
	"fmt"
	"slices"
	"strings"
)

// pages makes a reference page for each kind, with a section for each
// definition that the kind uses.
func (g *grammar) pages() ([]file, error) {
	defs, err := g.derived()
	if err != nil {
		return nil, err
	}
	var files []file
	for _, kind := range g.kinds {
		var b strings.Builder
		fmt.Fprintf(&b, "<!-- Generated from schema/*.cue by go generate. -->\n# %s\n\n", kind)
		names := []string{kind}
		for _, m := range reachable(defs, kind) {
			if m.key != kind {
				names = append(names, m.key)
			}
		}
		var plain []string
		for _, name := range names {
			schema := defs.get(name).(object)
			if schema.get("properties") == nil {
				plain = append(plain, name)
				continue
			}
			section(&b, name, name == kind, schema)
		}
		if len(plain) > 0 {
			b.WriteString("## Words\n\n| name | value | meaning |\n|---|---|---|\n")
			for _, name := range plain {
				schema := defs.get(name).(object)
				fmt.Fprintf(&b, "| <a id=\"%s\"></a>%s | %s | %s |\n", strings.ToLower(name), name, cell(typeOf(schema)), cell(meaning(schema)))
			}
		}
		files = append(files, file{"docs/reference/" + kind + ".md", []byte(b.String())})
	}
	return files, nil
}

func section(b *strings.Builder, name string, top bool, schema object) {
	if !top {
		fmt.Fprintf(b, "## %s\n\n", name)
	}
	fmt.Fprintf(b, "%s\n\n| key | value | meaning |\n|---|---|---|\n", schema.text("description"))
	rows(b, "", schema)
	if reserved, ok := schema.get("x-reserved").([]string); ok {
		fmt.Fprintf(b, "\nNot yet available: %s.\n", strings.Join(reserved, ", "))
	}
	b.WriteByte('\n')
}

func rows(b *strings.Builder, prefix string, schema object) {
	required, _ := schema.get("required").([]string)
	properties, _ := schema.get("properties").(object)
	for _, m := range properties {
		property := m.value.(object)
		mark := ""
		if slices.Contains(required, m.key) {
			mark = ", required"
		}
		fmt.Fprintf(b, "| `%s%s` | %s%s | %s |\n", prefix, m.key, cell(typeOf(property)), mark, cell(meaning(property)))
		if property.get("properties") != nil {
			rows(b, prefix+m.key+".", property)
		}
	}
}

func meaning(schema object) string {
	text, want := schema.text("description"), schema.text("x-want")
	if want != "" {
		text = strings.TrimSpace(text + " Written as " + want + ".")
	}
	return text
}

// typeOf says in words what a value is.
func typeOf(schema object) string {
	if ref := schema.text("$ref"); ref != "" {
		name := strings.TrimPrefix(ref, "#/$defs/")
		return fmt.Sprintf("[%s](#%s)", name, strings.ToLower(name))
	}
	if words := choices(schema); words != "" {
		return words
	}
	switch schema.text("type") {
	case "array":
		return "list of " + itemType(schema.get("items")) + limits(schema)
	case "object":
		return mapType(schema) + limits(schema)
	case "string":
		return "text" + limits(schema)
	case "boolean":
		return "true or false"
	case "":
		return "any value"
	}
	return schema.text("type") + limits(schema)
}

func choices(schema object) string {
	if constant := schema.get("const"); constant != nil {
		return fmt.Sprintf("`%v`", constant)
	}
	if words, ok := schema.get("enum").([]any); ok {
		texts := make([]string, len(words))
		for i, word := range words {
			texts[i] = fmt.Sprintf("`%v`", word)
		}
		return strings.Join(texts, ", ")
	}
	if any, ok := schema.get("anyOf").([]any); ok {
		texts := make([]string, len(any))
		for i, choice := range any {
			texts[i] = typeOf(choice.(object))
		}
		return strings.Join(texts, " or ")
	}
	return ""
}

func itemType(items any) string {
	if item, ok := items.(object); ok {
		return typeOf(item)
	}
	return "any values"
}

func mapType(schema object) string {
	if schema.get("properties") != nil {
		return "object"
	}
	if patterns, ok := schema.get("patternProperties").(object); ok && len(patterns) == 1 {
		return fmt.Sprintf("map to %s, keys match `%s`", itemType(patterns[0].value), patterns[0].key)
	}
	if rest, ok := schema.get("additionalProperties").(object); ok {
		return "map to " + typeOf(rest)
	}
	return "object of any keys"
}

func limits(schema object) string {
	var out []string
	for _, limit := range []struct{ key, text string }{
		{"minimum", "at least %v"}, {"maximum", "at most %v"}, {"exclusiveMinimum", "above %v"}, {"exclusiveMaximum", "below %v"},
		{"minItems", "at least %v"}, {"maxItems", "at most %v"}, {"minProperties", "at least %v"}, {"pattern", "matches `%v`"},
	} {
		if value := schema.get(limit.key); value != nil {
			out = append(out, fmt.Sprintf(limit.text, value))
		}
	}
	if not, ok := schema.get("not").(object); ok {
		out = append(out, fmt.Sprintf("does not match `%v`", not.get("pattern")))
	}
	if len(out) == 0 {
		return ""
	}
	return ", " + strings.Join(out, ", ")
}

func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }
