package mcpserver

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestMembers(t *testing.T) {
	got := ""
	for key, raw := range members([]byte("{ \"a\" : [1,{\"x\":\"}\"}] ,\n\"b\\u0062\":-1.5e3,\"c\":\"\\\\\\\"\" , \"d\":null,\"e\":{},\"\":true }")) {
		got += string(key) + "=" + string(raw) + ";"
	}
	if want := `a=[1,{"x":"}"}];bb=-1.5e3;c="\\\"";d=null;e={};=true;`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	for _, empty := range []string{"{}", "{ }"} {
		for key := range members([]byte(empty)) {
			t.Errorf("%q has the key %q", empty, key)
		}
	}
}

func TestRepeatedAmongMany(t *testing.T) {
	var b strings.Builder
	b.WriteString("{")
	for i := range 40 {
		b.WriteString(`"` + strings.Repeat("k", i+1) + `":0,`)
	}
	if key, twice := repeated([]byte(b.String() + `"z":0}`)); twice {
		t.Errorf("%q is not given twice", key)
	}
	for _, again := range []string{"k", "KKK", strings.Repeat("k", 39)} {
		if key, twice := repeated([]byte(b.String() + `"` + again + `":0}`)); !twice || key != again {
			t.Errorf("%q is given twice, got %q %v", again, key, twice)
		}
	}
}

// FuzzCheckMessage compares the walk over bytes with the standard library's
// reading of the same message.
func FuzzCheckMessage(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":[1,2,{"y":"\""}]},"_meta":{}}}`,
		`[{"id":"a"},{"id":2,"method":"ping"}]`, `[]`, `{}`, `[1]`, ` { "a" : 1 } `, `{"a":1,"A":2}`, `{"params":{"b":{},"B":[]}}`,
		`"x"`, "\xff", `{"method":"tools/call","params":{"name":null}}`, `{"a\\":"b\\\""}`, "{\"\\ud800\":1}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		message, fault := checkMessage(data)
		if fault != nil {
			if !json.Valid(fault.response()) {
				t.Errorf("bad answer %s", fault.response())
			}
			return
		}
		if !json.Valid(data) {
			t.Fatalf("accepted %q", data)
		}
		if data = bytes.TrimSpace(data); data[0] != '{' {
			return
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(data, &fields); err != nil {
			t.Fatal(err)
		}
		count := 0
		for key, raw := range members(data) {
			count++
			if !bytes.Equal(fields[string(key)], raw) {
				t.Errorf("field %q is %s, want %s", key, raw, fields[string(key)])
			}
		}
		if count != len(fields) {
			t.Errorf("%d fields, want %d", count, len(fields))
		}
		if !bytes.Equal(message.params, fields["params"]) {
			t.Errorf("params %s, want %s", message.params, fields["params"])
		}
	})
}

func TestNesting(t *testing.T) {
	deep := func(n int) string { return strings.Repeat(`[{"a":`, n/2) + `""` + strings.Repeat("}]", n/2) }
	for _, c := range []struct {
		name, params string
		refused      bool
	}{
		{"as deep as allowed", deep(maxNesting - 2), false},
		{"deeper", deep(maxNesting), true},
		{"wide", "[" + strings.Repeat("[],", 2*maxNesting) + "{}]", false},
		{"brackets in a text", `"` + strings.Repeat(`[\"{`, maxNesting) + `"`, false},
	} {
		_, fault := checkMessage([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":` + c.params + `}}`))
		if got := fault != nil && strings.Contains(fault.text, "nested"); got != c.refused {
			t.Errorf("%s: %+v", c.name, fault)
		}
	}
}
