package argument

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/value"
)

const maxInlined = 4096 // schemas that one tool may have once references are inlined

// inliner replaces references by what they refer to, because many clients
// refuse or lose them.
type inliner struct {
	*linter
	root  *written
	open  []*written // being inlined, to find circles
	count int
	full  bool
}

// schema returns a copy of w without references.
func (n *inliner) schema(w *written) *written {
	if n.count++; n.count > maxInlined {
		if !n.full {
			n.problems.Errorf(n.at(n.root), "schema-size", "the schema has more than %d parts once its references are followed", maxInlined)
		}
		n.full = true
		return newWritten()
	}
	n.open = append(n.open, w)
	defer func() { n.open = n.open[:len(n.open)-1] }()
	out := w.clone()
	out.remove("$defs", "definitions", "$schema", "$id", "$comment")
	for _, key := range out.keys {
		out.values[key] = eachSchema(n.words[key].form, out.values[key], n.one)
	}
	if !w.has("$ref") {
		return out
	}
	out.remove("$ref")
	target := n.follow(w)
	if target == nil {
		return out
	}
	return n.merge(out, target)
}

func (n *inliner) one(v any) any {
	if object, ok := v.(*written); ok {
		return n.schema(object)
	}
	return v
}

// follow returns the schema that $ref names, inlined itself.
func (n *inliner) follow(w *written) *written {
	ref, at := w.text("$ref"), n.at(w, "$ref")
	pointer, local := strings.CutPrefix(ref, "#")
	if !local {
		n.problems.Errorf(at, "remote-reference", "%s is outside this schema, and nothing is fetched", ref).
			Hinted(`copy it into $defs and refer to "#/$defs/NAME"`)
		return nil
	}
	if unescaped, err := url.PathUnescape(pointer); err == nil {
		pointer = unescaped
	}
	if pointer != "" && pointer[0] != '/' {
		n.problems.Errorf(at, "unknown-reference", "%s is not a JSON pointer", ref).Hinted(`write "#/$defs/NAME"`)
		return nil
	}
	found, ok := lookup(n.root, pointer).(*written)
	if !ok {
		d := n.problems.Errorf(at, "unknown-reference", "%s names no schema", ref)
		if defs := n.root.object("$defs"); defs != nil {
			d.Hinted("%s", diag.DidYouMean(strings.TrimPrefix(pointer, "/$defs/"), defs.keys))
		}
		return nil
	}
	if slices.Contains(n.open, found) {
		n.problems.Errorf(at, "circular-reference", "%s leads back to itself, so clients cannot be shown a plain schema", ref).
			Hinted("write out as many levels as the tool needs")
		return nil
	}
	return n.schema(found)
}

func lookup(v any, pointer string) any {
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			break
		}
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch at := v.(type) {
		case *written:
			v = at.values[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(at) {
				return nil
			}
			v = at[i]
		default:
			return nil
		}
	}
	return v
}

// merge joins a schema with the one that it refers to: both hold, and neither
// changes what the other means. What describes is taken from beside the
// reference. What binds goes to an allOf where the target has the same word,
// or one that is read together with it.
func (n *inliner) merge(beside, target *written) *written {
	if unevaluated(beside) || unevaluated(target) {
		out := beside.clone()
		out.set("allOf", append(slices.Clone(out.list("allOf")), target))
		return out
	}
	out, rest := target.clone(), newWritten()
	out.at, rest.at = beside.at, beside.at
	for _, key := range beside.keys {
		switch {
		case describes(key), !slices.ContainsFunc(target.keys, func(other string) bool { return together(key) == together(other) }):
			out.set(key, beside.values[key])
		case !value.Equal(plain(target.values[key]), plain(beside.values[key])) || together(key) != key:
			rest.set(key, beside.values[key])
		}
	}
	if len(rest.keys) > 0 {
		out.set("allOf", append(slices.Clone(out.list("allOf")), rest))
	}
	return out
}

func describes(key string) bool {
	return slices.Contains([]string{"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"}, key)
}

func unevaluated(w *written) bool { return w.has("unevaluatedProperties") || w.has("unevaluatedItems") }

// together names the group of words that are read together.
func together(key string) string {
	switch key {
	case "properties", "patternProperties", "additionalProperties":
		return "properties of an object"
	case "items", "prefixItems":
		return "items of a list"
	case "contains", "minContains", "maxContains":
		return "contents of a list"
	case "if", "then", "else":
		return "condition"
	case "format", "under", "must":
		return "format with its roots"
	}
	return key
}
