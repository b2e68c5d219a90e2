//! Metrics of egress. Labels are plugin names and closed sets.

use std::borrow::Cow;
use std::time::Duration;

use machinist_core::value::id::PluginName;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::failure::{Failure, Reason};
use crate::metrics::{Series, metrics};

/// The outcome of a request that was answered with success.
pub(super) const SUCCESS: &str = "2xx";

/// From a pooled request inside one zone to a cloud that thinks for half a minute.
const DURATION_SECONDS: [f64; 10] = [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0];

metrics! {
    /// The metrics of all sessions. A clone is the same metrics.
    EgressMetrics {
        requests: Series<Counter, 2> = Series::new(["plugin", "outcome"], Counter::default),
            "machinist_plugin_http_requests",
            "HTTP requests of plugins, by how they ended";
        refused: Series<Counter, 2> = Series::new(["plugin", "reason"], Counter::default),
            "machinist_plugin_http_refused",
            "HTTP requests of plugins that the host did not send";
        body_failures: Series<Counter, 2> = Series::new(["plugin", "reason"], Counter::default),
            "machinist_plugin_http_body_failures",
            "Bodies of answers that ended early";
        bytes: Series<Counter, 2> = Series::new(["plugin", "direction"], Counter::default),
            "machinist_plugin_http_bytes",
            "Bytes of bodies sent and received for plugins";
        duration: Series<Histogram, 1> = Series::new(["plugin"], duration),
            "machinist_plugin_http_duration_seconds",
            "Time from a request to its answer's headers";
        connections: Series<Gauge, 1> = Series::new(["plugin"], Gauge::default),
            "machinist_plugin_http_connections",
            "Open connections of plugins";
        reveals: Series<Counter, 1> = Series::new(["plugin"], Counter::default),
            "machinist_plugin_secret_reveals",
            "Secret values that plugins were shown";
        secret_refusals: Series<Counter, 1> = Series::new(["plugin"], Counter::default),
            "machinist_plugin_secret_refusals",
            "Times that plugins asked for a value, a comparison or a placeholder of a secret that they do not get";
        throttles: Series<Counter, 2> = Series::new(["plugin", "cause"], Counter::default),
            "machinist_egress_throttles",
            "Answers by which a cloud asked for fewer requests, by what said so";
        turns: Series<Counter, 2> = Series::new(["plugin", "outcome"], Counter::default),
            "machinist_egress_turns",
            "HTTP requests that could not be sent at once since their account was throttled, by how they went on";
        wait: Series<Histogram, 1> = Series::new(["plugin"], duration),
            "machinist_egress_wait_seconds",
            "Time that HTTP requests waited for the turn of their account";
        session_keys: Series<Counter, 2> = Series::new(["plugin", "from"], Counter::default),
            "machinist_egress_session_keys",
            "Requests that were to be signed with a session's keys, by where the keys came from";
        cloud_requests: Series<Counter, 2> = Series::new(["provider", "service"], Counter::default),
            "mcm_cloud_api_requests",
            "HTTP requests of plugins to clouds";
        cloud_failures: Series<Counter, 2> = Series::new(["provider", "service"], Counter::default),
            "mcm_cloud_api_requests_failed",
            "HTTP requests of plugins to clouds that were not answered with success";
        cloud_duration: Series<Histogram, 2> = Series::new(["provider", "service"], duration),
            "mcm_cloud_api_api_request_duration_seconds",
            "Time from a request to its answer's headers";
    }
}

fn duration() -> Histogram {
    Histogram::new(DURATION_SECONDS)
}

/// Where a session's keys came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeysFrom {
    Cache,
    /// The credential service gave them.
    Service,
    Nowhere,
}

/// How a request that had to wait for its turn went on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// It got its turn.
    Waited(Duration),
    /// Its turn would have come too late.
    Late,
    /// Too many waited already.
    Crowded,
}

impl EgressMetrics {
    pub(super) fn of(&self, plugin: &PluginName) -> PluginMetrics {
        PluginMetrics { all: self.clone(), plugin: plugin.to_string() }
    }

    pub(super) fn connections(&self, plugin: &PluginName) -> Gauge {
        self.connections.of([plugin.to_string().into()])
    }

    pub(super) fn open_connections(&self, plugin: &PluginName) -> i64 {
        self.connections(plugin).get()
    }

    pub(super) fn refused(&self, plugin: &PluginName, reason: Reason) -> u64 {
        self.refused.of([plugin.to_string().into(), reason.name().into()]).get()
    }
}

#[derive(Clone)]
pub(crate) struct PluginMetrics {
    all: EgressMetrics,
    plugin: String,
}

impl PluginMetrics {
    fn name(&self) -> Cow<'static, str> {
        self.plugin.clone().into()
    }

    pub(super) fn ended(&self, outcome: &'static str, took: Duration) {
        self.all.requests.of([self.name(), outcome.into()]).inc();
        self.all.duration.of([self.name()]).observe(took.as_secs_f64());
        // The labels of other programs for calls of a cloud. The plugin is the provider; there is one service, since
        // hosts are no closed set.
        let cloud = || [self.name(), "http".into()];
        self.all.cloud_requests.of(cloud()).inc();
        self.all.cloud_duration.of(cloud()).observe(took.as_secs_f64());
        if outcome != SUCCESS {
            self.all.cloud_failures.of(cloud()).inc();
        }
    }

    pub(super) fn refused(&self, reason: Reason) {
        self.all.refused.of([self.name(), reason.name().into()]).inc();
    }

    pub(super) fn body_failed(&self, failure: &Failure) {
        self.all.body_failures.of([self.name(), failure.name().into()]).inc();
    }

    pub(super) fn sent(&self, bytes: usize) {
        self.all.bytes.of([self.name(), "sent".into()]).inc_by(bytes as u64);
    }

    pub(super) fn received(&self, bytes: usize) {
        self.all.bytes.of([self.name(), "received".into()]).inc_by(bytes as u64);
    }

    pub(super) fn revealed(&self, times: u64) {
        if times > 0 {
            self.all.reveals.of([self.name()]).inc_by(times);
        }
    }

    pub(super) fn withheld(&self, times: u64) {
        if times > 0 {
            self.all.secret_refusals.of([self.name()]).inc_by(times);
        }
    }

    /// `cause` is what said so: the status, or a code in the body.
    pub(super) fn throttled(&self, cause: &'static str) {
        self.all.throttles.of([self.name(), cause.into()]).inc();
    }

    pub(super) fn waited(&self, wait: Wait) {
        let outcome = match wait {
            Wait::Waited(time) => {
                self.all.wait.of([self.name()]).observe(time.as_secs_f64());
                "waited"
            }
            Wait::Late => "late",
            Wait::Crowded => "crowded",
        };
        self.all.turns.of([self.name(), outcome.into()]).inc();
    }

    pub(super) fn keys(&self, from: KeysFrom) {
        let from = match from {
            KeysFrom::Cache => "cache",
            KeysFrom::Service => "service",
            KeysFrom::Nowhere => "nowhere",
        };
        self.all.session_keys.of([self.name(), from.into()]).inc();
    }
}
