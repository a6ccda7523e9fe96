package template

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/value"
)

// MaxDepth bounds the nesting of a JSON template.
const MaxDepth = 32

// JSON is a JSON value whose strings are templates; keys are not. In an object
// a whole-slot value that is absent removes its key.
type JSON struct {
	text   *Template
	fields map[string]*JSON
	items  []*JSON
	fixed  any // a number, a boolean or null
	shape  shape
}

type shape int

const (
	isFixed shape = iota
	isText
	isObject
	isList
)

// ParseJSON compiles a JSON value. At gives the position of the value at a path
// of keys (string) and indexes (int) below it, as document.Source.At does.
func ParseJSON(data json.RawMessage, at func(path ...any) diag.Position) (*JSON, diag.List) {
	var out diag.List
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.UseNumber()
	var raw any
	if err := decoder.Decode(&raw); err != nil {
		out.Errorf(at(), "template-syntax", "the value is not JSON: %v", err)
		return nil, out
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		out.Errorf(at(), "template-syntax", "more follows the JSON value")
		return nil, out
	}
	j := compileJSON(raw, nil, at, &out)
	if len(out) > 0 {
		return nil, out
	}
	return j, nil
}

func compileJSON(raw any, path []any, at func(path ...any) diag.Position, out *diag.List) *JSON {
	if len(path) > MaxDepth {
		out.Errorf(at(path...), "template-size", "the value is nested more than %d deep", MaxDepth)
		return nil
	}
	switch raw := raw.(type) {
	case string:
		text, list := Parse(raw, at(path...))
		*out = append(*out, list...)
		return &JSON{text: text, shape: isText}
	case map[string]any:
		j := &JSON{shape: isObject, fields: make(map[string]*JSON, len(raw))}
		for _, key := range value.Keys(raw) {
			j.fields[key] = compileJSON(raw[key], append(slices.Clip(path), key), at, out)
		}
		return j
	case []any:
		j := &JSON{shape: isList, items: make([]*JSON, len(raw))}
		for i := range raw {
			j.items[i] = compileJSON(raw[i], append(slices.Clip(path), i), at, out)
		}
		return j
	case json.Number:
		n, err := canonical(raw)
		if err != nil {
			out.Errorf(at(path...), "template-syntax", "%v", err).Hinted("write it as a text if digits matter")
		}
		return &JSON{fixed: n}
	}
	return &JSON{fixed: raw}
}

// canonical turns a number of a document into its canonical form.
func canonical(n json.Number) (any, error) {
	if i, err := strconv.ParseInt(n.String(), 10, 64); err == nil {
		return i, nil
	}
	f, err := strconv.ParseFloat(n.String(), 64)
	switch {
	case err != nil || math.IsInf(f, 0):
		return nil, fmt.Errorf("the number %s is too large", n)
	case f == math.Trunc(f) && math.Abs(f) < 1<<53:
		return int64(f), nil
	case f == math.Trunc(f):
		return nil, fmt.Errorf("the number %s cannot be kept exactly", n)
	}
	return f, nil
}

// Check checks every template against the roots: in objects an absent
// whole-slot value is fine, in lists and at the top it is not.
func (j *JSON) Check(env value.Type) diag.List { return j.check(env, Item) }

func (j *JSON) check(env value.Type, place Place) diag.List {
	var out diag.List
	switch j.shape {
	case isText:
		return j.text.Check(env, place)
	case isObject:
		for _, key := range value.Keys(j.fields) {
			out = append(out, j.fields[key].check(env, Key)...)
		}
	case isList:
		for _, item := range j.items {
			out = append(out, item.check(env, Item)...)
		}
	}
	return out
}

// Slots returns the path of every slot, in the order of keys.
func (j *JSON) Slots() [][]string {
	var paths [][]string
	switch j.shape {
	case isText:
		return j.text.Slots()
	case isObject:
		for _, key := range value.Keys(j.fields) {
			paths = append(paths, j.fields[key].Slots()...)
		}
	case isList:
		for _, item := range j.items {
			paths = append(paths, item.Slots()...)
		}
	}
	return paths
}

// Render gives the canonical value. It is an error when a value is absent
// anywhere but as a whole value in an object, or when all text together is
// longer than MaxRendered.
func (j *JSON) Render(lookup Lookup) (any, error) {
	left := MaxRendered
	v, present, err := j.render(lookup, &left)
	if err == nil && !present {
		err = &AbsentError{Slot: strings.Join(j.Slots()[0], ".")}
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

func (j *JSON) render(lookup Lookup, left *int) (v any, present bool, err error) {
	switch j.shape {
	case isText:
		v, present, err = j.text.Value(lookup)
		if *left -= weight(v); *left < 0 && err == nil {
			return nil, false, fmt.Errorf("render the value: it is longer than 1 MiB")
		}
		return v, present, err
	case isObject:
		made := make(map[string]any, len(j.fields))
		for _, key := range value.Keys(j.fields) {
			item, present, err := j.fields[key].render(lookup, left)
			if err != nil {
				return nil, false, err
			}
			if present {
				made[key] = item
			}
		}
		return made, true, nil
	case isList:
		made := make([]any, len(j.items))
		for i, item := range j.items {
			rendered, present, err := item.render(lookup, left)
			if err == nil && !present {
				err = &AbsentError{Slot: strings.Join(item.Slots()[0], ".")}
			}
			if err != nil {
				return nil, false, err
			}
			made[i] = rendered
		}
		return made, true, nil
	}
	return j.fixed, true, nil
}

// weight is about how many bytes a value takes as JSON.
func weight(v any) int {
	switch v := v.(type) {
	case string:
		return len(v) + utf8.UTFMax
	case []any:
		total := 2
		for _, item := range v {
			total += weight(item) + 1
		}
		return total
	case map[string]any:
		total := 2
		for key, item := range v {
			total += len(key) + weight(item) + 4
		}
		return total
	}
	return 8
}
