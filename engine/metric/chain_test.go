package metric_test

import (
	"strings"
	"testing"

	"github.com/writ-dev/writ/engine/audit"
	"github.com/writ-dev/writ/engine/metric"
)

func TestChain(t *testing.T) {
	m := metric.New()
	head := audit.Head{}
	m.Chain(func() audit.Head { return head })
	for range 2 {
		head = head.Next(1, audit.Hash{})
		got := text(m)
		if !strings.Contains(got, `writ_audit_entries{hash="`+head.Hash.String()+`"} `) || strings.Count(got, "\nwrit_audit_entries") != 1 {
			t.Errorf("head %v is not the one series:\n%s", head, got)
		}
	}
}
