package argument

import (
	"encoding/json"
	"strings"
)

// project makes what clients are shown. Many refuse references, combinators
// at the top, and formats that they do not know.
func project(w *written, words map[string]keyword) json.RawMessage {
	top := rewrite(w, words, func(schema *written) {
		switch schema.text("format") {
		case "path":
			describe := "A path " + underText(schema.names("under"))
			switch schema.text("must") {
			case "":
				describe += "."
			case "absent":
				describe += "; it must not exist yet."
			case "exist":
				describe += "; it must exist."
			default:
				describe += "; it must be an existing " + schema.text("must") + "."
			}
			schema.addDescription(describe)
			schema.remove("format")
		case "decimal":
			if schema.has("pattern") {
				schema.addDescription("An exact decimal number such as 12.50.")
			} else {
				schema.set("pattern", decimalPattern)
			}
			schema.remove("format")
		}
		schema.remove("under", "must", "allow_leading")
		if list, ok := schema.values["required"].([]any); ok && len(list) == 0 {
			schema.remove("required")
		}
	}).(*written)

	out := newWritten()
	out.set("type", "object")
	hidden := newWritten()
	for _, key := range combinators() {
		if top.has(key) {
			hidden.set(key, top.values[key])
			top.remove(key)
		}
	}
	if len(hidden.keys) > 0 {
		top.addDescription("The arguments must also satisfy this JSON Schema: " + string(appendJSON(nil, hidden)))
	}
	for _, key := range top.keys {
		out.set(key, top.values[key])
	}
	return appendJSON(nil, out)
}

func (w *written) addDescription(more string) {
	if text := strings.TrimSpace(w.text("description")); text != "" {
		more = text + "\n" + more
	}
	w.set("description", more)
}

func underText(under []string) string {
	var roots []string
	anywhere := false
	for _, name := range under {
		if name == "anywhere" {
			anywhere = true
		} else {
			roots = append(roots, name)
		}
	}
	switch {
	case len(roots) == 0:
		return "that is absolute"
	case len(roots) == 1 && !anywhere:
		return "in the folder " + roots[0] + ", relative to it or absolute"
	case !anywhere:
		return "in one of the folders " + strings.Join(roots, ", ") + ", absolute or relative to " + roots[0]
	}
	return "that is absolute or relative to the folder " + under[0]
}
