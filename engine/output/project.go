package output

import (
	"fmt"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/value"
)

// Masked stands in place of every value of a masked field, also of one that
// is absent.
const Masked = "[masked]"

// parsed reads the body as JSON and shapes it. What cannot be read is shown
// as text, unless an allow-list says what may be shown.
func (s applied) parsed(result *call.Result, outcome call.Outcome) {
	var problem error
	if outcome.Body.Truncated() {
		problem = fmt.Errorf("it is larger than %d bytes", len(outcome.Body.Head)+len(outcome.Body.Tail))
	} else if structure, err := read(outcome.Body.Head); err != nil {
		problem = err
	} else {
		s.structure(result, structure)
		return
	}
	s.text(result, outcome)
	if outcome.Status == call.Complete {
		result.Status = call.Failed
		result.Reason = "the output was to be JSON, but " + problem.Error()
	}
}

// structure shapes a value that is already canonical.
func (s applied) structure(result *call.Result, v any) {
	v = s.redact.data(v)
	if s.hasRows {
		found, ok := follow(v, s.rows).([]any)
		if !ok {
			if result.Status == call.Complete {
				result.Status, result.Reason = call.Failed, "the output has no list of rows where one was expected"
			}
			return
		}
		v = found
	}
	var lost int
	if len(s.fields) > 0 {
		v, lost = s.project(v)
	}
	list, isList := v.([]any)
	if isList && s.maxRows > 0 && len(list) > s.maxRows {
		note(result, fmt.Sprintf("%d of %d rows are left out", len(list)-s.maxRows, len(list)))
		v = list[:s.maxRows:s.maxRows]
	}
	if lost > 0 {
		note(result, fmt.Sprintf("%d values are left out, because they are not of the declared type", lost))
	}
	s.render(result, v)
}

// note marks a result that is not everything, and says why.
func note(result *call.Result, reason string) {
	result.Truncated = true
	if result.Reason != "" {
		reason = result.Reason + "; " + reason
	}
	result.Reason = reason
}

func (s *Shape) render(result *call.Result, v any) {
	encoded := value.JSON(v)
	out := plain(string(encoded))
	if s.table {
		out = plain(table(s.fields, v))
	}
	var cut bool
	result.Output, cut = out.bound(s.maxBytes)
	result.Truncated = result.Truncated || cut
	if len(encoded) > s.maxBytes {
		note(result, fmt.Sprintf("the structure is larger than %d bytes and is left out; ask for less", s.maxBytes))
		if result.Status == call.Complete {
			result.Status = call.Partial
		}
		return
	}
	object, isObject := v.(map[string]any)
	if !isObject {
		object = map[string]any{"result": v}
	}
	result.Structured = object
	s.verify(result)
}

// verify drops a structure that breaks the promise of outputSchema.
func (s *Shape) verify(result *call.Result) {
	if s.check == nil || result.Structured == nil || result.Status != call.Complete {
		return
	}
	if err := s.check(result.Structured); err != nil {
		result.Structured = nil
		result.Status = call.Failed
		result.Reason = "the output does not have the shape that the tool promises"
	}
}

// project keeps the listed fields of an object or of every row.
func (s *Shape) project(v any) (shaped any, lost int) {
	rows, isList := v.([]any)
	if !isList {
		return s.row(v)
	}
	out := make([]any, len(rows))
	for i, row := range rows {
		var n int
		out[i], n = s.row(row)
		lost += n
	}
	return out, lost
}

func (s *Shape) row(v any) (shaped map[string]any, lost int) {
	shaped = make(map[string]any, len(s.fields))
	for _, f := range s.fields {
		if f.mask {
			shaped[f.name] = Masked
			continue
		}
		shaped[f.name] = f.read(v, f.path, &lost)
	}
	return shaped, lost
}

// read follows the path. An absent value is null; a value of another type than
// declared is null too and counted.
func (f field) read(v any, path []step, lost *int) any {
	for i, step := range path {
		if step.name != "" {
			object, _ := v.(map[string]any)
			v = object[step.name]
		}
		if !step.each {
			continue
		}
		list, ok := v.([]any)
		if !ok {
			if v != nil {
				*lost++
			}
			return nil
		}
		out := make([]any, len(list))
		for n, item := range list {
			out[n] = f.read(item, path[i+1:], lost)
		}
		return out
	}
	if v != nil && !fits(v, f.kind) {
		*lost++
		return nil
	}
	return v
}

// fits says whether a value has the declared type. Without a type it must be
// a scalar or a list of scalars: a whole object is only shown when its author
// wrote type: object, so that fields which appear in it later are wanted.
func fits(v any, kind string) bool {
	switch v := v.(type) {
	case string:
		return kind == "" || kind == "string"
	case bool:
		return kind == "" || kind == "boolean"
	case int64:
		return kind == "" || kind == "integer" || kind == "number"
	case float64:
		return kind == "" || kind == "number"
	case map[string]any:
		return kind == "object"
	case []any:
		if kind == "array" {
			return true
		}
		for _, item := range v {
			switch item.(type) {
			case []any, map[string]any:
				return false
			}
		}
		return kind == ""
	}
	return false
}

func follow(v any, path []string) any {
	for _, name := range path {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	return v
}
