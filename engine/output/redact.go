package output

// redactor cuts the values of secrets out of a text; nil cuts nothing.
//
// Executors redact what they read, byte by byte. Shaping can put a value
// together again that was written so that no byte pattern finds it: coloured
// in the middle, or with \u escapes for plain letters. So what is shown is
// looked at once more, as it will be shown.
type redactor func(text string) string

func (r redactor) shown(text string) string {
	if r == nil {
		return text
	}
	return r(text)
}

// data redacts every text of a structure in place, names included. A text is
// kept as it is unless a value stands in it, or would once terminal control is
// taken out of it.
func (r redactor) data(v any) any {
	if r == nil {
		return v
	}
	switch v := v.(type) {
	case string:
		plain := clean(v)
		if redacted := r(plain); redacted != plain {
			return redacted
		}
		return r(v)
	case []any:
		for i := range v {
			v[i] = r.data(v[i])
		}
	case map[string]any:
		for name, field := range v {
			field = r.data(field)
			if safe := r.data(name).(string); safe != name {
				delete(v, name)
				name = safe
			}
			v[name] = field
		}
	}
	return v
}
