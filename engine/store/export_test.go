package store_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/writ-dev/writ/engine/audit"
	"github.com/writ-dev/writ/engine/store"
)

// TestExport writes the entries as lines and verifies them from there.
func TestExport(t *testing.T) {
	path, head := filled(t, 20)
	dir, err := store.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	trail, err := store.OpenTrail(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer trail.Close()
	for _, after := range []int64{0, 7} {
		var text strings.Builder
		out := json.NewEncoder(&text)
		out.SetEscapeHTML(false)
		next := after + 1
		err := trail.Entries(context.Background(), after, func(e audit.Entry) error {
			if e.Position != next {
				t.Errorf("position %d after %d", e.Position, next-1)
			}
			next++
			return out.Encode(e)
		})
		if err != nil {
			t.Fatal(err)
		}
		v := audit.Verifier{Anchor: head}
		for in := json.NewDecoder(strings.NewReader(text.String())); in.More(); {
			var e audit.Entry
			if err := in.Decode(&e); err != nil {
				t.Fatal(err)
			}
			v.Add(e)
		}
		if report := v.Report(); report.Problems != nil || !report.Anchored || report.First != after+1 {
			t.Errorf("after %d: %+v", after, report)
		}
	}
}
