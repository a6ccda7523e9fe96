package argument

import (
	"slices"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/value"
)

// linter checks schemas as they are written and turns the short form into
// plain JSON Schema. It knows nothing of where a schema is used.
type linter struct {
	source   *document.Source
	words    map[string]keyword
	roots    func(string) bool
	problems *diag.List
}

func (l *linter) at(w *written, more ...any) diag.Position {
	return l.source.At(join(w.at, more...)...)
}

func (l *linter) key(w *written, more ...any) diag.Position {
	return l.source.Key(join(w.at, more...)...)
}

// schema checks one schema and all below it. Short is the short form, where
// required and closed are what is not marked otherwise.
func (l *linter) schema(w *written, short bool) {
	for _, key := range slices.Clone(w.keys) {
		word, known := l.words[key]
		switch {
		case !known, short && key == "required", !short && key == "optional":
			l.unknown(w, key, short)
			w.remove(key)
		case short && (key[0] == '$' && key != "$comment" || key == "definitions"):
			l.problems.Errorf(l.key(w, key), "schema-keyword", "%s is not part of the short form", key).
				Hinted("use inputSchema for a whole JSON Schema")
			w.remove(key)
		case (key == "$id" || key == "$schema") && len(w.at) > 1:
			l.problems.Errorf(l.key(w, key), "schema-keyword", "%s may only stand at the top of a schema", key)
		case !l.form(w, word):
			w.remove(key)
		default:
			l.below(w, word, short && !word.slow)
		}
	}
	l.applies(w)
	l.ranges(w)
	l.pattern(w)
	l.format(w)
	l.values(w)
	if short {
		l.shorten(w)
	}
}

func (l *linter) unknown(w *written, key string, short bool) {
	at := l.key(w, key)
	switch key {
	case "required":
		l.problems.Errorf(at, "unknown-key", "required is not used in the short form, where every argument is required").
			Hinted("write optional: true, or a default, on those that are not")
	case "optional":
		l.problems.Errorf(at, "unknown-key", "optional is not part of JSON Schema").
			Hinted("list the required arguments in required")
	case "nullable":
		l.problems.Errorf(at, "unknown-key", "nullable is not part of JSON Schema").Hinted(`write type: [string, "null"]`)
	case "contentEncoding", "contentMediaType", "contentSchema", "max_bytes":
		l.problems.Errorf(at, "not-yet", "%s is not yet available", key)
	case "$anchor", "$dynamicRef", "$dynamicAnchor", "$vocabulary":
		l.problems.Errorf(at, "schema-keyword", "%s is not supported", key).Hinted(`refer to "#/$defs/NAME" by $ref`)
	default:
		var known []string
		for name := range l.words {
			if name != "optional" && !short || name != "required" && short {
				known = append(known, name)
			}
		}
		l.problems.Errorf(at, "unknown-key", "unknown schema keyword %q", key).Hinted("%s", diag.DidYouMean(key, known))
	}
}

// form checks that the value of a keyword is what the keyword takes.
func (l *linter) form(w *written, word keyword) bool {
	v, want := w.values[word.name], ""
	switch word.form {
	case formText:
		want = expect[string](v, "text")
	case formFlag:
		want = expect[bool](v, "true or false")
	case formNumber:
		if !isNumber(v) {
			want = "a number"
		} else if word.name == "multipleOf" && compare(v, int64(0)) <= 0 {
			want = "a number above 0"
		}
	case formCount:
		if n, ok := v.(int64); !ok || n < 0 {
			want = "a whole number that is not negative"
		}
	case formNames:
		if list, ok := v.([]any); !ok || len(w.names(word.name)) != len(list) || repeats(list) {
			want = "a list of different strings"
		}
	case formList:
		want = expect[[]any](v, "a list")
	case formType:
		want = l.typeForm(w)
	case formSchema:
		want = schemaForm(v)
	case formSchemas:
		if list, ok := v.([]any); !ok || len(list) == 0 || slices.ContainsFunc(list, func(item any) bool { return schemaForm(item) != "" }) {
			want = "a list of at least one schema"
		}
	case formProperties:
		want = propertiesForm(v)
	case formNameLists:
		want = expect[*written](v, "an object")
		if object := w.object(word.name); object != nil {
			for _, key := range object.keys {
				if list, ok := object.values[key].([]any); !ok || len(object.names(key)) != len(list) {
					want = "an object of lists of strings"
				}
			}
		}
	}
	if want != "" {
		sent, _ := v.(string)
		l.problems.Errorf(l.at(w, word.name), "schema-value", "%s takes %s", word.name, want).
			Hinted("%s", suggestion(word.form, sent))
	}
	return want == ""
}

func suggestion(f form, sent string) string {
	if f == formType && sent != "" {
		return diag.DidYouMean(sent, typeWords())
	}
	return ""
}

func expect[T any](v any, want string) string {
	if _, ok := v.(T); ok {
		return ""
	}
	return want
}

func schemaForm(v any) string {
	switch v.(type) {
	case *written, bool:
		return ""
	}
	return "a schema"
}

func propertiesForm(v any) string {
	object, ok := v.(*written)
	if !ok {
		return "an object of schemas"
	}
	for _, item := range object.values {
		if schemaForm(item) != "" {
			return "an object of schemas"
		}
	}
	return ""
}

func (l *linter) typeForm(w *written) string {
	words := w.types()
	if list := w.list("type"); len(words) == 0 || list != nil && (len(list) != len(words) || repeats(list)) {
		return diag.OneOf(typeWords())
	}
	for _, word := range words {
		if !slices.Contains(typeWords(), word) {
			return diag.OneOf(typeWords()) + ", not " + word
		}
	}
	return ""
}

func repeats(list []any) bool {
	for i, item := range list {
		if slices.ContainsFunc(list[:i], func(other any) bool { return value.Equal(plain(item), plain(other)) }) {
			return true
		}
	}
	return false
}

// below checks the schemas in the value of a keyword.
func (l *linter) below(w *written, word keyword, short bool) {
	switch word.form {
	case formSchema:
		if object := w.object(word.name); object != nil {
			l.schema(object, short)
		}
	case formSchemas:
		for _, item := range w.list(word.name) {
			if object, ok := item.(*written); ok {
				l.schema(object, short)
			}
		}
	case formProperties:
		object := w.object(word.name)
		for _, key := range object.keys {
			if item := object.object(key); item != nil {
				l.schema(item, short)
			}
		}
	}
}

// shorten turns one object of the short form into plain JSON Schema.
func (l *linter) shorten(w *written) {
	if properties := w.object("properties"); properties != nil {
		w.set("required", requiredOf(properties))
		if !w.has("additionalProperties") {
			w.set("additionalProperties", false)
		}
	} else if slices.Contains(w.types(), "object") && !w.has("additionalProperties") && !w.has("patternProperties") {
		l.problems.Errorf(l.at(w), "shapeless", "an object without properties takes nothing").
			Hinted("write properties, or additionalProperties: {type: string} for a map")
	}
}

// requiredOf lists the properties that are neither optional nor filled, and
// takes the mark away.
func requiredOf(properties *written) []any {
	required := []any{}
	for _, name := range properties.keys {
		property := properties.object(name)
		if property == nil || property.values["optional"] != true && !property.has("default") {
			required = append(required, name)
		}
		if property != nil {
			property.remove("optional")
		}
	}
	return required
}
