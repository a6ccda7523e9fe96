package argument

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/value"
)

// verdicts compiles a schema twice and gives both verdicts on a value: that
// of the nodes, with references inlined and the full validator where they need
// it, and that of the full validator alone on the schema as it is written. Ok is false for a schema that is a load error.
func verdicts(t *testing.T, schema string, v any) (nodes, full error, ok bool) {
	t.Helper()
	var problems diag.List
	c := compiler{linter: linter{words: vocabulary(), problems: &problems}}
	w := c.read([]byte(schema))
	if w == nil {
		return nil, nil, false
	}
	c.schema(w, false)
	if problems.HasErrors() {
		return nil, nil, false
	}
	in := inliner{linter: &c.linter, root: w}
	plainSchema := in.schema(w)
	if problems.HasErrors() {
		return nil, nil, false
	}
	verbatim, err := compileFull(w, c.words)
	if err != nil {
		t.Fatalf("the linter passed %s, which the full validator refuses: %v", schema, err)
	}
	compiled, err := compileFull(plainSchema, c.words)
	if err != nil {
		t.Fatalf("the full validator refuses %s once it is inlined: %v", schema, err)
	}
	root := build(plainSchema, c.words)
	root.attach(compiled)
	check := checker{exact: true}
	check.value(root, v)
	return check.err(), verbatim.Validate(v), true
}

func agree(t *testing.T, schema string, v any) (ok, accepted bool) {
	t.Helper()
	nodes, full, ok := verdicts(t, schema, v)
	if ok && (nodes == nil) != (full == nil) {
		t.Fatalf("schema %s\nvalue %s\nnodes: %v\nfull: %v", schema, value.JSON(v), nodes, full)
	}
	return ok, nodes == nil
}

func TestFullValidatorFetchesNothing(t *testing.T) {
	w := newWritten()
	w.set("$ref", "https://example.com/schema")
	if _, err := compileFull(w, vocabulary()); err == nil || !strings.Contains(err.Error(), "nothing is fetched") {
		t.Errorf("got %v", err)
	}
}

func parse(text string) (any, error) {
	r := reader{text: []byte(text)}
	return r.read()
}

func TestNodesAgreeWithFullValidator(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 11))
	compiled, valid := 0, 0
	for range 2500 {
		top := randomSchema(random, 3)
		if w, ok := top.(*written); ok {
			defs := newWritten()
			defs.set("x", randomSchema(random, 1))
			defs.set("y", randomSchema(random, 1))
			w.set("$defs", defs)
		}
		schema := string(appendJSON(nil, top))
		for range 4 {
			ok, accepted := agree(t, schema, randomValue(random, 3))
			if !ok {
				break
			}
			compiled++
			if accepted {
				valid++
			}
		}
	}
	if compiled < 2000 || valid < 300 || compiled-valid < 300 {
		t.Errorf("only %d pairs were compared, %d of them valid", compiled, valid)
	}
}

func pick[T any](random *rand.Rand, list ...T) T { return list[random.IntN(len(list))] }

func randomValue(random *rand.Rand, depth int) any {
	n := 9
	if depth == 0 {
		n = 6
	}
	switch random.IntN(n) {
	case 0:
		return nil
	case 1:
		return random.IntN(2) == 0
	case 2:
		return int64(random.IntN(12) - 4)
	case 3:
		return pick(random, 0.5, 1.5, 0.1, 0.3, -2.25, 1e-7)
	case 4, 5:
		return pick(random, "", "a", "ab", "äöü", "abc", "12.5", "a@example.com", "192.0.2.1", "P1D", "https://example.com/")
	case 6:
		list := make([]any, random.IntN(4))
		for i := range list {
			list[i] = randomValue(random, depth-1)
		}
		return list
	}
	m := map[string]any{}
	for range random.IntN(4) {
		m[pick(random, "a", "b", "c", "d")] = randomValue(random, depth-1)
	}
	return m
}

func randomSchema(random *rand.Rand, depth int) any {
	w := newWritten()
	if depth == 0 || random.IntN(12) == 0 {
		return pick[any](random, true, false, newWritten(), newWritten())
	}
	kind := pick(random, typeWords()...)
	if random.IntN(5) > 0 {
		w.set("type", kind)
		if random.IntN(6) == 0 {
			w.set("type", []any{kind, "null"})
		}
	}
	words := map[string]func() any{
		"enum":  func() any { return []any{randomValue(random, 1), randomValue(random, 1)} },
		"const": func() any { return randomValue(random, 1) },
		"anyOf": func() any { return []any{randomSchema(random, depth-1), randomSchema(random, depth-1)} },
		"not":   func() any { return randomSchema(random, depth-1) },
	}
	number := func() any { return pick[any](random, int64(0), int64(2), int64(5), 0.5, 0.1) }
	count := func() any { return int64(random.IntN(4)) }
	schema := func() any { return randomSchema(random, depth-1) }
	properties := func() any {
		p := newWritten()
		for range random.IntN(3) {
			p.set(pick(random, "a", "b", "c"), schema())
		}
		return p
	}
	for of, group := range map[string]map[string]func() any{
		"number": {"minimum": number, "maximum": number, "exclusiveMinimum": number, "exclusiveMaximum": number, "multipleOf": number},
		"string": {"minLength": count, "maxLength": count, "pattern": func() any { return pick(random, "^a", "b$", "^[a-z]+$") }, "format": func() any { return pick(random, formats()[1:]...) }},
		"array":  {"minItems": count, "maxItems": count, "uniqueItems": func() any { return true }, "items": schema, "prefixItems": func() any { return []any{schema()} }, "contains": schema},
		"object": {
			"minProperties": count, "maxProperties": count, "required": func() any { return []any{pick(random, "a", "b", "d")} },
			"properties": properties, "additionalProperties": schema, "patternProperties": func() any { p := newWritten(); p.set("^[ab]$", schema()); return p },
			"propertyNames": schema, "unevaluatedProperties": func() any { return false },
		},
	} {
		if of == kind || of == "number" && kind == "integer" || !w.has("type") {
			for name, make := range group {
				words[name] = make
			}
		}
	}
	if random.IntN(4) == 0 && depth > 1 {
		w.set("$ref", pick(random, "#/$defs/x", "#/$defs/y"))
	}
	names := value.Keys(words)
	for range random.IntN(4) {
		name := pick(random, names...)
		w.set(name, words[name]())
	}
	return w
}

func FuzzAgree(f *testing.F) {
	f.Add(`{"type":"integer","minimum":1,"multipleOf":3}`, `9`)
	f.Add(`{"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"minLength":2}},"additionalProperties":false}`, `{"a":"ab"}`)
	f.Add(`{"type":"array","uniqueItems":true,"items":{"type":["number","null"]}}`, `[1,1.5,null]`)
	f.Add(`{"$ref":"#/$defs/x","maxLength":3,"minLength":1,"$defs":{"x":{"minLength":2}}}`, `"a"`)
	f.Add(`{"type":"string","format":"duration"}`, `"P1Y2M"`)
	f.Add(`{"enum":[1,"a",[1.5],{"a":null}]}`, `{"a":null}`)
	f.Fuzz(func(t *testing.T, schema, text string) {
		if v, err := parse(text); err == nil && !strings.Contains(schema, `"$id"`) {
			agree(t, schema, v)
		}
	})
}

func FuzzDecode(f *testing.F) {
	schema := compile(f, short(logArgs))
	open := compile(f, input(`{"type":"object","properties":{"v":{},"s":{"type":"string"},"n":{"type":["number","null"]}},"anyOf":[{"required":["v"]},{"required":["s"]},{"required":["n"]}]}`))
	for _, seed := range []string{
		`{"repo":"a","limit":"5"}`, `{"v":[1.50,-0,-0.0,1e3,{"a":null}]}`, `{"s":"\ud83d\ude00\u00e9\n\/"}`, `{"n":"1e-3"}`,
		`{"v":1e-7}`, `{"v":123456789012345678}`, `{"v":0.1e1}`, "{\"v\":\"\xff\"}", `{"v":5e-324}`, `{"v":1.7976931348623157e308}`, `{"s":null,"n":null}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, s := range []*Schema{schema, open} {
			first, err := s.Decode(raw)
			if err != nil {
				continue
			}
			if !json.Valid(raw) && len(raw) > 0 {
				t.Fatalf("%q is no JSON", raw)
			}
			text := value.JSON(first)
			second, err := s.Decode(text)
			if err != nil || string(value.JSON(second)) != string(text) || !value.Equal(first, second) {
				t.Fatalf("%q became %s, which became %s, %v", raw, text, value.JSON(second), err)
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	schema := compile(b, short(`{
		"repo": {"type": "string", "pattern": "^[a-z/]+$", "maxLength": 100},
		"limit": {"type": "integer", "minimum": 1, "maximum": 200, "default": 20},
		"mode": {"type": "string", "enum": ["fast", "small"], "optional": true},
		"deep": {"type": "boolean", "default": false}
	}`))
	raw := []byte(`{"repo":"srv/repos/one","limit":"50","mode":"small","deep":true}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := schema.Decode(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	tool := short(logArgs)
	b.ReportAllocs()
	for b.Loop() {
		if _, problems := Compile(tool, nil); problems.HasErrors() {
			b.Fatal(problems.Err())
		}
	}
}
