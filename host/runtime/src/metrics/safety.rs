//! What the watch over the Machines counts.

use std::sync::atomic::AtomicI64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// How a listing of a class ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ListingEnd {
    /// Complete and believed.
    Trusted,
    /// Complete and not believed.
    Distrusted,
    /// Not complete.
    Failed,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ListingLabels {
    result: &'static str,
}

/// VMs without Machines, Nodes without Machines. Whether everything is held is read from the gate itself.
#[derive(Debug, Default)]
pub(crate) struct SafetyMetrics {
    listings: Family<ListingLabels, Counter>,
    orphans: Gauge<i64, AtomicI64>,
    seconds: Gauge<i64, AtomicI64>,
    foreign: Gauge<i64, AtomicI64>,
    found: Counter,
    deleted: Counter,
    failures: Counter,
    marked_nodes: Counter,
    released_nodes: Counter,
}

impl SafetyMetrics {
    /// Puts all of them into a registry.
    pub(crate) fn register(&self, all: &mut Registry) {
        let listings = "Listings of classes in search of VMs without a Machine";
        all.register("machinist_orphan_vm_listings", listings, self.listings.clone());
        let orphans = "VMs without a Machine that are watched";
        all.register("machinist_orphan_vms", orphans, self.orphans.clone());
        let seconds = "VMs of Machines that have another one";
        all.register("machinist_second_vms", seconds, self.seconds.clone());
        let foreign = "VMs without a Machine that carry no Machine's uid: they are told and never deleted";
        all.register("machinist_foreign_vms", foreign, self.foreign.clone());
        let found = "VMs that were seen without a Machine for the first time";
        all.register("machinist_orphan_vm_sightings", found, self.found.clone());
        all.register("machinist_orphan_vms_deleted", "VMs without a Machine deleted", self.deleted.clone());
        let failures = "Orders to delete a VM without a Machine that failed";
        all.register("machinist_orphan_vm_deletion_failures", failures, self.failures.clone());
        let marked = "Nodes marked since no Machine answers for them";
        all.register("machinist_unmanaged_nodes_marked", marked, self.marked_nodes.clone());
        let released = "Nodes without a Machine whose finalizer was taken off since they are being deleted";
        all.register("machinist_unmanaged_nodes_released", released, self.released_nodes.clone());
    }

    pub(crate) fn listing(&self, end: ListingEnd) {
        let result = match end {
            ListingEnd::Trusted => "trusted",
            ListingEnd::Distrusted => "distrusted",
            ListingEnd::Failed => "failed",
        };
        self.listings.get_or_create(&ListingLabels { result }).inc();
    }

    pub(crate) fn orphans(&self, watched: usize, found: usize) {
        self.orphans.set(i64::try_from(watched).unwrap_or(i64::MAX));
        self.found.inc_by(u64::try_from(found).unwrap_or_default());
    }

    pub(crate) fn second_vms(&self, there: usize) {
        self.seconds.set(i64::try_from(there).unwrap_or(i64::MAX));
    }

    pub(crate) fn foreign_vms(&self, there: usize) {
        self.foreign.set(i64::try_from(there).unwrap_or(i64::MAX));
    }

    pub(crate) fn orphan_deleted(&self) {
        self.deleted.inc();
    }

    pub(crate) fn orphan_deletion_failed(&self) {
        self.failures.inc();
    }

    pub(crate) fn node_marked(&self) {
        self.marked_nodes.inc();
    }

    pub(crate) fn node_released(&self) {
        self.released_nodes.inc();
    }
}
