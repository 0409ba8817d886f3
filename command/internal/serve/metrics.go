package serve

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// metrics are the values that Prometheus reads. The labels are names of models, versions, statuses and
// results, so that the number of their values is bounded.
type metrics struct {
	registry   *prometheus.Registry     // all metrics
	requests   *prometheus.CounterVec   // requests, by model and status
	seconds    *prometheus.HistogramVec // times of requests, by model
	waited     *prometheus.HistogramVec // times in the queue, by model
	batched    *prometheus.HistogramVec // rows of batches, by model
	rows       *prometheus.CounterVec   // predicted rows, by model
	unusual    *prometheus.CounterVec   // rows with large latent standard deviations, by model
	reloads    *prometheus.CounterVec   // reloads of files, by model and result
	info       *prometheus.GaugeVec     // 1 for the version that answers, by model and version
	labels     *prometheus.CounterVec   // labels that came back, by model
	coverage   *prometheus.GaugeVec     // share of the last labels inside their intervals, by model
	limit      *prometheus.GaugeVec     // half of the next interval in standard deviations, by model
	width      *prometheus.GaugeVec     // mean width of the intervals of the last request, by model
	psi        *prometheus.GaugeVec     // population stability index, by model and input
	output     *prometheus.GaugeVec     // population stability index, by model and target
	unfamiliar *prometheus.GaugeVec     // population stability index of the field Unfamiliar, by model
}

// newMetrics returns metrics without values.
func newMetrics() *metrics {
	fast := []float64{1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 1, 3, 10}
	m := &metrics{
		registry:   prometheus.NewRegistry(),
		requests:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "valla_requests_total", Help: "Requests for predictions, by HTTP status."}, []string{"model", "status"}),
		seconds:    prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "valla_request_seconds", Help: "Time of a request for predictions.", Buckets: fast}, []string{"model"}),
		waited:     prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "valla_queue_seconds", Help: "Time that the first request of a batch waited.", Buckets: fast}, []string{"model"}),
		batched:    prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "valla_batch_rows", Help: "Rows that were computed together.", Buckets: prometheus.ExponentialBuckets(1, 4, 8)}, []string{"model"}),
		rows:       prometheus.NewCounterVec(prometheus.CounterOpts{Name: "valla_rows_total", Help: "Rows predicted."}, []string{"model"}),
		unusual:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "valla_unusual_rows_total", Help: "Rows with a larger latent standard deviation than 99 % of the training rows."}, []string{"model"}),
		reloads:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "valla_reloads_total", Help: "Files that were loaded again, by result."}, []string{"model", "result"}),
		info:       prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "valla_model_info", Help: "1 for the version that answers."}, []string{"model", "version"}),
		labels:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: "valla_outcomes_total", Help: "Labels that came back."}, []string{"model"}),
		coverage:   prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "valla_interval_coverage", Help: "Share of the last 500 labels inside their intervals, which adapt."}, []string{"model"}),
		limit:      prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "valla_interval_limit", Help: "Half of the next interval, in standard deviations."}, []string{"model"}),
		width:      prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "valla_interval_width", Help: "Mean width of the intervals of the last request, in the units of the target."}, []string{"model"}),
		psi:        prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "valla_input_psi", Help: "Population stability index of an input against the training; 0.25 is a large change."}, []string{"model", "input"}),
		output:     prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "valla_output_psi", Help: "Population stability index of the predictions against the first 1,000 since the start; 0.25 is a large change."}, []string{"model", "target"}),
		unfamiliar: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "valla_unfamiliar_psi", Help: "Population stability index of the epistemic variances against the training; 0.25 is a large change."}, []string{"model"}),
	}
	m.registry.MustRegister(m.labels, m.coverage, m.limit, m.width, m.psi, m.output, m.unfamiliar, m.requests, m.seconds, m.waited, m.batched, m.rows, m.unusual, m.reloads, m.info,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// forget forgets what the metrics say about the version of a model that answered.
func (m *metrics) forget(model string) {
	for _, of := range []*prometheus.GaugeVec{m.info, m.psi, m.output, m.unfamiliar, m.coverage, m.limit, m.width} {
		of.DeletePartialMatch(prometheus.Labels{"model": model})
	}
}

// outcome counts new outcomes of a model and takes over their state.
func (m *metrics) outcome(model string, s state, added int) {
	m.labels.WithLabelValues(model).Add(float64(added))
	m.limit.WithLabelValues(model).Set(s.Limit)
	if s.Coverage != nil {
		m.coverage.WithLabelValues(model).Set(*s.Coverage)
	}
}

// queue adds the length of the queue of the model h.
func (m *metrics) queue(h *hosted) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "valla_queue_requests", Help: "Requests that wait or are computed.", ConstLabels: prometheus.Labels{"model": h.name},
	}, func() float64 { return float64(len(h.room)) }))
}

// batch returns the function to which the queue of a model reports its batches.
func (m *metrics) batch(model string) func(rows int, waited time.Duration) {
	seconds, size := m.waited.WithLabelValues(model), m.batched.WithLabelValues(model)
	return func(rows int, waited time.Duration) {
		seconds.Observe(waited.Seconds())
		size.Observe(float64(rows))
	}
}

// request counts a request to a model with the status and the time of its answer.
func (m *metrics) request(model string, status int, took time.Duration) {
	m.requests.WithLabelValues(model, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(model).Observe(took.Seconds())
}
