package diag_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/writ-dev/writ/engine/diag"
)

func TestSorted(t *testing.T) {
	var list diag.List
	list.Errorf(diag.Position{File: "b.yaml", Line: 1, Column: 1}, "x", "third")
	list.Errorf(diag.Position{File: "a.yaml", Line: 10, Column: 2}, "x", "second")
	list.Errorf(diag.Position{File: "a.yaml", Line: 2, Column: 9}, "x", "first")
	list.Errorf(diag.Position{File: "a.yaml", Line: 2, Column: 9}, "x", "first")
	var got []string
	for _, d := range list.Sorted() {
		got = append(got, d.String())
	}
	want := []string{"a.yaml:2:9: first", "a.yaml:10:2: second", "b.yaml:1:1: third"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestErrIgnoresWarnings(t *testing.T) {
	var list diag.List
	list.Warnf(diag.Position{File: "a.yaml"}, "x", "careful")
	if err := list.Err(); err != nil {
		t.Errorf("a warning is an error: %v", err)
	}
	list.Errorf(diag.Position{File: "a.yaml"}, "x", "wrong").Hinted("do %s", "this").Also(diag.Position{File: "b"}, "there")
	if err := list.Err(); err == nil || err.Error() != "a.yaml: wrong (do this)\na.yaml: warning: careful" {
		t.Errorf("got %v", err)
	}
}

// What one process prints as JSON another reads back.
func TestJSONRoundTrip(t *testing.T) {
	var list diag.List
	list.Warnf(diag.Position{File: "a.yaml", Line: 1}, "code", "message").Hinted("hint").Also(diag.Position{File: "b"}, "there")
	list.Errorf(diag.Position{File: "a.yaml", Line: 2, Column: 3}, "code", "message")
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	var back diag.List
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, list) {
		t.Errorf("%s came back as %+v (%v)", text, back, err)
	}
}

func TestDidYouMean(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"limt", "limit"}, {"LIMIT", "limit"}, {"max-bytes", "max_bytes"}, {"ilmit", "limit"}, {"zzz", ""}, {"limit", ""}, {"", ""},
	} {
		if got := diag.Closest(c.name, []string{"limit", "max_bytes"}); got != c.want {
			t.Errorf("Closest(%q) = %q, want %q", c.name, got, c.want)
		}
	}
}
