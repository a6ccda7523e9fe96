// Package metric answers one question: what does the process count?
//
// It owns the Prometheus collectors and their registry. The rooms that count
// are handed a *Metrics and call its methods; a nil *Metrics counts nothing.
// Labels are words of a fixed set, never names of tools, callers or hosts, so
// that neither a client nor a reload can make the number of series grow, and
// /metrics tells nobody what is called.
package metric

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/writ-dev/writ/engine/audit"
	"github.com/writ-dev/writ/engine/call"
)

// Metrics are the counters of one process.
type Metrics struct {
	registry   *prometheus.Registry
	calls      *prometheus.CounterVec
	decisions  *prometheus.CounterVec
	refusals   *prometheus.CounterVec
	stages     [4]prometheus.Observer // prepare, assess, approve, execute
	reloads    *prometheus.CounterVec
	generation prometheus.Gauge
	invalid    prometheus.Gauge
}

// New makes the collectors in a registry of their own.
func New() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "writ_calls_total", Help: "Calls that ended, by entry and status.",
		}, []string{"entry", "status"}),
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "writ_decisions_total", Help: "Decisions of the policy, by effect.",
		}, []string{"effect"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "writ_refusals_total", Help: "Calls and requests that were refused, by where and why.",
		}, []string{"where", "reason"}),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "writ_reloads_total", Help: "Attempts to load the configuration, by result.",
		}, []string{"result"}),
		generation: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "writ_generation", Help: "Number of the catalog generation in force.",
		}),
		invalid: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "writ_configuration_invalid", Help: "1 while the files on disk do not load and the last good generation stays in force.",
		}),
	}
	stages := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "writ_stage_seconds", Help: "Duration of each stage of a call.",
		Buckets: prometheus.ExponentialBuckets(25e-6, 4, 11), // 25 µs to 26 s
	}, []string{"stage"})
	for i, name := range [...]string{"prepare", "assess", "approve", "execute"} {
		m.stages[i] = stages.WithLabelValues(name)
	}
	m.registry.MustRegister(m.calls, m.decisions, m.refusals, stages, m.reloads, m.generation, m.invalid,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Handler serves the metrics as Prometheus text.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// Turned counts a request that was turned away before it was a call. Reason is
// a word of guard.Options.Refused.
func (m *Metrics) Turned(reason string) {
	if m != nil {
		m.refusals.WithLabelValues("http", reason).Inc()
	}
}

// Reload records an attempt to load: the generation that is now in force when
// it worked, and that files are invalid when it did not.
func (m *Metrics) Reload(generation uint64, ok bool) {
	if m == nil {
		return
	}
	if !ok {
		m.reloads.WithLabelValues("invalid").Inc()
		m.invalid.Set(1)
		return
	}
	m.reloads.WithLabelValues("ok").Inc()
	m.invalid.Set(0)
	m.generation.Set(float64(generation))
}

// Observe counts an ended call from its record: what was decided, how it
// ended, why it was refused, and how long each stage took.
func (m *Metrics) Observe(r audit.Record) {
	if m == nil {
		return
	}
	m.calls.WithLabelValues(string(r.Entry), string(r.Status)).Inc()
	if r.Decision != "" {
		m.decisions.WithLabelValues(r.Decision).Inc()
	}
	if r.Status == call.Refused {
		m.refusals.WithLabelValues("call", r.Code).Inc()
	}
	for i, microseconds := range [...]int64{r.Stages.Prepare, r.Stages.Assess, r.Stages.Approve, r.Stages.Execute} {
		if microseconds > 0 { // else it was not reached
			m.stages[i].Observe(float64(microseconds) / 1e6)
		}
	}
}
