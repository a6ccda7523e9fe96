package argument

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/value"
)

// short makes a tool of the short form, input one of a whole schema. Source
// positions are pointers, so that a test can name them.
func short(args string) *document.Tool {
	tool := &document.Tool{}
	if err := json.Unmarshal([]byte(args), &tool.Args); err != nil {
		panic(err)
	}
	tool.Source = source("args", args)
	return tool
}

func input(schema string) *document.Tool {
	tool := &document.Tool{InputSchema: json.RawMessage(schema)}
	tool.Source = source("inputSchema", schema)
	return tool
}

func source(key, text string) *document.Source {
	spans := map[string]document.Span{}
	var add func(v any, path ...any)
	add = func(v any, path ...any) {
		pointer := document.Pointer(path...)
		spans[pointer] = document.Span{Key: diag.Position{File: "key:" + pointer}, Value: diag.Position{File: pointer}}
		switch v := v.(type) {
		case map[string]any:
			for name, item := range v {
				add(item, append(path[:len(path):len(path)], name)...)
			}
		case []any:
			for i, item := range v {
				add(item, append(path[:len(path):len(path)], i)...)
			}
		}
	}
	var v any
	_ = json.Unmarshal([]byte(text), &v)
	add(v, key)
	return document.NewSource(diag.Position{File: "start"}, "", spans)
}

func compile(t testing.TB, tool *document.Tool) *Schema {
	t.Helper()
	schema, problems := Compile(tool, nil)
	if problems.HasErrors() {
		t.Fatalf("compile: %v", problems.Err())
	}
	return schema
}

const logArgs = `{
	"repo": {"type": "string", "format": "path", "under": ["repos"], "must": "directory"},
	"limit": {"type": "integer", "minimum": 1, "maximum": 200, "default": 20},
	"author": {"type": "string", "maxLength": 5, "optional": true},
	"mode": {"type": "string", "enum": ["fast", "small"], "optional": true},
	"ratio": {"type": "number", "multipleOf": 0.1, "optional": true},
	"deep": {"type": "boolean", "default": false},
	"tags": {"type": "array", "items": {"type": "integer"}, "maxItems": 3, "uniqueItems": true, "optional": true},
	"box": {"type": "object", "properties": {"w": {"type": "integer"}, "h": {"type": "integer", "default": 1}}, "optional": true},
	"labels": {"type": "object", "additionalProperties": {"type": "string"}, "optional": true}
}`

func TestDecode(t *testing.T) {
	schema := compile(t, short(logArgs))
	for _, c := range []struct{ raw, want, wantErr string }{
		{raw: `{"repo":"a"}`, want: `{"deep":false,"limit":20,"repo":"a"}`},
		{raw: " {\"repo\" : \"\\u00e9\\ud83d\\ude00\" }\n", want: `{"deep":false,"limit":20,"repo":"é😀"}`},
		{raw: `{"repo":"a","limit":5.0}`, want: `{"deep":false,"limit":5,"repo":"a"}`},
		{raw: `{"repo":"a","limit":1.5e2}`, want: `{"deep":false,"limit":150,"repo":"a"}`},
		{raw: `{"repo":"a","limit":"5","deep":"true"}`, want: `{"deep":true,"limit":5,"repo":"a"}`},
		{raw: `{"repo":"a","limit":"1e1"}`, want: `{"deep":false,"limit":10,"repo":"a"}`},
		{raw: `{"repo":"a","author":null,"limit":null}`, want: `{"deep":false,"limit":20,"repo":"a"}`},
		{raw: `{"repo":"a","ratio":0.30}`, want: `{"deep":false,"limit":20,"ratio":0.3,"repo":"a"}`},
		{raw: `{"repo":"a","tags":[1,"2"]}`, want: `{"deep":false,"limit":20,"repo":"a","tags":[1,2]}`},
		{raw: `{"repo":"a","box":{"w":2}}`, want: `{"box":{"h":1,"w":2},"deep":false,"limit":20,"repo":"a"}`},
		{raw: `{"repo":"a","labels":{"x":"1"}}`, want: `{"deep":false,"labels":{"x":"1"},"limit":20,"repo":"a"}`},

		{raw: ``, wantErr: "repo: is missing"},
		{raw: `null`, wantErr: "repo: is missing"},
		{raw: `[]`, wantErr: "one JSON object"},
		{raw: `{"repo":null}`, wantErr: "repo: must be string, not null"},
		{raw: `{"repo":"a","repo":"b"}`, wantErr: "repo: is given twice"},
		{raw: `{"repo":"a","r\u0065po":"b"}`, wantErr: "repo: is given twice"},
		{raw: `{"Repo":"a"}`, wantErr: `unknown field "Repo": write repo, case counts`},
		{raw: `{"repo":"a","autor":"x"}`, wantErr: `unknown field "autor" (did you mean "author"?)`},
		{raw: `{"repo":"a","box":{"w":1,"z":1}}`, wantErr: `box: unknown field "z"`},
		{raw: `{"repo":"a","box":{}}`, wantErr: "box/w: is missing"},
		{raw: `{"repo":"a"} {}`, wantErr: "something follows"},
		{raw: `{"repo":"a",}`, wantErr: "a key in double quotes"},
		{raw: `{"repo":"a"`, wantErr: "expected"},
		{raw: "{\"repo\":\"\xff\"}", wantErr: "not valid UTF-8"},
		{raw: "{\"repo\":\"\xed\xa0\x80\"}", wantErr: "not valid UTF-8"},
		{raw: `{"repo":"\ud800"}`, wantErr: "half of a surrogate pair"},
		{raw: `{"repo":"\udc00\ud800"}`, wantErr: "half of a surrogate pair"},
		{raw: `{"repo":"a\u0000"}`, wantErr: "NUL"},
		{raw: "{\"repo\":\"a\x00\"}", wantErr: "control character"},
		{raw: `{"repo":"a","limit":05}`, wantErr: "expected"},
		{raw: `{"repo":"a","limit":+5}`, wantErr: "a JSON value is expected"},
		{raw: `{"repo":"a","limit":NaN}`, wantErr: "a JSON value is expected"},
		{raw: `{"repo":"a","limit":" 5"}`, wantErr: `limit: must be integer, not " 5"`},
		{raw: `{"repo":"a","limit":"5.5"}`, wantErr: `limit: must be integer`},
		{raw: `{"repo":"a","limit":9223372036854775808}`, wantErr: "outside the integers"},
		{raw: `{"repo":"a","limit":1e99999999999999999999}`, wantErr: "outside the integers"},
		{raw: `{"repo":"a","ratio":0.1000000000000000055511151231257827}`, wantErr: "format: decimal"},
		{raw: `{"repo":"a","ratio":1e-400}`, wantErr: "format: decimal"},
		{raw: `{"repo":"a","ratio":0.35}`, wantErr: "multiple of 0.1"},
		{raw: `{"repo":"a","deep":"True"}`, wantErr: `deep: must be boolean`},
		{raw: `{"repo":"a","deep":1}`, wantErr: `deep: must be boolean, not 1`},
		{raw: `{"repo":5}`, wantErr: `repo: must be string, not 5`},
		{raw: `{"repo":""}`, wantErr: `empty path`},
		{raw: `{"repo":"a","author":"äöüßäx"}`, wantErr: "at most 5 characters, not 6"},
		{raw: `{"repo":"a","mode":"slow"}`, wantErr: `mode: must be one of "fast", "small", not "slow"`},
		{raw: `{"repo":"a","tags":[1,1.0]}`, wantErr: "tags: items 0 and 1 are equal"},
		{raw: `{"repo":"a","tags":[1,2,3,4]}`, wantErr: "at most 3 items"},
		{raw: `{"repo":"a","tags":["x"]}`, wantErr: `tags/0: must be integer, not "x"`},
		{raw: `{"limit":0,"x":1}`, wantErr: "repo: is missing; limit: must be at least 1, not 0; unknown field \"x\""},
		{raw: `{"repo":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`, wantErr: "more than 64 deep"},
	} {
		got, err := schema.Decode([]byte(c.raw))
		if c.wantErr != "" {
			if err == nil || !strings.Contains(err.Error(), c.wantErr) {
				t.Errorf("%s: got %s, %v; want an error with %q", c.raw, value.JSON(got), err, c.wantErr)
			}
			continue
		}
		if err != nil || string(value.JSON(got)) != c.want {
			t.Errorf("%s: got %s, %v; want %s", c.raw, value.JSON(got), err, c.want)
		}
	}
}

// What programs read without regard to case is one text to rules and grants.
func TestOneSpelling(t *testing.T) {
	schema := compile(t, short(`{
		"host": {"type": "string", "format": "hostname", "enum": ["db.example.com", "a"], "optional": true},
		"six": {"type": "string", "format": "ipv6", "optional": true},
		"id": {"type": "string", "format": "uuid", "optional": true},
		"mail": {"type": "string", "format": "email", "optional": true},
		"url": {"type": "string", "format": "uri", "optional": true},
		"hosts": {"type": "array", "items": {"type": "string", "format": "hostname"}, "uniqueItems": true, "optional": true},
		"by": {"type": "object", "additionalProperties": {"type": "string", "format": "hostname"}, "default": {"x": "A.Example.com"}}
	}`))
	for raw, want := range map[string]string{
		`{"host":"DB.Example.COM"}`:                      `"host":"db.example.com"`,
		`{"six":"0:0:0:0:0:0:0:1"}`:                      `"six":"::1"`,
		`{"six":"2001:DB8::00A"}`:                        `"six":"2001:db8::a"`,
		`{"id":"123E4567-E89B-12D3-A456-426614174000"}`:  `"id":"123e4567-e89b-12d3-a456-426614174000"`,
		`{"mail":"Ann.B@Example.COM"}`:                   `"mail":"Ann.B@example.com"`,
		`{"url":"HTTPS://Bob@Example.COM:8443/A?B=C#D"}`: `"url":"https://Bob@example.com:8443/A?B=C#D"`,
		`{"url":"HTTP://Example.COM?Q"}`:                 `"url":"http://example.com?Q"`,
		`{"url":"mailto:Ann@Example.COM"}`:               `"url":"mailto:Ann@Example.COM"`,
		`{"hosts":["A","b"]}`:                            `"hosts":["a","b"]`,
		`{}`:                                             `{"by":{"x":"a.example.com"}}`,
	} {
		got, err := schema.Decode([]byte(raw))
		text := string(value.JSON(got))
		if err != nil || !strings.Contains(text, want) {
			t.Errorf("%s: got %s, %v; want %s", raw, text, err, want)
		}
		if again, err := schema.Decode(value.JSON(got)); err != nil || string(value.JSON(again)) != text {
			t.Errorf("%s: decoded again: %s, %v", text, value.JSON(again), err)
		}
	}
	for _, raw := range []string{`{"host":"other"}`, `{"hosts":["A","a"]}`, `{"url":"HTTP://a b"}`} {
		if got, err := schema.Decode([]byte(raw)); err == nil {
			t.Errorf("%s: got %s", raw, value.JSON(got))
		}
	}
}

func TestErrorsAreBounded(t *testing.T) {
	schema := compile(t, short(`{"a": {"type": "array", "items": {"type": "integer"}}}`))
	_, err := schema.Decode([]byte(`{"a":[` + strings.Repeat(`"`+strings.Repeat("x", 500)+`",`, 49) + `""]}`))
	if err == nil || !strings.HasSuffix(err.Error(), "and 40 more") || len(err.Error()) > 2000 {
		t.Errorf("got %v", err)
	}
	_, err = schema.Decode([]byte(`{"a\u202e` + strings.Repeat("k", 500) + `": 1}`))
	if err == nil || strings.Contains(err.Error(), "\u202e") || len(err.Error()) > 300 {
		t.Errorf("got %v", err)
	}
}

func TestPartial(t *testing.T) {
	schema := compile(t, short(logArgs))
	got, err := schema.Partial([]byte(`{"limit": 7, "box": {}}`))
	if err != nil || string(value.JSON(got)) != `{"box":{"h":1},"deep":false,"limit":7}` {
		t.Errorf("got %s, %v", value.JSON(got), err)
	}
	for raw, want := range map[string]string{`{"limt": 7}`: "unknown field", `{"limit": 0}`: "at least 1"} {
		if _, err := schema.Partial([]byte(raw)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", raw, err)
		}
	}
}

func TestDefaultsAreCopied(t *testing.T) {
	schema := compile(t, short(`{"a": {"type": "array", "items": {"type": "string"}, "default": ["x"]}}`))
	first, _ := schema.Decode(nil)
	first["a"].([]any)[0] = "changed"
	second, _ := schema.Decode(nil)
	if string(value.JSON(second)) != `{"a":["x"]}` {
		t.Errorf("a call changed the default of another: %s", value.JSON(second))
	}
}

func TestTypeAndPaths(t *testing.T) {
	schema := compile(t, short(`{
		"repo": {"type": "string", "format": "path", "under": ["a", "b"], "must": "exist"},
		"files": {"type": "array", "items": {"type": "string", "format": "path", "under": ["anywhere"]}, "optional": true, "allow_leading": ["-"]},
		"map": {"type": "object", "additionalProperties": {"type": "string", "format": "path", "under": ["a"]}, "optional": true},
		"box": {"type": "object", "properties": {"a/b": {"type": "string", "format": "path", "under": ["a"]}}, "default": {"a/b": "x"}},
		"mode": {"enum": ["x", "y"], "default": "x"},
		"any": {"type": ["string", "null"], "optional": true}
	}`))
	want := value.Struct(map[string]value.Field{
		"repo":  {Type: value.Type{Kind: value.String, Format: "path"}},
		"files": {Type: value.Type{Kind: value.List, Item: &value.Type{Kind: value.String, Format: "path"}}, Optional: true},
		"map":   {Type: value.Type{Kind: value.Object, Item: &value.Type{Kind: value.String, Format: "path"}}, Optional: true},
		"box":   {Type: value.Struct(map[string]value.Field{"a/b": {Type: value.Type{Kind: value.String, Format: "path"}}})},
		"mode":  {Type: value.Type{Kind: value.String, Enum: []any{"x", "y"}}},
		"any":   {Optional: true},
	})
	if diff := cmp.Diff(want, schema.Type()); diff != "" {
		t.Error(diff)
	}
	paths := []Path{
		{Pointer: "/repo", Under: []string{"a", "b"}, Must: "exist"},
		{Pointer: "/files/*", Under: []string{"anywhere"}},
		{Pointer: "/map/*", Under: []string{"a"}},
		{Pointer: "/box/a~1b", Under: []string{"a"}},
	}
	if diff := cmp.Diff(paths, schema.Paths()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string][]string{"files": {"-"}}, schema.Leading()); diff != "" {
		t.Error(diff)
	}
}

func TestNoArguments(t *testing.T) {
	schema := compile(t, &document.Tool{})
	if got := string(schema.Projection()); got != `{"type":"object","properties":{},"additionalProperties":false}` {
		t.Errorf("projection %s", got)
	}
	if _, err := schema.Decode([]byte(`{"a":1}`)); err == nil {
		t.Error("an argument was taken")
	}
}
