package output

import (
	"strings"
	"testing"

	"github.com/writ-dev/writ/engine/value"
)

// TestShapingJoinsNoSecret: what executors could not see as one value while
// they read does not become one on the way to the client.
func TestShapingJoinsNoSecret(t *testing.T) {
	redact := func(text string) string { return strings.ReplaceAll(text, "hunter22", "[redacted key]") }
	for _, c := range []struct{ name, block, body string }{
		{"coloured", ``, "a hun\x1b[1;31mter\x1b[0m22 b"},
		{"struck over", ``, "a hunter\x082\x002 b"},
		{"lines", `{"as":"lines"}`, "a hunt\x1b[Ker22\n"},
		{"escaped in json", `{"as":"json"}`, `{"a":["\u0068unter22"]}`},
		{"name in json", `{"as":"json"}`, `{"\u0068unter22":1}`},
		{"coloured in json", `{"as":"json"}`, `{"a":"hun\u001b[1mter22"}`},
		{"table", `{"as":"json","render":"table","fields":{"a":{}}}`, `{"a":"hun\u001b[1mter22"}`},
		{"no json", `{"as":"json"}`, "hun\x1b[1mter22"},
	} {
		t.Run(c.name, func(t *testing.T) {
			outcome := said(c.body, "")
			outcome.Reason = "it said hunter22"
			got := shapeOf(t, c.block).Apply(outcome, redact)
			all := got.Reason + got.Output + string(value.JSON(got.Structured))
			if strings.Contains(clean(all), "hunter22") || strings.Contains(all, "ter22") || !strings.Contains(all, "[redacted key]") {
				t.Errorf("%q %q %s", got.Reason, got.Output, value.JSON(got.Structured))
			}
		})
	}
	untouched := "coloured \x1b[1mtext"
	if got := shapeOf(t, `{"as":"json"}`).Apply(said(string(value.JSON(map[string]any{"a": untouched})), ""), redact); got.Structured.(map[string]any)["a"] != untouched {
		t.Errorf("%q", got.Structured)
	}
}
