package argument

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/document"
	"github.com/writ-dev/writ/engine/value"
)

// found checks that one of the problems is at a place and says both texts.
func found(t *testing.T, name string, problems diag.List, at, message string) {
	t.Helper()
	if !slices.ContainsFunc(problems, func(d diag.Diagnostic) bool {
		return (d.At.File == at || d.At.File == "key:"+at) && strings.Contains(d.String(), message)
	}) {
		t.Errorf("%s: want %q at %s, got\n%v", name, message, at, problems)
	}
}

func TestShortFormMistakes(t *testing.T) {
	for _, c := range []struct{ schema, at, message string }{
		{`{"type": "string", "maxlength": 3}`, "/args/a/maxlength", `did you mean "maxLength"?`},
		{`{"type": "string", "required": false}`, "/args/a/required", "optional: true"},
		{`{"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}`, "/args/a/required", "optional: true"},
		{`{"type": "strin"}`, "/args/a/type", `did you mean "string"?`},
		{`{"description": "x"}`, "/args/a", "does not say its type"},
		{`{"type": "integer", "minimum": 5, "maximum": 1}`, "/args/a/minimum", "no value is possible"},
		{`{"type": "integer", "exclusiveMinimum": 5, "maximum": 5}`, "/args/a/exclusiveMinimum", "no value is possible"},
		{`{"type": "string", "minLength": 5, "maxLength": 1}`, "/args/a/minLength", "no value is possible"},
		{`{"type": "string", "minLength": -1}`, "/args/a/minLength", "not negative"},
		{`{"type": "string", "maxLength": "3"}`, "/args/a/maxLength", "whole number"},
		{`{"type": "integer", "maximum": 1e30}`, "/args/a", "outside the integers"},
		{`{"type": "integer", "multipleOf": 0}`, "/args/a/multipleOf", "above 0"},
		{`{"type": "string", "enum": []}`, "/args/a/enum", "enum is empty"},
		{`{"type": "string", "enum": ["x", "x"]}`, "/args/a/enum", "twice"},
		{`{"type": "string", "enum": ["x", true]}`, "/args/a/enum/1", "need quotes"},
		{`{"type": "integer", "minimum": 1, "default": 0}`, "/args/a/default", "at least 1"},
		{`{"type": "string", "enum": ["x"], "default": "y"}`, "/args/a/default", "would be rejected"},
		{`{"type": "string", "minimum": 3}`, "/args/a/minimum", "means nothing for string"},
		{`{"type": "integer", "format": "path"}`, "/args/a/format", "means nothing for integer"},
		{`{"type": "string", "format": "path"}`, "/args/a/format", "under: [ROOT]"},
		{`{"type": "string", "format": "path", "under": []}`, "/args/a/format", "under: [ROOT]"},
		{`{"type": "string", "format": "path", "under": "r"}`, "/args/a/under", "list of different strings"},
		{`{"type": "string", "format": "path", "under": ["r"], "must": "exists"}`, "/args/a/must", `did you mean "exist"?`},
		{`{"type": "string", "under": ["r"]}`, "/args/a/under", "needs format: path"},
		{`{"type": "string", "format": "date"}`, "/args/a/format", "date-time"},
		{`{"type": "string", "format": "artifact"}`, "/args/a/format", "not yet available"},
		{`{"type": "string", "contentEncoding": "base64"}`, "/args/a/contentEncoding", "not yet available"},
		{`{"type": "string", "pattern": "^(?=a)"}`, "/args/a/pattern", "RE2"},
		{`{"type": "string", "pattern": "a|^b$"}`, "/args/a/pattern", "in the middle"},
		{`{"type": "string", "allow_leading": ["--"]}`, "/args/a/allow_leading", "single characters"},
		{`{"type": "object"}`, "/args/a", "additionalProperties: {type: string}"},
		{`{"type": "object", "properties": {"b": {"type": "string", "allow_leading": ["-"]}}}`, "/args/a/properties/b/allow_leading", "belongs to an argument"},
		{`{"type": "array", "items": {"type": "string", "optional": true}}`, "/args/a/items/optional", "belongs to"},
		{`{"type": "array", "items": {"type": "string", "default": "x"}}`, "/args/a/items/default", "never filled"},
		{`{"type": "array", "items": [{"type": "string"}]}`, "/args/a/items", "takes a schema"},
		{`{"anyOf": [{"type": "string", "format": "path", "under": ["r"]}]}`, "/args/a/anyOf/0/format", "cannot be told"},
		{`{"anyOf": [{"type": "string", "default": "x"}]}`, "/args/a/anyOf/0/default", "never filled"},
		{`{"$ref": "#/x"}`, "/args/a/$ref", "use inputSchema"},
		{`{"type": "string", "optional": "yes"}`, "/args/a/optional", "true or false"},
		{`{"type": "object", "properties": {"*": {"type": "string", "format": "path", "under": ["r"]}}}`, "/args/a/properties/*/format", "this name"},
	} {
		tool := &document.Tool{Args: document.Arguments{{Name: "a", Schema: json.RawMessage(c.schema)}}}
		tool.Source = source("args", `{"a": `+c.schema+`}`)
		_, problems := Compile(tool, nil)
		found(t, c.schema, problems, c.at, c.message)
	}
}

func TestShortFormNames(t *testing.T) {
	_, problems := Compile(short(`{"a b": {"type": "string"}, "Repo": {"type": "string"}, "repo": {"type": "string"}}`), nil)
	found(t, "name", problems, "/args/a b", "no name")
	if !strings.Contains(problems.Err().Error(), "Repo and repo differ by case only") {
		t.Errorf("got %v", problems)
	}
}

func TestUndeclaredRootIsAWarning(t *testing.T) {
	tool := short(`{"a": {"type": "string", "format": "path", "under": ["known", "anywhere", "other"]}}`)
	schema, problems := Compile(tool, func(name string) bool { return name == "known" })
	if schema == nil || len(problems) != 1 {
		t.Fatalf("got %v", problems)
	}
	found(t, "root", problems, "/args/a/under/2", "declare roots.other")
}

func TestEveryMistakeIsReported(t *testing.T) {
	_, problems := Compile(short(`{"a": {"type": "strin"}, "b": {"type": "string", "x": 1, "minLength": 2, "maxLength": 1}}`), nil)
	if problems.Errors() != 3 {
		t.Errorf("want 3 errors, got\n%v", problems)
	}
}

func TestInputSchemaMistakes(t *testing.T) {
	for _, c := range []struct{ schema, at, message string }{
		{`[]`, "/inputSchema", "a schema is an object"},
		{`{"properties": {}}`, "/inputSchema", "type: object"},
		{`{"type": ["object"]}`, "/inputSchema/type", "type: object, alone"},
		{`{"type": "object", "$schema": "http://json-schema.org/draft-04/schema#"}`, "/inputSchema/$schema", "2020-12"},
		{`{"type": "object", "additionalProperties": true}`, "/inputSchema/additionalProperties", "does not declare"},
		{`{"type": "object", "patternProperties": {"^a$": true}}`, "/inputSchema/patternProperties", "by name"},
		{`{"type": "object", "required": ["a"], "properties": {"b": {}}}`, "/inputSchema/required", `"a"`},
		{`{"type": "object", "properties": {"a": {"type": "string", "nullable": true}}}`, "/inputSchema/properties/a/nullable", `"null"`},
		{`{"type": "object", "properties": {"a": {"type": "string", "optional": true}}}`, "/inputSchema/properties/a/optional", "required"},
		{`{"type": "object", "properties": {"a": {"$ref": "https://example.com/s"}}}`, "/inputSchema/properties/a/$ref", "nothing is fetched"},
		{`{"type": "object", "properties": {"a": {"$ref": "#/$defs/nam"}}, "$defs": {"name": {}}}`, "/inputSchema/properties/a/$ref", `did you mean "name"?`},
		{`{"type": "object", "properties": {"a": {"$ref": "#anchor"}}}`, "/inputSchema/properties/a/$ref", "JSON pointer"},
		{`{"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "object", "properties": {"next": {"$ref": "#/$defs/n"}}}}}`,
			"/inputSchema/$defs/n/properties/next/$ref", "leads back to itself"},
		{`{"type": "object", "properties": {"a": {"$ref": "#"}}}`, "/inputSchema/properties/a/$ref", "leads back to itself"},
		{`{"type": "object", "properties": {"a": {"$dynamicRef": "#x"}}}`, "/inputSchema/properties/a/$dynamicRef", "not supported"},
		{`{"type": "object", "properties": {"a": {}}, "anyOf": [{"required": ["a"]}, {"properties": {"c": {}}}]}`, "/inputSchema/anyOf/1/properties/c", "not under properties"},
		{`{"type": "object", "default": {}}`, "/inputSchema/default", "never filled"},
		{`{"type": "object", "properties": {"a": {"type": "string", "format": "path"}}}`, "/inputSchema/properties/a/format", "under"},
		{`{"type": "object", "properties": {"a": {"format": "path", "under": ["r"]}}}`, "/inputSchema/properties/a/format", "a path is a string"},
		{`{"type": "object", "properties": {"a": {"type": ["string", "array"], "format": "path", "under": ["r"]}}}`, "/inputSchema/properties/a/format", "a path is a string"},
		{`{"type": "object", "properties": {"a": {"type": "string", "format": "hostname", "enum": ["Example.com"]}}}`, "/inputSchema/properties/a/enum/0", "example.com"},
		{`{"type": "object", "properties": {"a": {"default": 1, "anyOf": [{"type": "string"}]}}}`, "/inputSchema/properties/a/default", "would be rejected"},
		{`{"type": "object", "properties": {"a": 5}}`, "/inputSchema/properties", "an object of schemas"},
		{`{"type": "object", "properties": {"a": {}}, "dependentRequired": {"a": "b"}}`, "/inputSchema/dependentRequired", "lists of strings"},
		{`{"type": "object", "properties": {"a": {"$id": "x"}}}`, "/inputSchema/properties/a/$id", "at the top"},
		{`{"type": "object", "properties": {"a": {"$ref": "#/$defs/p", "under": ["r"]}}, "$defs": {"p": {"type": "string", "format": "path", "under": ["s"]}}}`, "/inputSchema/properties/a/under", "needs format: path"},
		{`{"type": "object", "properties": {"a": {"$ref": "#/$defs/p", "format": "path", "under": ["r"]}}, "$defs": {"p": {"type": "string", "format": "path", "under": ["s"]}}}`, "/inputSchema/properties/a/format", "cannot be told"},
	} {
		_, problems := Compile(input(c.schema), nil)
		found(t, c.schema, problems, c.at, c.message)
	}
}

func TestReferencesThatMultiplyAreBounded(t *testing.T) {
	defs := []string{`"d0": {"type": "string"}`}
	for i := 1; i < 30; i++ {
		one := `{"$ref": "#/$defs/d` + string(value.JSON(int64(i-1))) + `"}`
		defs = append(defs, `"d`+string(value.JSON(int64(i)))+`": {"type": "object", "properties": {"a": `+one+`, "b": `+one+`}}`)
	}
	_, problems := Compile(input(`{"type": "object", "properties": {"a": {"$ref": "#/$defs/d29"}}, "$defs": {`+strings.Join(defs, ",")+`}}`), nil)
	if problems.Errors() != 1 || !strings.Contains(problems.Err().Error(), "more than 4096 parts") {
		t.Errorf("got %v", problems)
	}
}

func TestInputSchema(t *testing.T) {
	schema := compile(t, input(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "T", "type": "object",
		"properties": {
			"to": {"$ref": "#/$defs/address", "description": "Where to"},
			"n": {"$ref": "#/$defs/count", "maximum": 3},
			"u": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": null}
		},
		"required": ["to"],
		"dependentSchemas": {"n": {"required": ["u"]}},
		"anyOf": [{"required": ["n"]}, {"required": ["u"]}],
		"$defs": {
			"address": {"type": "object", "description": "An address", "properties": {"street": {"type": "string", "maxLength": 9}, "no": {"type": "integer", "default": 1}}, "required": ["street"]},
			"count": {"type": "integer", "maximum": 9}
		}
	}`))
	const want = `{"type":"object","title":"T","properties":{` +
		`"to":{"type":"object","description":"Where to","properties":{"street":{"type":"string","maxLength":9},"no":{"type":"integer","default":1}},"required":["street"]},` +
		`"n":{"type":"integer","maximum":9,"allOf":[{"maximum":3}]},` +
		`"u":{"anyOf":[{"type":"integer"},{"type":"null"}],"default":null}},"required":["to"],"additionalProperties":false,` +
		`"description":"The arguments must also satisfy this JSON Schema: {\"anyOf\":[{\"required\":[\"n\"]},{\"required\":[\"u\"]}],\"dependentSchemas\":{\"n\":{\"required\":[\"u\"]}}}"}`
	if got := string(schema.Projection()); got != want {
		t.Errorf("projection\n%s\nwant\n%s", got, want)
	}
	for _, c := range []struct{ raw, want, wantErr string }{
		{raw: `{"to":{"street":"x","free":1},"n":"2"}`, want: `{"n":2,"to":{"free":1,"no":1,"street":"x"},"u":null}`},
		{raw: `{"to":{"street":"x"},"u":5}`, want: `{"to":{"no":1,"street":"x"},"u":5}`},
		{raw: `{"to":{"street":"x"},"u":"5"}`, wantErr: "u: does not satisfy anyOf"},
		{raw: `{"to":{"street":"x"},"n":7}`, wantErr: "n: "},
		{raw: `{"to":{"street":"x"},"n":null,"u":1,"z":1}`, wantErr: `unknown field "z"`},
		{raw: `{"to":{"Street":"x"},"u":1}`, wantErr: `case counts`},
	} {
		got, err := schema.Decode([]byte(c.raw))
		if c.wantErr != "" {
			if err == nil || !strings.Contains(err.Error(), c.wantErr) {
				t.Errorf("%s: got %s, %v; want %q", c.raw, value.JSON(got), err, c.wantErr)
			}
		} else if err != nil || string(value.JSON(got)) != c.want {
			t.Errorf("%s: got %s, %v; want %s", c.raw, value.JSON(got), err, c.want)
		}
	}
	if got, err := schema.Partial([]byte(`{"n":2}`)); err != nil || string(value.JSON(got)) != `{"n":2,"u":null}` {
		t.Errorf("partial: %s, %v", value.JSON(got), err)
	}
}

func TestShortFormProjection(t *testing.T) {
	schema := compile(t, short(`{
		"z": {"type": "string", "format": "path", "under": ["work"], "must": "file", "description": "What to read"},
		"a": {"type": "string", "format": "path", "under": ["work", "logs"], "optional": true, "allow_leading": ["-"]},
		"free": {"type": "string", "format": "path", "under": ["anywhere"], "must": "absent", "optional": true},
		"sum": {"type": "string", "format": "decimal", "default": "0"},
		"at": {"type": "string", "format": "date-time", "optional": true},
		"box": {"type": "object", "properties": {"under": {"type": "integer", "maximum": 3}, "must": {"type": "string", "optional": true}}, "optional": true}
	}`))
	want := `{"type":"object","properties":{` +
		`"z":{"type":"string","description":"What to read\nA path in the folder work, relative to it or absolute; it must be an existing file."},` +
		`"a":{"type":"string","description":"A path in one of the folders work, logs, absolute or relative to work."},` +
		`"free":{"type":"string","description":"A path that is absolute; it must not exist yet."},` +
		`"sum":{"type":"string","default":"0","pattern":` + string(value.JSON(decimalPattern)) + `},` +
		`"at":{"type":"string","format":"date-time"},` +
		`"box":{"type":"object","properties":{"under":{"type":"integer","maximum":3},"must":{"type":"string"}},"required":["under"],"additionalProperties":false}},` +
		`"required":["z"],"additionalProperties":false}`
	if got := string(schema.Projection()); got != want {
		t.Errorf("projection\n%s\nwant\n%s", got, want)
	}
}

func TestOutput(t *testing.T) {
	tool := &document.Tool{OutputSchema: json.RawMessage(`{"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}, "s": {"type": "string"}}, "required": ["n"], "$defs": {"n": {"type": "integer", "minimum": 1}}}`)}
	output, problems := CompileOutput(tool)
	if output == nil {
		t.Fatal(problems)
	}
	if output.Type().Kind != value.Object {
		t.Errorf("type %v", output.Type())
	}
	for raw, want := range map[string]string{
		`{"n": 1, "x": true, "N": 1}`: "",
		`{"n": "1"}`:                  "n: must be integer",
		`{}`:                          "n: is missing",
		`{"n": 1, "s": null}`:         "s: must be string",
		`{"n": 0}`:                    "at least 1",
		`[]`:                          "must be object, not a list",
	} {
		v, err := parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if err := output.Validate(v); (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", raw, err, want)
		}
	}
	if got := string(output.Projection()); got != `{"type":"object","properties":{"n":{"type":"integer","minimum":1},"s":{"type":"string"}},"required":["n"]}` {
		t.Errorf("projection %s", got)
	}
	if none, problems := CompileOutput(&document.Tool{}); none != nil || problems != nil {
		t.Error("no schema, no output")
	}
	for _, bad := range []string{`{"type": "array"}`, `{}`, `{"type": "object", "properties": {"p": {"type": "string", "format": "path", "under": ["r"]}}}`} {
		if _, problems := CompileOutput(&document.Tool{OutputSchema: json.RawMessage(bad)}); !problems.HasErrors() {
			t.Errorf("%s was taken", bad)
		}
	}
}
