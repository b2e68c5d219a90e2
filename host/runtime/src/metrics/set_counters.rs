//! What sets did to Machines that is counted.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WhyLabels {
    reason: &'static str,
}

/// The counters.
#[derive(Default)]
pub(super) struct SetCounters {
    stale: Counter,
    freezes: Family<WhyLabels, Counter>,
    thaws: Counter,
}

impl SetCounters {
    pub(super) fn register(&self, registry: &mut Registry) {
        let help = "Machines that their health has failed and that their sets have deleted";
        registry.register("mcm_machine_stale_machines", help, self.stale.clone());
        let help = "MachineSets that were frozen, by the reason of their condition Frozen";
        registry.register("machinist_set_freezes", help, self.freezes.clone());
        registry.register("machinist_set_thaws", "MachineSets whose freeze has ended", self.thaws.clone());
    }

    pub(super) fn deleted_stale(&self) {
        self.stale.inc();
    }

    pub(super) fn froze(&self, reason: &'static str) {
        self.freezes.get_or_create(&WhyLabels { reason }).inc();
    }

    pub(super) fn thawed(&self) {
        self.thaws.inc();
    }
}
