// Package promhttp replaces the round trippers of Prometheus's client library.
package promhttp

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
)

// RoundTripperFunc is a function that is a round tripper.
type RoundTripperFunc func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (of RoundTripperFunc) RoundTrip(request *http.Request) (*http.Response, error) {
	return of(request)
}

// InstrumentRoundTripperInFlight returns the round tripper unchanged.
func InstrumentRoundTripperInFlight(_ prometheus.Gauge, next http.RoundTripper) RoundTripperFunc {
	return next.RoundTrip
}

// InstrumentRoundTripperDuration returns the round tripper unchanged.
func InstrumentRoundTripperDuration(_ *prometheus.HistogramVec, next http.RoundTripper) RoundTripperFunc {
	return next.RoundTrip
}
