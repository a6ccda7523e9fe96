package mcpserver

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/engine/call"
)

func TestPresent(t *testing.T) {
	long := strings.Repeat("é", 1500)
	for _, c := range []struct {
		name   string
		result call.Result
		want   string
	}{
		{"text", call.Result{Success: true, Status: call.Complete, Output: "hi"},
			`{"content":[{"type":"text","text":"hi"}]}`},
		{"nothing to say", call.Result{Success: true, Status: call.Complete},
			`{"content":[{"type":"text","text":""}]}`},
		{"object", call.Result{Success: true, Status: call.Complete, Output: "{}", Structured: map[string]any{"n": int64(1)}},
			`{"content":[{"type":"text","text":"{}"}],"structuredContent":{"n":1}}`},
		{"a list is no structure", call.Result{Success: true, Status: call.Complete, Output: "[]", Structured: []any{}},
			`{"content":[{"type":"text","text":"[]"}]}`},
		{"picture alone", call.Result{Success: true, Status: call.Complete, Attachments: []call.Attachment{{MediaType: "image/png", Data: []byte{1}}}},
			`{"content":[{"type":"image","mimeType":"image/png","data":"AQ=="}]}`},
		{"refused", call.Result{Status: call.Refused, Code: "denied", Reason: "no"},
			`{"content":[{"type":"text","text":"no"}],"isError":true}`},
		{"no reason", call.Result{Status: call.TimedOut, Output: "half"},
			`{"content":[{"type":"text","text":"the call ended as timed_out"},{"type":"text","text":"half"}],"isError":true}`},
		{"long reason, cut between characters", call.Result{Status: call.Failed, Reason: "x" + long},
			`{"content":[{"type":"text","text":"x` + strings.Repeat("é", 999) + `"}],"isError":true}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			shown := present(c.result)
			shown.Meta = nil
			got, err := json.Marshal(shown)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
