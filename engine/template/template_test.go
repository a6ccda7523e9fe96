package template

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/writ-dev/writ/engine/diag"
	"github.com/writ-dev/writ/engine/value"
)

var start = diag.Position{File: "tools.d/t.yaml", Line: 3, Column: 9}

func optional(f value.Field) value.Field {
	f.Optional = true
	return f
}

func types() value.Type {
	return value.Struct(map[string]value.Field{
		"args": {Type: value.Struct(map[string]value.Field{
			"repo": value.Of(value.String), "limit": value.Of(value.Integer), "rate": value.Of(value.Number), "loud": value.Of(value.Boolean),
			"author": optional(value.Of(value.String)), "files": value.ListOf(value.String),
			"filter": {Type: value.Struct(map[string]value.Field{"name": value.Of(value.String)})},
			"labels": {Type: value.Type{Kind: value.Object, Item: &value.Type{Kind: value.String}}},
		})},
		"options": value.Of(value.List),
	})
}

func lookup() Lookup {
	return Values(map[string]any{"args": map[string]any{
		"repo": "/srv/a b", "limit": int64(20), "rate": 0.5, "loud": true, "files": []any{"a", "b"}, "null": nil,
		"filter": map[string]any{"name": "x"}, "labels": map[string]any{},
	}})
}

func parse(t testing.TB, text string) *Template {
	t.Helper()
	out, list := Parse(text, start)
	if out == nil {
		t.Fatalf("%s: %v", text, list.Err())
	}
	return out
}

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "plain $ {x} $5": "plain $ {x} $5", "--repo=${args.repo}": "--repo=/srv/a b", "${args.limit}/${args.rate}/${args.loud}": "20/0.5/true",
		"$${args.repo}": "${args.repo}", "a$${b${args.limit}}": "a${b20}", "${args.filter.name}": "x", "$$${x": "$${x",
	} {
		got, err := parse(t, text).Text(lookup())
		if err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestTextErrors(t *testing.T) {
	var absent *AbsentError
	for _, text := range []string{"${args.author}", "a ${args.nope.deeper}", "${args.null}", "${options}"} {
		if got, err := parse(t, text).Text(lookup()); !errors.As(err, &absent) || got != "" {
			t.Errorf("%s: got %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"x ${args.files}", "${args.filter}", "${args.repo.x}"} {
		if got, err := parse(t, text).Text(lookup()); err == nil || errors.As(err, &absent) || got != "" {
			t.Errorf("%s: got %q, %v", text, got, err)
		}
	}
	long := Values(map[string]any{"a": strings.Repeat("x", MaxRendered)})
	if _, err := parse(t, "${a}.").Text(long); err == nil {
		t.Error("a text longer than the bound was rendered")
	}
	if _, err := parse(t, "${a}").Text(long); err != nil {
		t.Errorf("a text as long as the bound: %v", err)
	}
	broken := func([]string) (any, bool, error) { return nil, false, errors.New("no secret") }
	if _, err := parse(t, "${a} b").Text(broken); err == nil || err.Error() != "no secret" {
		t.Errorf("an error of the lookup came back as %v", err)
	}
}

func TestValue(t *testing.T) {
	for text, want := range map[string]any{"${args.limit}": int64(20), "${args.limit} ": "20 ", "${args.files}": []any{"a", "b"}, "x": "x", "": ""} {
		got, present, err := parse(t, text).Value(lookup())
		if err != nil || !present || !value.Equal(got, want) {
			t.Errorf("%s: got %v, %v, %v", text, got, present, err)
		}
	}
	for _, text := range []string{"${args.author}", "${args.null}"} {
		if got, present, err := parse(t, text).Value(lookup()); err != nil || present || got != nil {
			t.Errorf("%s: got %v, %v, %v", text, got, present, err)
		}
	}
	if _, _, err := parse(t, "a ${args.author}").Value(lookup()); err == nil {
		t.Error("an absent value inside text was rendered")
	}
}

func TestParts(t *testing.T) {
	mixed := parse(t, "a${args.repo}b")
	if got := mixed.Slots(); len(got) != 1 || !slices.Equal(got[0], []string{"args", "repo"}) {
		t.Errorf("slots: %v", got)
	}
	if parts := mixed.Parts(); len(parts) != 3 || parts[0].Literal != "a" || parts[1].Name() != "args.repo" || parts[1].At.Column != 10 || mixed.Source() != "a${args.repo}b" {
		t.Errorf("parts: %+v", parts)
	}
	for text, want := range map[string]string{"a": "--l", "": "--l", "$${": "--l", "${x}": "wh-", "${x}y": "-h-", "y${x}": "---"} {
		tmpl, got := parse(t, text), [3]byte{'-', '-', '-'}
		if _, ok := tmpl.Whole(); ok {
			got[0] = 'w'
		}
		if _, ok := tmpl.LeadingSlot(); ok {
			got[1] = 'h'
		}
		if _, ok := tmpl.Literal(); ok {
			got[2] = 'l'
		}
		if string(got[:]) != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	encoded, err := parse(t, "/r/${args.repo}").TextWith(lookup(), func(p Part, text string) (string, error) { return "<" + p.Name() + "=" + text + ">", nil })
	if err != nil || encoded != "/r/<args.repo=/srv/a b>" {
		t.Errorf("encoded: %q, %v", encoded, err)
	}
}

func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"${":              "tools.d/t.yaml:3:9: ${ is never closed (write ${args.x}, or $${ for the characters themselves)",
		"ä ${args.x":      "tools.d/t.yaml:3:11: ${ is never closed (write ${args.x}, or $${ for the characters themselves)",
		"${}":             "${} is not a dotted path",
		"${ args.repo }":  "write ${args.repo}",
		"${args.a ?? 1}":  "a slot has no default",
		"${args.a[0]}":    "a slot is a path, not an expression",
		"${args..a}":      "is not a dotted path",
		"${args.a + 1}":   "is not a dotted path",
		"a\n${args.b c}":  "tools.d/t.yaml:3:9: ",
		"${a}${b c}${d e": "${ is never closed",
	} {
		got, list := Parse(text, start)
		if got != nil || !strings.Contains(list.Err().Error(), want) {
			t.Errorf("%q: got %v", text, list.Err())
		}
	}
	if got, list := Parse(strings.Repeat("${a}", MaxSlots+1), start); got != nil || len(list) != 1 {
		t.Errorf("too many slots: %v", list)
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		text  string
		place Place
		want  string
	}{
		{"${args.repo} ${args.limit}", Word, ""},
		{"${args.files}", Item, ""},
		{"${args.files}", Key, ""},
		{"${args.author}", Key, ""},
		{"${options}", Item, ""},
		{"${args.labels.team}", Word, ""},
		{"${args.files}", Word, "${args.files} is a list, which has no text"},
		{"x${args.files}", Item, "${args.files} is a list, which has no text"},
		{"${args.filter} x", Key, "name one of its fields: one of name"},
		{"${args.author}", Item, "may be absent, and a list has no place"},
		{"${args.author}", Word, "may be absent (give the argument a default"},
		{"x${args.author}", Key, "may be absent (give the argument a default"},
		{"${args.rep}", Word, `there is no args.rep (did you mean "repo"?)`},
		{"${arg.repo}", Word, `there is no arg (did you mean "args"?)`},
		{"${repo}", Word, "did you mean ${args.repo}?"},
		{"${secrets.X}", Word, "write one of args, options"},
		{"${args.repo.x}", Word, "args.repo is a string and has no fields"},
		{"ä${args.zzzzzzz}", Word, "tools.d/t.yaml:3:10: "},
	} {
		list := parse(t, c.text).Check(types(), c.place)
		switch {
		case c.want == "" && len(list) > 0:
			t.Errorf("%s: %v", c.text, list)
		case c.want != "" && (len(list) != 1 || !strings.Contains(list[0].String(), c.want)):
			t.Errorf("%s: got %v, want %s", c.text, list, c.want)
		}
	}
}

func at(path ...any) diag.Position {
	out := start
	out.Line += len(path)
	return out
}

func TestJSON(t *testing.T) {
	j, list := ParseJSON(json.RawMessage(`{"n": "${args.limit}", "gone": "${args.author}", "t": "x-${args.limit}", "l": ["${args.files}", 1.50, null], "o": {}, "k": 1e2, "b": true}`), at)
	if j == nil {
		t.Fatal(list.Err())
	}
	if list := j.Check(types()); len(list) > 0 {
		t.Fatal(list)
	}
	got, err := j.Render(lookup())
	if err != nil {
		t.Fatal(err)
	}
	if text := string(value.JSON(got)); text != `{"b":true,"k":100,"l":[["a","b"],1.5,null],"n":20,"o":{},"t":"x-20"}` {
		t.Errorf("got %s", text)
	}
	if slots := j.Slots(); len(slots) != 4 || slots[0][1] != "author" {
		t.Errorf("slots: %v", slots)
	}
}

func TestJSONErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{`: "is not JSON", `{} {}`: "more follows", `{"a": ["${"]}`: "tools.d/t.yaml:5:9: ${ is never closed", `12345678901234567890`: "cannot be kept exactly",
		`1e999`: "too large", strings.Repeat("[", 40) + strings.Repeat("]", 40): "nested more than 32 deep",
	} {
		j, list := ParseJSON(json.RawMessage(text), at)
		if j != nil || !strings.Contains(list.Err().Error(), want) {
			t.Errorf("%s: got %v, want %s", text, list.Err(), want)
		}
	}
	for text, want := range map[string]string{`["${args.author}"]`: "a list has no place", `{"a": "x${args.author}"}`: "may be absent", `"${args.author}"`: "may be absent"} {
		j, _ := ParseJSON(json.RawMessage(text), at)
		if list := j.Check(types()); len(list) != 1 || !strings.Contains(list[0].String(), want) {
			t.Errorf("%s: got %v, want %s", text, list, want)
		}
		var absent *AbsentError
		if _, err := j.Render(lookup()); !errors.As(err, &absent) || absent.Slot != "args.author" {
			t.Errorf("%s: rendered: %v", text, err)
		}
	}
	j, _ := ParseJSON(json.RawMessage(`{"a": "${a}", "b": ["${a}"], "c": "${a}"}`), at)
	if _, err := j.Render(Values(map[string]any{"a": map[string]any{"k": []any{strings.Repeat("x", MaxRendered/2)}}})); err == nil {
		t.Error("a value longer than the bound was rendered")
	}
}
