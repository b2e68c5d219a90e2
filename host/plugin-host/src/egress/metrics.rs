//! Metrics of egress. Labels are plugin names and closed sets.

use std::time::Duration;

use machinist_core::value::id::PluginName;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::failure::{Failure, Reason};

/// The outcome of a request that was answered with success.
pub(super) const SUCCESS: &str = "2xx";

/// From a pooled request inside one zone to a cloud that thinks for half a minute.
const DURATION_SECONDS: [f64; 10] = [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct PluginLabel {
    plugin: String,
}

/// The labels of other programs for calls of a cloud. The plugin is the provider; there is one service, since hosts are
/// no closed set.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct CloudLabels {
    provider: String,
    service: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OutcomeLabels {
    plugin: String,
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ReasonLabels {
    plugin: String,
    reason: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct CauseLabels {
    plugin: String,
    cause: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct FromLabels {
    plugin: String,
    from: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct DirectionLabels {
    plugin: String,
    direction: &'static str,
}

/// The metrics of all sessions. A clone is the same metrics.
#[derive(Clone)]
pub(crate) struct EgressMetrics {
    requests: Family<OutcomeLabels, Counter>,
    refused: Family<ReasonLabels, Counter>,
    body_failures: Family<ReasonLabels, Counter>,
    bytes: Family<DirectionLabels, Counter>,
    duration: Family<PluginLabel, Histogram, fn() -> Histogram>,
    connections: Family<PluginLabel, Gauge>,
    reveals: Family<PluginLabel, Counter>,
    secret_refusals: Family<PluginLabel, Counter>,
    throttles: Family<CauseLabels, Counter>,
    turns: Family<OutcomeLabels, Counter>,
    wait: Family<PluginLabel, Histogram, fn() -> Histogram>,
    session_keys: Family<FromLabels, Counter>,
    cloud_requests: Family<CloudLabels, Counter>,
    cloud_failures: Family<CloudLabels, Counter>,
    cloud_duration: Family<CloudLabels, Histogram, fn() -> Histogram>,
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

impl Default for EgressMetrics {
    fn default() -> Self {
        Self {
            requests: Family::default(),
            refused: Family::default(),
            body_failures: Family::default(),
            bytes: Family::default(),
            duration: Family::new_with_constructor(|| Histogram::new(DURATION_SECONDS)),
            connections: Family::default(),
            reveals: Family::default(),
            secret_refusals: Family::default(),
            throttles: Family::default(),
            turns: Family::default(),
            wait: Family::new_with_constructor(|| Histogram::new(DURATION_SECONDS)),
            session_keys: Family::default(),
            cloud_requests: Family::default(),
            cloud_failures: Family::default(),
            cloud_duration: Family::new_with_constructor(|| Histogram::new(DURATION_SECONDS)),
        }
    }
}

impl EgressMetrics {
    /// With one series of each, which shows its labels.
    pub(super) fn with_examples() -> Self {
        let all = Self::default();
        let (plugin, empty) = (String::new, "");
        drop(all.requests.get_or_create(&OutcomeLabels { plugin: plugin(), outcome: empty }));
        drop(all.refused.get_or_create(&ReasonLabels { plugin: plugin(), reason: empty }));
        drop(all.body_failures.get_or_create(&ReasonLabels { plugin: plugin(), reason: empty }));
        drop(all.bytes.get_or_create(&DirectionLabels { plugin: plugin(), direction: empty }));
        drop(all.duration.get_or_create(&PluginLabel { plugin: plugin() }));
        drop(all.connections.get_or_create(&PluginLabel { plugin: plugin() }));
        drop(all.reveals.get_or_create(&PluginLabel { plugin: plugin() }));
        drop(all.secret_refusals.get_or_create(&PluginLabel { plugin: plugin() }));
        drop(all.throttles.get_or_create(&CauseLabels { plugin: plugin(), cause: empty }));
        drop(all.turns.get_or_create(&OutcomeLabels { plugin: plugin(), outcome: empty }));
        drop(all.wait.get_or_create(&PluginLabel { plugin: plugin() }));
        let cloud = CloudLabels { provider: plugin(), service: empty };
        drop(all.cloud_requests.get_or_create(&cloud));
        drop(all.cloud_failures.get_or_create(&cloud));
        drop(all.cloud_duration.get_or_create(&cloud));
        drop(all.session_keys.get_or_create(&FromLabels { plugin: plugin(), from: empty }));
        all
    }

    pub(super) fn register(&self, registry: &mut Registry) {
        self.register_egress(registry.sub_registry_with_prefix("machinist_egress"));
        self.register_known(registry.sub_registry_with_prefix("mcm_cloud_api"));
        let registry = registry.sub_registry_with_prefix("machinist_plugin");
        registry.register(
            "http_requests",
            "HTTP requests of plugins, by how they ended",
            self.requests.clone(),
        );
        registry.register(
            "http_refused",
            "HTTP requests of plugins that the host did not send",
            self.refused.clone(),
        );
        registry.register(
            "http_body_failures",
            "Bodies of answers that ended early",
            self.body_failures.clone(),
        );
        registry.register("http_bytes", "Bytes of bodies sent and received for plugins", self.bytes.clone());
        registry.register(
            "http_duration_seconds",
            "Time from a request to its answer's headers",
            self.duration.clone(),
        );
        registry.register("http_connections", "Open connections of plugins", self.connections.clone());
        registry.register("secret_reveals", "Secret values that plugins were shown", self.reveals.clone());
        registry.register(
            "secret_refusals",
            "Times that plugins asked for a value, a comparison or a placeholder of a secret that they do not get",
            self.secret_refusals.clone(),
        );
    }

    fn register_known(&self, registry: &mut Registry) {
        registry.register("requests", "HTTP requests of plugins to clouds", self.cloud_requests.clone());
        registry.register(
            "requests_failed",
            "HTTP requests of plugins to clouds that were not answered with success",
            self.cloud_failures.clone(),
        );
        registry.register(
            "api_request_duration_seconds",
            "Time from a request to its answer's headers",
            self.cloud_duration.clone(),
        );
    }

    fn register_egress(&self, registry: &mut Registry) {
        registry.register(
            "throttles",
            "Answers by which a cloud asked for fewer requests, by what said so",
            self.throttles.clone(),
        );
        registry.register(
            "turns",
            "HTTP requests that could not be sent at once since their account was throttled, by how they went on",
            self.turns.clone(),
        );
        registry.register(
            "wait_seconds",
            "Time that HTTP requests waited for the turn of their account",
            self.wait.clone(),
        );
        registry.register(
            "session_keys",
            "Requests that were to be signed with a session's keys, by where the keys came from",
            self.session_keys.clone(),
        );
    }

    pub(super) fn of(&self, plugin: &PluginName) -> PluginMetrics {
        PluginMetrics { all: self.clone(), plugin: plugin.to_string() }
    }

    pub(super) fn connections(&self, plugin: &PluginName) -> Gauge {
        self.connections.get_or_create(&PluginLabel { plugin: plugin.to_string() }).clone()
    }

    pub(super) fn open_connections(&self, plugin: &PluginName) -> i64 {
        self.connections(plugin).get()
    }

    pub(super) fn refused(&self, plugin: &PluginName, reason: Reason) -> u64 {
        self.refused.get_or_create(&ReasonLabels { plugin: plugin.to_string(), reason: reason.name() }).get()
    }
}

/// The metrics of one plugin.
#[derive(Clone)]
pub(crate) struct PluginMetrics {
    all: EgressMetrics,
    plugin: String,
}

impl PluginMetrics {
    pub(super) fn ended(&self, outcome: &'static str, took: Duration) {
        self.all.requests.get_or_create(&OutcomeLabels { plugin: self.plugin.clone(), outcome }).inc();
        self.all
            .duration
            .get_or_create(&PluginLabel { plugin: self.plugin.clone() })
            .observe(took.as_secs_f64());
        let cloud = CloudLabels { provider: self.plugin.clone(), service: "http" };
        self.all.cloud_requests.get_or_create(&cloud).inc();
        self.all.cloud_duration.get_or_create(&cloud).observe(took.as_secs_f64());
        if outcome != SUCCESS {
            self.all.cloud_failures.get_or_create(&cloud).inc();
        }
    }

    pub(super) fn refused(&self, reason: Reason) {
        let labels = ReasonLabels { plugin: self.plugin.clone(), reason: reason.name() };
        self.all.refused.get_or_create(&labels).inc();
    }

    pub(super) fn body_failed(&self, failure: &Failure) {
        let labels = ReasonLabels { plugin: self.plugin.clone(), reason: failure.name() };
        self.all.body_failures.get_or_create(&labels).inc();
    }

    pub(super) fn sent(&self, bytes: usize) {
        self.count_bytes("sent", bytes);
    }

    pub(super) fn received(&self, bytes: usize) {
        self.count_bytes("received", bytes);
    }

    pub(super) fn revealed(&self, times: u64) {
        if times > 0 {
            self.all.reveals.get_or_create(&PluginLabel { plugin: self.plugin.clone() }).inc_by(times);
        }
    }

    pub(super) fn withheld(&self, times: u64) {
        if times > 0 {
            let label = PluginLabel { plugin: self.plugin.clone() };
            self.all.secret_refusals.get_or_create(&label).inc_by(times);
        }
    }

    /// `cause` is what said so: the status, or a code in the body.
    pub(super) fn throttled(&self, cause: &'static str) {
        self.all.throttles.get_or_create(&CauseLabels { plugin: self.plugin.clone(), cause }).inc();
    }

    pub(super) fn waited(&self, wait: Wait) {
        let outcome = match wait {
            Wait::Waited(time) => {
                let label = PluginLabel { plugin: self.plugin.clone() };
                self.all.wait.get_or_create(&label).observe(time.as_secs_f64());
                "waited"
            }
            Wait::Late => "late",
            Wait::Crowded => "crowded",
        };
        self.all.turns.get_or_create(&OutcomeLabels { plugin: self.plugin.clone(), outcome }).inc();
    }

    pub(super) fn keys(&self, from: KeysFrom) {
        let from = match from {
            KeysFrom::Cache => "cache",
            KeysFrom::Service => "service",
            KeysFrom::Nowhere => "nowhere",
        };
        self.all.session_keys.get_or_create(&FromLabels { plugin: self.plugin.clone(), from }).inc();
    }

    fn count_bytes(&self, direction: &'static str, bytes: usize) {
        let labels = DirectionLabels { plugin: self.plugin.clone(), direction };
        self.all.bytes.get_or_create(&labels).inc_by(bytes as u64);
    }
}
