//! Events that were written and that were lost.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

/// Why an Event was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LostEvent {
    /// Too many were queued.
    Backlog,
    /// The API server does not allow it, or does not take it.
    Refused,
    /// The API server gave no answer, or throttled every attempt.
    QueryError,
}

impl LostEvent {
    /// As the metric and the log call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Backlog => "backlog",
            Self::Refused => "refused",
            Self::QueryError => "unanswered",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LossLabels {
    reason: &'static str,
}

#[derive(Default)]
pub(crate) struct EventMetrics {
    written: Counter,
    lost: Family<LossLabels, Counter>,
}

impl EventMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("machinist_events_written", "Events that were written", self.written.clone());
        registry.register(
            "machinist_events_lost",
            "Events that were not written, by reason",
            self.lost.clone(),
        );
    }

    pub(crate) fn written(&self) {
        self.written.inc();
    }

    pub(crate) fn lost(&self, why: LostEvent) {
        self.lost.get_or_create(&LossLabels { reason: why.name() }).inc();
    }
}
