package metric

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/writ-dev/writ/engine/audit"
)

// chain collects the head of the audit chain when it is asked for, so that no
// call pays for it and there is one series at a time.
type chain struct {
	description *prometheus.Desc
	head        func() audit.Head
}

// Chain shows the head of the audit chain. It is called at most once.
func (m *Metrics) Chain(head func() audit.Head) {
	if m != nil {
		m.registry.MustRegister(chain{prometheus.NewDesc("writ_audit_entries", "Entries of the audit chain, and the hash of the last.", []string{"hash"}, nil), head})
	}
}

// Describe is for the registry.
func (c chain) Describe(out chan<- *prometheus.Desc) { out <- c.description }

// Collect is for the registry.
func (c chain) Collect(out chan<- prometheus.Metric) {
	head := c.head()
	out <- prometheus.MustNewConstMetric(c.description, prometheus.GaugeValue, float64(head.Count), head.Hash.String())
}
