package value_test

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"github.com/writ-dev/writ/engine/value"
)

func TestCanonicalJSON(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{nil, "null"},
		{true, "true"},
		{int64(math.MinInt64), "-9223372036854775808"},
		{0.1, "0.1"},
		{1e-7, "1e-7"},
		{1e21, "1e+21"},
		{123456789012345680.5, "123456789012345680"},
		{"a\"\\\n\x00é\u2028", `"a\"\\\n\u0000é` + "\u2028" + `"`},
		{"\xff", "\"\ufffd\""},
		{[]any{}, "[]"},
		{map[string]any{"b": int64(1), "a": []any{"x"}}, `{"a":["x"],"b":1}`},
	} {
		if got := string(value.JSON(c.value)); got != c.want {
			t.Errorf("JSON(%#v) = %s, want %s", c.value, got, c.want)
		}
	}
}

// FuzzStringJSON: what is written is JSON and reads back as the same text.
func FuzzStringJSON(f *testing.F) {
	f.Add("plain")
	f.Add("\x1b[31m\u202e\x7f\"\\")
	f.Fuzz(func(t *testing.T, text string) {
		var back, clean string
		if err := json.Unmarshal(value.JSON(text), &back); err != nil {
			t.Fatalf("JSON(%q) is not JSON: %v", text, err)
		}
		std, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(std, &clean); err != nil {
			t.Fatal(err)
		}
		if back != clean {
			t.Errorf("JSON(%q) reads back as %q", text, back)
		}
	})
}

func TestEqual(t *testing.T) {
	a := map[string]any{"list": []any{int64(1), "x", nil}, "n": 1.5}
	b := map[string]any{"n": 1.5, "list": []any{int64(1), "x", nil}}
	if !value.Equal(a, b) || !reflect.DeepEqual(a, b) {
		t.Error("equal objects differ")
	}
	for _, pair := range [][2]any{{int64(1), "1"}, {[]any{}, map[string]any{}}, {nil, []any{}}, {map[string]any{"a": nil}, map[string]any{"b": nil}}} {
		if value.Equal(pair[0], pair[1]) {
			t.Errorf("Equal(%#v, %#v)", pair[0], pair[1])
		}
	}
}

func TestLookup(t *testing.T) {
	typ := value.Struct(map[string]value.Field{
		"args": {Type: value.Struct(map[string]value.Field{
			"name":   {Type: value.Type{Kind: value.String}, Optional: true},
			"labels": {Type: value.Type{Kind: value.Object, Item: &value.Type{Kind: value.Integer}}},
		})},
	})
	for _, c := range []struct {
		path         []string
		kind         value.Kind
		optional, ok bool
	}{
		{[]string{"args", "name"}, value.String, true, true},
		{[]string{"args", "labels", "x"}, value.Integer, true, true},
		{[]string{"args", "nope"}, value.Any, false, false},
		{[]string{"args", "name", "x"}, value.Any, false, false},
	} {
		found, optional, ok := typ.Lookup(c.path)
		if found.Kind != c.kind || optional != c.optional || ok != c.ok {
			t.Errorf("Lookup(%v) = %v %t %t, want %v %t %t", c.path, found.Kind, optional, ok, c.kind, c.optional, c.ok)
		}
	}
}
