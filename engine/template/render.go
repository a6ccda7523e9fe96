package template

import (
	"fmt"
	"strings"

	"github.com/writ-dev/writ/engine/value"
)

// Lookup gives the canonical value at a path. Present is false for a value
// that is absent; a null counts as absent too. An error stops the rendering.
type Lookup func(path []string) (v any, present bool, err error)

// Values makes a Lookup over canonical roots, such as {"args": {…}}.
func Values(roots map[string]any) Lookup {
	return func(path []string) (any, bool, error) {
		var at any = roots
		for _, name := range path {
			m, ok := at.(map[string]any)
			if !ok && at != nil {
				return nil, false, fmt.Errorf("read %s: %s has no fields", strings.Join(path, "."), kind(at))
			}
			at = m[name]
		}
		return at, at != nil, nil
	}
}

// AbsentError says that a slot has no value.
type AbsentError struct{ Slot string }

func (e *AbsentError) Error() string { return "${" + e.Slot + "} has no value in this call" }

// Text renders to text. An absent value is an *AbsentError; a list or object
// has no text and is an error; so is a text longer than MaxRendered.
func (t *Template) Text(lookup Lookup) (string, error) {
	return t.TextWith(lookup, func(_ Part, text string) (string, error) { return text, nil })
}

// TextWith is Text with a say in every slot: encode gets its text and returns
// what stands in the result, for example percent-encoded.
func (t *Template) TextWith(lookup Lookup, encode func(Part, string) (string, error)) (string, error) {
	if text, ok := t.Literal(); ok {
		return text, nil
	}
	var b strings.Builder
	for _, p := range t.parts {
		text := p.Literal
		if p.IsSlot() {
			var err error
			if text, err = slotText(p, lookup); err != nil {
				return "", err
			}
			if text, err = encode(p, text); err != nil {
				return "", err
			}
		}
		if b.Len()+len(text) > MaxRendered {
			return "", fmt.Errorf("render %s: the text is longer than 1 MiB", shorten(t.source))
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

func slotText(p Part, lookup Lookup) (string, error) {
	v, present, err := lookup(p.Path)
	if err != nil {
		return "", err
	}
	if !present || v == nil {
		return "", &AbsentError{Slot: p.Name()}
	}
	text, ok := value.Text(v)
	if !ok {
		return "", fmt.Errorf("render ${%s}: %s has no text", p.Name(), kind(v))
	}
	return text, nil
}

// Value renders to a value. A string that is one slot has the slot's own
// value, which may be absent; every other string is Text.
func (t *Template) Value(lookup Lookup) (v any, present bool, err error) {
	path, whole := t.Whole()
	if !whole {
		text, err := t.Text(lookup)
		if err != nil {
			return nil, false, err
		}
		return text, true, nil
	}
	if v, present, err = lookup(path); err != nil || !present || v == nil {
		return nil, false, err
	}
	return v, true, nil
}

func kind(v any) string {
	switch v.(type) {
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	case nil:
		return "null"
	}
	return "a plain value"
}
