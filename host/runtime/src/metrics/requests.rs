//! Requests to API servers.

use std::time::Duration;

use jiff::SignedDuration;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::context::clock::ServerClock;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    verb: &'static str,
    resource: &'static str,
    code: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ClientLabels {
    code: String,
    method: &'static str,
    host: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LatencyLabels {
    verb: &'static str,
    url: String,
}

/// One request and its answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestMetric<'a> {
    /// The verb: GET, WATCH, …
    pub verb: &'static str,
    /// The method of HTTP.
    pub method: &'static str,
    /// The resource, with its subresource.
    pub resource: &'static str,
    /// Host and port of the server.
    pub host: &'a str,
    /// The status; 0 when there was no answer.
    pub code: u16,
    /// Until the headers of the answer.
    pub took: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ServerLabels {
    host: String,
}

#[derive(Debug)]
pub(crate) struct RequestMetrics {
    ahead: Family<ServerLabels, Gauge>,
    control_clock: ServerClock,
    ours: Family<RequestLabels, Counter>,
    clients: Family<ClientLabels, Counter>,
    latency: Family<LatencyLabels, Histogram, fn() -> Histogram>,
}

impl Default for RequestMetrics {
    fn default() -> Self {
        let latency = || Histogram::new(exponential_buckets(0.001, 2.0, 14));
        Self {
            ahead: Family::default(),
            control_clock: ServerClock::default(),
            ours: Family::default(),
            clients: Family::default(),
            latency: Family::new_with_constructor(latency),
        }
    }
}

impl RequestMetrics {
    /// Notes the clock difference of this server's answer.
    pub(crate) fn clock_is_ahead(&self, host: &str, is_control: bool, ahead: SignedDuration) {
        self.ahead.get_or_create(&ServerLabels { host: host.to_owned() }).set(ahead.as_secs());
        if is_control {
            self.control_clock.set_ahead(ahead);
        }
    }

    pub(crate) fn control_clock(&self) -> ServerClock {
        self.control_clock.clone()
    }

    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "machinist_clock_ahead_seconds",
            "How far this host's clock is ahead of an API server's, at least; negative: behind",
            self.ahead.clone(),
        );
        registry.register(
            "machinist_api_requests",
            "Requests to API servers by verb, resource and status; status 0 is no answer",
            self.ours.clone(),
        );
        registry.register(
            "rest_client_requests",
            "Requests to API servers by status, method and host; status <error> is no answer",
            self.clients.clone(),
        );
        registry.register(
            "rest_client_request_latency_seconds",
            "Time to the headers of an answer, by verb and by host with resource, never with a name",
            self.latency.clone(),
        );
    }

    pub(crate) fn answered(&self, request: RequestMetric<'_>) {
        let RequestMetric { verb, method, resource, host, code, took } = request;
        self.ours.get_or_create(&RequestLabels { verb, resource, code }).inc();
        let text = if code == 0 { "<error>".to_owned() } else { code.to_string() };
        self.clients.get_or_create(&ClientLabels { code: text, method, host: host.to_owned() }).inc();
        let labels = LatencyLabels { verb, url: format!("https://{host}/{resource}") };
        self.latency.get_or_create(&labels).observe(took.as_secs_f64());
    }
}
