package argument

import (
	"slices"

	"github.com/writ-dev/writ/engine/value"
)

// written is an object of a schema with its keys in the order of the file and
// the place where it stands.
type written struct {
	keys   []string
	values map[string]any // canonical scalars, []any and *written
	at     []any          // path in the document
}

func newWritten() *written { return &written{values: map[string]any{}} }

func (w *written) set(key string, v any) {
	if _, ok := w.values[key]; !ok {
		w.keys = append(w.keys, key)
	}
	w.values[key] = v
}

func (w *written) remove(keys ...string) {
	for _, key := range keys {
		if _, ok := w.values[key]; ok {
			delete(w.values, key)
			w.keys = slices.DeleteFunc(w.keys, func(k string) bool { return k == key })
		}
	}
}

func (w *written) has(key string) bool { _, ok := w.values[key]; return ok }

func (w *written) text(key string) string { s, _ := w.values[key].(string); return s }

func (w *written) object(key string) *written { o, _ := w.values[key].(*written); return o }

func (w *written) list(key string) []any { l, _ := w.values[key].([]any); return l }

func (w *written) clone() *written {
	c := &written{keys: slices.Clone(w.keys), values: make(map[string]any, len(w.values)), at: w.at}
	for key, v := range w.values {
		c.values[key] = v
	}
	return c
}

// names returns the strings of a list.
func (w *written) names(key string) []string {
	var names []string
	for _, item := range w.list(key) {
		if s, ok := item.(string); ok {
			names = append(names, s)
		}
	}
	return names
}

// types returns the type words, whether written as one or as a list.
func (w *written) types() []string {
	if one := w.text("type"); one != "" {
		return []string{one}
	}
	return w.names("type")
}

// place tells every object below v where it stands.
func place(v any, at []any) {
	switch v := v.(type) {
	case *written:
		v.at = at
		for key, item := range v.values {
			place(item, join(at, key))
		}
	case []any:
		for i, item := range v {
			place(item, join(at, i))
		}
	}
}

func join(at []any, more ...any) []any { return append(slices.Clip(at), more...) }

// plain turns what was written into a canonical value.
func plain(v any) any {
	switch v := v.(type) {
	case *written:
		m := make(map[string]any, len(v.keys))
		for key, item := range v.values {
			m[key] = plain(item)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = plain(item)
		}
		return list
	}
	return v
}

// appendJSON prints in the order of the file.
func appendJSON(dst []byte, v any) []byte {
	switch v := v.(type) {
	case *written:
		dst = append(dst, '{')
		for i, key := range v.keys {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(value.AppendJSON(dst, key), ':')
			dst = appendJSON(dst, v.values[key])
		}
		return append(dst, '}')
	case []any:
		dst = append(dst, '[')
		for i, item := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendJSON(dst, item)
		}
		return append(dst, ']')
	}
	return value.AppendJSON(dst, v)
}

// eachSchema replaces the schemas in the value of a keyword of this form, and
// leaves an absent value (nil) alone.
func eachSchema(f form, v any, replace func(any) any) any {
	switch {
	case v == nil:
	case f == formSchema:
		return replace(v)
	case f == formSchemas:
		list := slices.Clone(v.([]any))
		for i, item := range list {
			list[i] = replace(item)
		}
		return list
	case f == formProperties:
		object := v.(*written).clone()
		for name, item := range object.values {
			object.values[name] = replace(item)
		}
		return object
	}
	return v
}

// rewrite copies a schema and changes every schema in it, innermost first.
func rewrite(v any, words map[string]keyword, change func(*written)) any {
	w, ok := v.(*written)
	if !ok {
		return v
	}
	out := w.clone()
	for key, item := range out.values {
		out.values[key] = eachSchema(words[key].form, item, func(item any) any { return rewrite(item, words, change) })
	}
	change(out)
	return out
}
