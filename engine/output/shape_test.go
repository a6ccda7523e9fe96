package output

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/document"
)

func toolWith(t testing.TB, block string) *document.Tool {
	t.Helper()
	tool := &document.Tool{Header: document.Header{Name: "x"}, Command: &document.Command{}}
	if block != "" {
		if err := json.Unmarshal([]byte(block), &tool.Output); err != nil {
			t.Fatal(err)
		}
	}
	return tool
}

func shapeOf(t testing.TB, block string) *Shape {
	t.Helper()
	shape, mistakes := Compile(toolWith(t, block))
	if len(mistakes) > 0 {
		t.Fatalf("%s: %v", block, mistakes)
	}
	return shape
}

func said(body, stderr string) call.Outcome {
	return call.Outcome{Status: call.Complete, Body: whole(body), Errors: whole(stderr)}
}

func whole(s string) call.Capture { return call.Capture{Head: []byte(s), Total: int64(len(s))} }

func ended(o call.Outcome, status call.Status, reason string) call.Outcome {
	o.Status, o.Reason = status, reason
	return o
}

const issues = `{"items":[
 {"number":1,"user":{"login":"ann","id":7},"labels":[{"name":"bug"},{"name":"ui"}],"secret":"no"},
 {"number":"two","user":null,"labels":[],"extra":{"deep":1}},
 {"number":3}]}`

func TestApply(t *testing.T) {
	for _, c := range []struct {
		name, block string
		outcome     call.Outcome
		want        call.Result
	}{
		{"text", ``, said("hello\n", "noise"), call.Result{Status: call.Complete, Output: "hello\n"}},
		{"text, only standard error", ``, said("", "pushed\n"), call.Result{Status: call.Complete, Output: "pushed\n"}},
		{"failed", ``, ended(said("", "no such file\n"), call.Failed, "exit code 1"), call.Result{Status: call.Failed, Reason: "exit code 1", Output: "no such file\n"}},
		{"partial", `{"as":"text"}`, ended(said("half", "broken\n"), call.Partial, "exit code 1"), call.Result{Status: call.Partial, Reason: "exit code 1", Output: "half\n[standard error]\nbroken\n"}},
		{"lines", `{"as":"lines"}`, said("a\nb", ""), call.Result{Status: call.Complete, Output: "a\nb", Structured: map[string]any{"lines": []any{"a", "b"}, "truncated": false}}},
		{"lines, fewer", `{"as":"lines","max_rows":2}`, said("a\nb\nc\n", ""), call.Result{Status: call.Complete, Output: "a\nb\n", Truncated: true, Reason: "1 of 3 lines are left out", Structured: map[string]any{"lines": []any{"a", "b"}, "truncated": true}}},
		{"lines, none", `{"as":"lines"}`, said("", ""), call.Result{Status: call.Complete, Structured: map[string]any{"lines": []any{}, "truncated": false}}},
		{"json object", `{"as":"json"}`, said(`{"b":1.50,"a":[12345678901234567890]}`, ""), call.Result{Status: call.Complete, Output: `{"a":["12345678901234567890"],"b":1.5}`, Structured: map[string]any{"a": []any{"12345678901234567890"}, "b": 1.5}}},
		{"json list", `{"as":"json","max_rows":1}`, said(`[1,2]`, ""), call.Result{Status: call.Complete, Output: `[1]`, Truncated: true, Reason: "1 of 2 rows are left out", Structured: map[string]any{"result": []any{int64(1)}}}},
		{"json broken", `{"as":"json"}`, said(`{"a":`, ""), call.Result{Status: call.Failed, Reason: "the output was to be JSON, but it is not valid JSON", Output: `{"a":`}},
		{"json twice", `{"as":"json"}`, said(`{} {}`, ""), call.Result{Status: call.Failed, Reason: "the output was to be JSON, but something follows the JSON value", Output: `{} {}`}},
		{"json empty", `{"as":"json"}`, said(``, ""), call.Result{Status: call.Failed, Reason: "the output was to be JSON, but it is empty"}},
		{"json broken, allow-list", `{"as":"json","fields":{"a":{"path":"a"}}}`, said(`{"secret":`, "secret"), call.Result{Status: call.Failed, Reason: "the output was to be JSON, but it is not valid JSON"}},
		{"json of a failed call", `{"as":"json"}`, ended(said(`oops`, "bad"), call.Partial, "exit code 2"), call.Result{Status: call.Partial, Reason: "exit code 2", Output: "oops\n[standard error]\nbad"}},
		{"rows, fields, mask", `{"as":"json","rows":"items","fields":{"number":{"path":"number","type":"integer"},"by":{"path":"user.login","mask":true},"user":{"path":"user"},"labels":{"path":"labels[].name","type":"string"}},"max_rows":2}`, said(issues, ""),
			call.Result{Status: call.Complete, Truncated: true, Reason: "1 of 3 rows are left out; 2 values are left out, because they are not of the declared type",
				Output: `[{"by":"[masked]","labels":["bug","ui"],"number":1,"user":null},{"by":"[masked]","labels":[],"number":null,"user":null}]`,
				Structured: map[string]any{"result": []any{
					map[string]any{"by": Masked, "labels": []any{"bug", "ui"}, "number": int64(1), "user": nil},
					map[string]any{"by": Masked, "labels": []any{}, "number": nil, "user": nil}}}}},
		{"rows missing", `{"as":"json","rows":"data.items"}`, said(issues, ""), call.Result{Status: call.Failed, Reason: "the output has no list of rows where one was expected"}},
		{"value", ``, call.Outcome{Status: call.Complete, Value: map[string]any{"status": int64(200)}}, call.Result{Status: call.Complete, Output: `{"status":200}`, Structured: map[string]any{"status": int64(200)}}},
		{"value beside a body", `{"as":"text"}`, call.Outcome{Status: call.Complete, Body: whole("body"), Value: map[string]any{"status": int64(200)}}, call.Result{Status: call.Complete, Output: `body`}},
		{"value as json", `{"as":"json"}`, call.Outcome{Status: call.Complete, Body: whole(`{"a":1}`), Value: map[string]any{"status": int64(200)}}, call.Result{Status: call.Complete, Output: `{"a":1}`, Structured: map[string]any{"a": int64(1)}}},
		{"table", `{"as":"json","rows":"items","render":"table","fields":{"number":{"path":"number"},"by":{"path":"user.login"},"z":{"path":"labels[].name"}}}`, said(issues, ""),
			call.Result{Status: call.Complete, Output: "number  by   z\n1       ann  [\"bug\",\"ui\"]\ntwo     -    []\n3       -    -\n",
				Structured: map[string]any{"result": []any{
					map[string]any{"number": int64(1), "by": "ann", "z": []any{"bug", "ui"}},
					map[string]any{"number": "two", "by": nil, "z": []any{}},
					map[string]any{"number": int64(3), "by": nil, "z": nil}}}}},
		{"image", `{"as":"image"}`, said("GIF89a...", ""), call.Result{Status: call.Complete, Output: "image/gif, 9 bytes", Attachments: []call.Attachment{{MediaType: "image/gif", Data: []byte("GIF89a...")}}}},
		{"image, other kind", `{"as":"image","media_type":"image/png"}`, said("GIF89a...", ""), call.Result{Status: call.Failed, Reason: "the output is image/gif, but image/png was expected"}},
		{"no image", `{"as":"image"}`, said("<svg/>", ""), call.Result{Status: call.Failed, Reason: "the output is not a picture: want one of image/png, image/jpeg, image/webp, image/gif"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := shapeOf(t, c.block).Apply(c.outcome, nil)
			if c.want.Success = c.want.Status == call.Complete; !c.want.Success {
				c.want.Code = string(c.want.Status)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestStructureTooLarge(t *testing.T) {
	list := "[" + strings.Repeat(`"xxxxxxxxxxxxxxx",`, 1000) + `"x"]`
	got := shapeOf(t, `{"as":"json","max_bytes":"1KiB"}`).Apply(said(list, ""), nil)
	if got.Status != call.Partial || got.Success || got.Structured != nil || !got.Truncated || got.Reason == "" || len(got.Output) > 1024 || !strings.Contains(got.Output, "bytes left out") {
		t.Errorf("%+v", got)
	}
	cut := call.Outcome{Status: call.Complete, Body: call.Capture{Head: []byte(`{"a":`), Tail: []byte("}"), Total: 100}}
	if got := shapeOf(t, `{"as":"json"}`).Apply(cut, nil); got.Status != call.Failed || got.Structured != nil || !got.Truncated {
		t.Errorf("%+v", got)
	}
	big := call.Outcome{Status: call.Complete, Body: call.Capture{Head: []byte("GIF89a"), Total: MaxImageBytes + 1}}
	if got := shapeOf(t, `{"as":"image"}`).Apply(big, nil); got.Status != call.Failed || got.Attachments != nil {
		t.Errorf("%+v", got)
	}
}

func TestChecked(t *testing.T) {
	shape := shapeOf(t, `{"as":"json"}`).Checked(func(v any) error {
		if _, ok := v.(map[string]any)["a"]; !ok {
			return errors.New("no a")
		}
		return nil
	})
	if got := shape.Apply(said(`{"a":1}`, ""), nil); !got.Success || got.Structured == nil {
		t.Errorf("%+v", got)
	}
	if got := shape.Apply(said(`{"b":1}`, ""), nil); got.Status != call.Failed || got.Structured != nil || got.Code != "failed" {
		t.Errorf("%+v", got)
	}
}

func TestCompileMistakes(t *testing.T) {
	for _, c := range []struct{ block, schema, code string }{
		{`{"as":"xml"}`, ``, "output-as"},
		{`{"as":"json","render":"yaml"}`, ``, "output-render"},
		{`{"as":"text","rows":"items"}`, ``, "output-not-json"},
		{`{"fields":{"a":{"path":"a"}}}`, ``, "output-not-json"},
		{`{"max_rows":3}`, ``, "output-not-json"},
		{`{"as":"json","render":"table"}`, ``, "output-table"},
		{`{"as":"json","fields":{}}`, ``, "output-fields"},
		{`{"max_bytes":"2MiB"}`, ``, "output-size"},
		{`{"max_bytes":"3B"}`, ``, "output-size"},
		{`{"as":"json","max_rows":-1}`, ``, "output-rows"},
		{`{"media_type":"image/png"}`, ``, "output-media-type"},
		{`{"as":"image","media_type":"image/bmp"}`, ``, "output-media-type"},
		{`{"as":"json","rows":"a[].b"}`, ``, "output-path"},
		{`{"as":"json","fields":{"a":{"path":"a..b"}}}`, ``, "output-path"},
		{`{"as":"json","fields":{"a":{"path":"a[0]"}}}`, ``, "output-path"},
		{`{"as":"json","fields":{"a":{"path":"a","type":"int"}}}`, ``, "output-type"},
		{`{"as":"json","fields":{"a":{"path":"a"}}}`, `{"type":"object","properties":{"b":{}},"additionalProperties":false}`, "output-schema"},
		{`{"as":"json","fields":{"a":{"path":"a","type":"string"}}}`, `{"type":"object","properties":{"a":{"type":"integer"}}}`, "output-schema"},
		{`{"as":"json","fields":{"a":{"path":"a"}}}`, `{"type":"object","required":["b"]}`, "output-schema"},
		{`{"as":"json","rows":"x","fields":{"a":{"path":"a[].b"}}}`, `{"type":"object","properties":{"result":{"items":{"properties":{"a":{"type":"string"}}}}}}`, "output-schema"},
		{`{"as":"json","rows":"x","fields":{"a":{"path":"a"}}}`, `{"type":"object","properties":{"a":{}},"additionalProperties":false}`, "output-schema"},
		{`{"as":"json","rows":"x.y[]","fields":{"a":{"path":"a.b[].c","type":"integer"}}}`, `{"type":"object","properties":{"result":{"items":{"properties":{"a":{"type":["array","null"]}},"required":["a"]}}}}`, ""},
		{`{"as":"json","fields":{"a":{"type":"integer"}}}`, `{"properties":{"a":{"type":"number"}}}`, ""},
		{``, `{"type":"object"}`, ""},
	} {
		tool := toolWith(t, c.block)
		if c.schema != "" {
			tool.OutputSchema = json.RawMessage(c.schema)
		}
		_, mistakes := Compile(tool)
		code := ""
		if len(mistakes) > 0 {
			code = mistakes[0].Code
		}
		if code != c.code {
			t.Errorf("%s with %s: %v, want %q", c.block, c.schema, mistakes, c.code)
		}
	}
}

func TestNumbers(t *testing.T) {
	for text, want := range map[string]any{
		"1": int64(1), "-0": int64(0), "1.0": int64(1), "1e3": int64(1000), "9223372036854775807": int64(9223372036854775807),
		"9223372036854775808": "9223372036854775808", "1e400": "1e400", "1e20": "1e20", "0.1": 0.1, "3.14159265358979323846": 3.141592653589793,
	} {
		got, err := read([]byte(text))
		if err != nil || got != want {
			t.Errorf("%s is read as %#v, %v; want %#v", text, got, err, want)
		}
	}
}
