package store

import (
	"context"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/engine/audit"
	"github.com/writ-dev/writ/engine/call"
)

// TestEveryFieldIsKept fills all fields of a record, also those that somebody
// adds later, and expects them back.
func TestEveryFieldIsKept(t *testing.T) {
	var r audit.Record
	fillIn(t, reflect.ValueOf(&r).Elem(), "")
	r.Risk = call.Dangerous
	r.Started = time.UnixMicro(1_800_000_000_123_456).UTC()
	r.Rules = []string{"a\"b", "c\n\u2028", "ä\x00"}
	r.RulesFired = 9
	ctx := context.Background()
	s, err := Open(ctx, t.TempDir(), Options{Log: slog.New(slog.DiscardHandler), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(ctx)
	for _, record := range []audit.Record{r, {}} {
		slot, err := s.Reserve(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := slot.Outcome(ctx, record); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Records(ctx, audit.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	r.Sequence, r.Phase = 1, audit.Outcome
	if diff := cmp.Diff([]audit.Record{r, {Sequence: 2, Phase: audit.Outcome}}, got); diff != "" {
		t.Error(diff)
	}
}

func fillIn(t *testing.T, v reflect.Value, name string) {
	t.Helper()
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			fillIn(t, v.Field(i), v.Type().Field(i).Name)
		}
	case reflect.String:
		v.SetString(strings.ToLower(name))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(len(name)) + 1)
	case reflect.Uint64:
		v.SetUint(uint64(len(name)) + 1)
	case reflect.Slice:
	default:
		t.Fatalf("field %s has a kind that this test cannot fill", name)
	}
}
