package audit_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/writ-dev/writ/engine/audit"
	"github.com/writ-dev/writ/engine/call"
)

func TestResultOf(t *testing.T) {
	for status, want := range map[call.Status]audit.Result{
		call.Complete: audit.Success, call.Partial: audit.Error, call.Failed: audit.Error,
		call.TimedOut: audit.TimedOut, call.Refused: audit.Refused, call.Cancelled: audit.Cancelled,
		"never heard of": audit.Error,
	} {
		if got := audit.ResultOf(status); got != want {
			t.Errorf("ResultOf(%s) = %s, want %s", status, got, want)
		}
	}
}

func TestBoundedCutsEverything(t *testing.T) {
	long := strings.Repeat("ä", 1000)
	rules := make([]string, 500)
	for i := range rules {
		rules[i] = long
	}
	r := audit.Record{RequestID: long, Tool: long, Principal: long, Entry: call.Entry(long), Session: long, ToolDigest: long,
		ArgumentDigest: long, EffectDigest: long, Rules: rules, Decision: long, SettledBy: long, Confirmation: long,
		Approval: long, Result: audit.Result(long), Status: call.Status(long), Code: long}
	got := r.Bounded()
	if len(got.Rules) != audit.MaxRules || got.RulesFired != 500 {
		t.Errorf("%d rules listed and %d counted, want %d and 500", len(got.Rules), got.RulesFired, audit.MaxRules)
	}
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if limit := (audit.MaxRules + 20) * (audit.MaxText + 50); len(text) > limit {
		t.Errorf("the record has %d bytes, more than %d", len(text), limit)
	}
	if !utf8.ValidString(got.Tool) || bytes.Contains(text, []byte(`\ufffd`)) {
		t.Error("a character was cut in two")
	}
	if len(rules[0]) != len(long) {
		t.Error("Bounded wrote into the caller's rules")
	}
}

func TestFilterCheck(t *testing.T) {
	now := time.Unix(1000, 0)
	for _, tt := range []struct {
		filter audit.Filter
		want   string
	}{
		{audit.Filter{}, ""},
		{audit.Filter{Result: audit.Refused, Limit: audit.MaxLimit, After: 3, Since: now, Until: now}, ""},
		{audit.Filter{Result: "sucess"}, `did you mean "success"?`},
		{audit.Filter{Limit: audit.MaxLimit + 1}, "use 1 to 1000"},
		{audit.Filter{Limit: -1}, "use 1 to 1000"},
		{audit.Filter{After: -1}, "sequence number"},
		{audit.Filter{Since: now, Until: now.Add(-time.Second)}, "before since"},
	} {
		err := tt.filter.Check()
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("Check(%+v) = %v, want %q", tt.filter, err, tt.want)
		}
	}
}

func TestKey(t *testing.T) {
	if _, err := audit.NewKey(make([]byte, 16)); err == nil {
		t.Error("a short key was accepted")
	}
	one, err := audit.NewKey(bytes.Repeat([]byte{1}, audit.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	two, err := audit.NewKey(bytes.Repeat([]byte{2}, audit.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	a, b := map[string]any{"pin": int64(1), "a": "b"}, map[string]any{"a": "b", "pin": int64(1)}
	if one.Arguments(a) != one.Arguments(b) {
		t.Error("equal arguments have two digests")
	}
	if one.Arguments(a) == two.Arguments(a) {
		t.Error("the digest does not depend on the key")
	}
	if one.Session("") != "" || one.Session("x") == one.Session("y") || one.Session("x") == one.Effect(call.Digest{}) {
		t.Error("sessions are not told apart")
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format, one); text != "audit.Key" {
			t.Errorf("%s prints %s", format, text)
		}
	}
}
