module github.com/machinist-dev/machinist/plugins/hcloud

go 1.25.0

require (
	github.com/hetznercloud/hcloud-go/v2 v2.50.0
	github.com/machinist-dev/machinist/sdk/go v0.0.0
)

require (
	github.com/prometheus/client_golang v1.24.1 // indirect
	golang.org/x/net v0.58.0 // indirect
	golang.org/x/text v0.41.0 // indirect
)

replace github.com/machinist-dev/machinist/sdk/go => ../../sdk/go

// Hetzner's library links Prometheus's client for metrics that the driver does not use: more than the library itself.
replace github.com/prometheus/client_golang => ./internal/metrics
