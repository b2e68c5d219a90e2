// Package prometheus replaces Prometheus's client library, of which the component would otherwise contain all,
// with the libraries for protocol buffers and text formats below it.
//
// Hetzner's library links it for its option WithInstrumentation alone, which the driver does not use: the host counts
// requests. The types are those that this option names. Nothing is counted.
package prometheus

// DefBuckets are the buckets of a histogram.
var DefBuckets []float64

// Collector is a metric.
type Collector any

// Registerer collects metrics.
type Registerer interface {
	Register(collector Collector) error
}

// AlreadyRegisteredError is the error for a metric that is registered twice.
type AlreadyRegisteredError struct{ ExistingCollector Collector }

// Error implements error.
func (AlreadyRegisteredError) Error() string { return "the metric is registered already" }

// GaugeOpts, CounterOpts and HistogramOpts describe metrics.
type (
	GaugeOpts   struct{ Name, Help string }
	CounterOpts struct{ Name, Help string }
	// HistogramOpts has buckets in addition.
	HistogramOpts struct {
		Name, Help string
		Buckets    []float64
	}
)

// Gauge, CounterVec and HistogramVec are metrics that count nothing.
type (
	Gauge        struct{}
	CounterVec   struct{}
	HistogramVec struct{}
	// Counter is one of a CounterVec.
	Counter struct{}
)

// NewGauge returns a gauge.
func NewGauge(GaugeOpts) Gauge { return Gauge{} }

// NewCounterVec returns counters.
func NewCounterVec(CounterOpts, []string) *CounterVec { return &CounterVec{} }

// NewHistogramVec returns histograms.
func NewHistogramVec(HistogramOpts, []string) *HistogramVec { return &HistogramVec{} }

// WithLabelValues returns a counter.
func (*CounterVec) WithLabelValues(...string) Counter { return Counter{} }

// Inc counts nothing.
func (Counter) Inc() {}
