package load

import (
	"regexp"
	"slices"
	"strings"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/value"
)

// unknown reports every key that the grammar does not have, whatever else is
// wrong beside it.
func (v *validation) unknown(s map[string]any, n *node, path []string) {
	switch n.form {
	case formList:
		if items := schemaNode(v.grammar.resolve(s)["items"]); items != nil {
			for _, item := range n.items {
				v.unknown(items, item, append(slices.Clip(path), "0"))
			}
		}
	case formObject:
		for i, k := range n.keys {
			here := append(slices.Clip(path), k.name)
			if v.accepts(s, k.name) {
				if below := v.grammar.below(s, k.name); below != nil {
					v.unknown(below, n.items[i], here)
				}
				continue
			}
			v.key(s, k, here, n.items[i])
		}
	}
}

func (v *validation) accepts(s map[string]any, name string) bool {
	known, _, closed := v.grammar.keys(s)
	if !closed || slices.Contains(known, name) {
		return true
	}
	for _, pattern := range value.Keys(schemaNode(v.grammar.resolve(s)["patternProperties"])) {
		if matched, err := regexp.MatchString(pattern, name); err == nil && matched {
			return true
		}
	}
	return false
}

// key reports one key.
func (v *validation) key(s map[string]any, k key, path []string, value *node) {
	known, later, _ := v.grammar.keys(s)
	if slices.Contains(later, k.name) {
		v.problems.Errorf(k.at, "reserved", "`%s` is not yet available", k.name)
		return
	}
	if len(known) == 0 {
		d := v.problems.Errorf(k.at, "wrong-value", "key %q of %s is not usable", k.name, dotted(path[:len(path)-1]))
		if want := v.grammar.note(s, "x-want"); want != "" {
			d.Hinted("write %s", want)
		}
		return
	}
	where := ""
	if len(path) > 1 {
		where = " in " + dotted(path[:len(path)-1])
	}
	d := v.problems.Errorf(k.at, "unknown-key", "unknown key %q%s", k.name, where)
	switch {
	case value.form == formNull && strings.Contains(k.name, " "):
		d.Hinted("quote the text before it, which holds a comma")
	case k.name == "required" && slices.Contains(known, "optional"):
		d.Message = "required is not used here: every argument is required"
		d.Hinted("write optional: true, or a default, on those that are not")
	case k.name == "nullable" && slices.Contains(known, "optional"):
		d.Hinted(`write type: [string, "null"]`)
	case slices.Contains(known, "optional") && (strings.HasPrefix(k.name, "$") || k.name == "definitions"):
		d.Message = k.name + " is not part of the short form"
		d.Hinted("use inputSchema for a whole JSON Schema")
	default:
		d.Hinted("%s", v.suggest(k.name, known))
	}
	v.related(d, s)
}

// suggest names the key that was meant, also one of a neighbouring object.
func (v *validation) suggest(name string, known []string) string {
	if hint := diag.DidYouMean(name, known); hint != "" {
		return hint
	}
	meant := map[string]string{
		"entrypoint": "entries", "entrypoints": "entries", "applies_to": "match", "tool": "tools", "principal": "principals",
		"input_schema": "inputSchema", "output_schema": "outputSchema", "parameters": "args", "arguments": "args", "cmd": "argv",
		"url": "base_url", "expect_decision": "decision", "condition": "when", "if": "when", "level": "risk",
	}[name]
	if slices.Contains(known, meant) {
		return "write " + meant
	}
	if len(known) <= 12 {
		return "write " + diag.OneOf(known)
	}
	return ""
}
