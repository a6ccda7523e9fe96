package metric_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/writ-dev/writ/engine/audit"
	"github.com/writ-dev/writ/engine/call"
	"github.com/writ-dev/writ/engine/metric"
)

func text(m *metric.Metrics) string {
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

func TestWhatIsCounted(t *testing.T) {
	m := metric.New()
	m.Observe(audit.Record{Tool: "rm", Principal: "alice", Entry: call.EntryMCP, Status: call.Complete, Decision: "permit",
		Stages: audit.Stages{Prepare: 30, Execute: 2_000_000}})
	m.Observe(audit.Record{Tool: "rm", Principal: "alice", Entry: call.EntryStdio, Status: call.Refused, Code: "denied", Decision: "deny"})
	m.Turned("host")
	m.Reload(7, true)
	m.Reload(0, false)
	got := text(m)
	for _, want := range []string{
		`writ_calls_total{entry="mcp",status="complete"} 1`,
		`writ_calls_total{entry="stdio",status="refused"} 1`,
		`writ_decisions_total{effect="permit"} 1`,
		`writ_decisions_total{effect="deny"} 1`,
		`writ_refusals_total{reason="denied",where="call"} 1`,
		`writ_refusals_total{reason="host",where="http"} 1`,
		`writ_stage_seconds_count{stage="prepare"} 1`,
		`writ_stage_seconds_count{stage="assess"} 0`,
		`writ_stage_seconds_sum{stage="execute"} 2`,
		`writ_reloads_total{result="invalid"} 1`,
		`writ_generation 7`,
		`writ_configuration_invalid 1`,
		`go_goroutines`,
	} {
		if !strings.Contains(got, want+"\n") && !strings.Contains(got, want+" ") {
			t.Errorf("no %s", want)
		}
	}
	for _, name := range []string{"alice", `"rm"`} {
		if strings.Contains(got, name) {
			t.Errorf("%s is told", name)
		}
	}
	m.Reload(8, true)
	if got := text(m); !strings.Contains(got, "writ_configuration_invalid 0\n") || !strings.Contains(got, "writ_generation 8\n") {
		t.Error("a mended configuration still counts as invalid")
	}
}

func TestNilCountsNothing(t *testing.T) {
	var m *metric.Metrics
	m.Observe(audit.Record{})
	m.Turned("host")
	m.Reload(1, true)
}
