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
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are the counters of one process.
type Metrics struct {
	registry   *prometheus.Registry
	calls      *prometheus.CounterVec
	decisions  *prometheus.CounterVec
	refusals   *prometheus.CounterVec
	stages     *prometheus.HistogramVec
	reloads    *prometheus.CounterVec
	generation prometheus.Gauge
	invalid    prometheus.Gauge
	running    prometheus.Gauge
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
		stages: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "writ_stage_seconds", Help: "Duration of each stage of a call.",
			Buckets: prometheus.ExponentialBuckets(25e-6, 4, 11), // 25 µs to 26 s
		}, []string{"stage"}),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "writ_reloads_total", Help: "Attempts to load the configuration, by result.",
		}, []string{"result"}),
		generation: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "writ_generation", Help: "Number of the catalog generation in force.",
		}),
		invalid: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "writ_configuration_invalid", Help: "1 while the files on disk do not load and the last good generation stays in force.",
		}),
		running: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "writ_calls_running", Help: "Calls that are admitted and not answered yet.",
		}),
	}
	m.registry.MustRegister(m.calls, m.decisions, m.refusals, m.stages, m.reloads, m.generation, m.invalid, m.running,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Handler serves the metrics as Prometheus text.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// Begin counts a call as running until the function that it returns is called
// with the status in which it ended.
func (m *Metrics) Begin(entry string) (end func(status string)) {
	if m == nil {
		return func(string) {}
	}
	m.running.Inc()
	return func(status string) {
		m.running.Dec()
		m.calls.WithLabelValues(entry, status).Inc()
	}
}

// Decision counts a decision of the policy.
func (m *Metrics) Decision(effect string) {
	if m != nil {
		m.decisions.WithLabelValues(effect).Inc()
	}
}

// Refusal counts a refusal. Where is http or call, reason a stable word.
func (m *Metrics) Refusal(where, reason string) {
	if m != nil {
		m.refusals.WithLabelValues(where, reason).Inc()
	}
}

// Stage records how long one stage of a call took.
func (m *Metrics) Stage(stage string, took time.Duration) {
	if m != nil {
		m.stages.WithLabelValues(stage).Observe(took.Seconds())
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
