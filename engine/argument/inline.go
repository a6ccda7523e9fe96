package argument

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/engine/diag"
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

// merge joins a schema with the one that it refers to: both hold. Where both
// say the same word, what describes is taken from beside the reference, and
// what binds is kept in an allOf.
func (n *inliner) merge(beside, target *written) *written {
	out := target.clone()
	out.at = beside.at
	var rest *written
	for _, key := range beside.keys {
		if out.has(key) && !slices.Contains([]string{"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"}, key) {
			if rest == nil {
				rest = newWritten()
				rest.at = beside.at
			}
			rest.set(key, beside.values[key])
			continue
		}
		out.set(key, beside.values[key])
	}
	if rest != nil {
		out.set("allOf", append(slices.Clone(out.list("allOf")), rest))
	}
	return out
}
