package setting

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/value"
)

// Bounds of lists and maps in writ.yaml.
const (
	maxItems = 1024
	maxText  = 4096
)

// value reads one setting. It reports false when it reported a mistake.
func (f *file) value(e Entry, n *yaml.Node) (any, bool) {
	switch e.form {
	case formList:
		return f.texts(n, e.Key, nil)
	case formFolders:
		return f.folders(n, e.Key)
	case formSwitches:
		return f.switches(n, e.Key)
	case formClaims:
		return f.claimTypes(n)
	case formCallers:
		return f.callers(n)
	case formApprovers:
		return f.approvers(n)
	}
	text, ok := f.scalar(n, e)
	if !ok {
		return nil, false
	}
	v, err := e.parse(text)
	if err != nil {
		f.errorf(n, "invalid", "%s: %s", e.Key, err)
		return nil, false
	}
	return v, true
}

// scalar gives the text of a value, if YAML and the table agree on its type.
func (f *file) scalar(n *yaml.Node, e Entry) (string, bool) {
	if !f.plain(n) {
		return "", false
	}
	wanted, hint := "!!str", "quote the value"
	switch e.form {
	case formInteger:
		wanted, hint = "!!int", "write it without quotes"
	case formBoolean:
		wanted, hint = "!!bool", "write true or false, without quotes"
	case formSize:
		hint = "write a unit, such as 32KiB"
	}
	if n.Kind != yaml.ScalarNode || n.Tag != wanted || len(n.Value) > maxText {
		f.errorf(n, "wrong-type", "%s must be %s, not %s", e.Key, article(e.Type()), describe(n)).Hinted("%s", hint)
		return "", false
	}
	return n.Value, true
}

func (f *file) texts(n *yaml.Node, what string, allowed *regexp.Regexp) ([]string, bool) {
	if !f.plain(n) {
		return nil, false
	}
	if n.Kind != yaml.SequenceNode {
		f.errorf(n, "wrong-type", "%s must be a list, not %s", what, describe(n)).Hinted("write [%s]", short(n))
		return nil, false
	}
	if len(n.Content) == 0 || len(n.Content) > maxItems {
		f.errorf(n, "invalid", "%s must have 1 to %d items", what, maxItems)
		return nil, false
	}
	out, ok := make([]string, 0, len(n.Content)), true
	for _, item := range n.Content {
		text, fine := f.text(item, "an item of "+what)
		if fine && allowed != nil && !allowed.MatchString(text) {
			f.errorf(item, "invalid", "%q is not a name that %s may hold", text, what).Hinted("use letters, digits and . _ @ -")
			fine = false
		}
		if fine && slices.Contains(out, text) {
			f.errorf(item, "duplicate", "%q is in %s twice", text, what)
			fine = false
		}
		out, ok = append(out, text), ok && fine
	}
	return out, ok
}

func (f *file) text(n *yaml.Node, what string) (string, bool) {
	if !f.plain(n) {
		return "", false
	}
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" || n.Value == "" || len(n.Value) > maxText {
		f.errorf(n, "wrong-type", "%s must be text, not %s", what, describe(n)).Hinted("quote the value")
		return "", false
	}
	if strings.ContainsFunc(n.Value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		f.errorf(n, "invalid", "%s has control characters", what)
		return "", false
	}
	return n.Value, true
}

// mapOf reads a map of names that match allowed.
func (f *file) mapOf(n *yaml.Node, what string, allowed *regexp.Regexp, read func(key, item *yaml.Node) (any, bool)) (map[string]any, bool) {
	if !f.plain(n) {
		return nil, false
	}
	if n.Kind != yaml.MappingNode || len(n.Content) > 2*maxItems {
		f.errorf(n, "wrong-type", "%s must be a map of at most %d names, not %s", what, maxItems, describe(n))
		return nil, false
	}
	out, before := map[string]any{}, f.list.Errors()
	for key, item := range f.pairs(n) {
		if !allowed.MatchString(key.Value) {
			f.errorf(key, "invalid", "%q is not a name for %s", key.Value, what).Hinted("use a lower-case letter, then at most 63 lower-case letters, digits, _ and -")
			continue
		}
		if v, ok := read(key, item); ok {
			out[key.Value] = v
		}
	}
	return out, f.list.Errors() == before
}

func (f *file) folders(n *yaml.Node, what string) (any, bool) {
	return f.mapOf(n, what, nameForm(), func(key, item *yaml.Node) (any, bool) {
		if key.Value == "anywhere" {
			f.errorf(key, "invalid", "the root anywhere is built in").Hinted("choose another name")
			return nil, false
		}
		return f.text(item, what+"."+key.Value)
	})
}

func (f *file) switches(n *yaml.Node, what string) (any, bool) {
	return f.mapOf(n, what, nameForm(), func(key, item *yaml.Node) (any, bool) {
		text, ok := f.scalar(item, Entry{Key: what + "." + key.Value, form: formBoolean})
		return text == "true", ok
	})
}

func (f *file) claimTypes(n *yaml.Node) (any, bool) {
	return f.mapOf(n, "claims", claimForm(), func(key, item *yaml.Node) (any, bool) {
		if slices.Contains([]string{"name", "roles", "oauth_scopes"}, key.Value) {
			f.errorf(key, "invalid", "principal.%s is built in", key.Value).Hinted("choose another name")
			return nil, false
		}
		text, ok := f.text(item, "the type of claim "+key.Value)
		if ok && !slices.Contains(claimTypes(), text) {
			f.errorf(item, "invalid", "unknown type %q", text).Hinted("use %s", diag.OneOf(claimTypes()))
			return nil, false
		}
		return text, ok
	})
}

// claim reads the value of a claim as its declared type.
func (f *file) claim(n *yaml.Node, name, kind string) (any, bool) {
	what := "claim " + name
	switch kind {
	case "strings":
		list, ok := f.texts(n, what, nil)
		out := make([]any, len(list))
		for i, text := range list {
			out[i] = text
		}
		return out, ok
	case "boolean":
		text, ok := f.scalar(n, Entry{Key: what, form: formBoolean})
		return text == "true", ok
	case "integer":
		v, ok := f.value(Entry{Key: what, form: formInteger, Min: math.MinInt64, Max: math.MaxInt64}, n)
		return v, ok
	}
	return f.text(n, what)
}

// claimTypes lists the words that claims may be declared with.
func claimTypes() []string { return []string{"string", "strings", "integer", "boolean"} }

// claimField is what expressions may read of a claim. No caller need have it.
func claimField(kind string) value.Field {
	field := value.Field{Optional: true}
	switch kind {
	case "strings":
		field = value.ListOf(value.String)
		field.Optional = true
	case "integer":
		field.Type.Kind = value.Integer
	case "boolean":
		field.Type.Kind = value.Boolean
	default:
		field.Type.Kind = value.String
	}
	return field
}

func nameForm() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`) }

// claimForm is narrower, because principal.NAME is read in expressions.
func claimForm() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`) }

func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a map"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null" || n.Value == "":
		return "empty"
	case len(n.Value) > maxText:
		return "a text of more than " + strconv.Itoa(maxText) + " bytes"
	case n.Tag == "!!str":
		return "the text " + strconv.Quote(short(n))
	}
	return short(n)
}

func short(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || n.Value == "" {
		return "…"
	}
	if runes := []rune(n.Value); len(runes) > 40 {
		return string(runes[:40]) + "…"
	}
	return n.Value
}

func article(kind string) string {
	switch {
	case kind == "integer":
		return "an integer"
	case kind == "size":
		return "a size"
	}
	return kind
}
