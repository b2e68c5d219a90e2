//! Data that all drains of a tenant share: copies of budgets and attachments, and known volumes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use jiff::Timestamp;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::storage::v1::VolumeAttachment;
use machinist_core::drain::DrainMemory;
use machinist_core::value::id::ObjectKey;
use tokio::sync::mpsc;

use crate::cache::{Change, Groups, Store, StoreReader};
use crate::message::Message;

use super::blocked::BlockedDrains;
use super::budgets;
use super::limits::{DrainQueue, DrainRequestLimit};
use super::volumes::VolumeCache;

/// The reading side, for drains.
pub(crate) struct DrainCaches {
    /// PodDisruptionBudgets of the target cluster.
    pub(super) budgets: StoreReader<PodDisruptionBudget>,
    pub(super) budget_index: budgets::BudgetIndex,
    pub(super) attachments: Attachments,
    pub(super) volumes: VolumeCache,
    pub(super) blocked: BlockedDrains,
    pub(super) request_limit: DrainRequestLimit,
    pub(super) queue: Arc<DrainQueue>,
    /// The memory of drains, for API servers whose CRDs drop `status.machinist`. A restart loses it, which costs a wait
    /// and no safety.
    in_process: Mutex<BTreeMap<ObjectKey, DrainMemory>>,
}

impl DrainCaches {
    /// The memory of this Machine's drain that its status does not keep.
    pub(crate) fn in_process_memory(&self, machine: &ObjectKey) -> DrainMemory {
        self.in_process().get(machine).cloned().unwrap_or_default()
    }

    /// A drain of this Machine has to remember this.
    pub(crate) fn remember(&self, machine: &ObjectKey, memory: &DrainMemory) {
        if memory.volumes.is_empty() {
            self.in_process().remove(machine);
        } else {
            self.in_process().insert(machine.clone(), memory.clone());
        }
    }

    /// Removes the Machine from the queue of drains: its reconcile had nothing to do for a drain.
    pub(crate) fn leave_queue(&self, machine: &ObjectKey) {
        self.queue.leave(machine);
    }

    /// The Machine is gone.
    pub(crate) fn forget(&self, machine: &ObjectKey) {
        self.in_process().remove(machine);
        self.queue.leave(machine);
    }

    fn in_process(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, DrainMemory>> {
        self.in_process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The writing side; belongs to the feeds.
#[derive(Default)]
pub(crate) struct DrainCachesFeed {
    pub(crate) budgets: Store<PodDisruptionBudget>,
    pub(crate) budget_index: budgets::BudgetIndex,
    pub(crate) attachments: Store<VolumeAttachment>,
    pub(crate) blocked: BlockedDrains,
    index: Arc<RwLock<AttachmentIndex>>,
}

impl DrainCachesFeed {
    /// Returns the reading side. `engine` gets a message for each free drain slot.
    pub(crate) fn reader(&self, engine: mpsc::UnboundedSender<Message>) -> Arc<DrainCaches> {
        Arc::new(DrainCaches {
            budgets: self.budgets.reader(),
            budget_index: self.budget_index.clone(),
            attachments: Attachments {
                objects: self.attachments.reader(),
                index: self.index.clone(),
                missed_since: Mutex::default(),
            },
            volumes: VolumeCache::default(),
            blocked: self.blocked.clone(),
            request_limit: DrainRequestLimit::default(),
            queue: DrainQueue::new(engine),
            in_process: Mutex::default(),
        })
    }

    /// Returns the function that updates the index of attachments. To be called for each change after the store has it.
    pub(crate) fn indexer(&self) -> impl Fn(&Change<VolumeAttachment>) + Send + Sync + 'static {
        let index = self.index.clone();
        move |change| index.write().unwrap_or_else(PoisonError::into_inner).change(change)
    }
}

/// Attachments by Node and by volume.
pub(super) struct Attachments {
    objects: StoreReader<VolumeAttachment>,
    index: Arc<RwLock<AttachmentIndex>>,
    /// When a reconcile first found them not listed.
    missed_since: Mutex<Option<Timestamp>>,
}

#[derive(Default)]
struct AttachmentIndex {
    by_node: Groups<String, ObjectKey>,
    by_volume: Groups<String, ObjectKey>,
}

impl Attachments {
    pub(super) fn is_synced(&self) -> bool {
        self.objects.is_synced()
    }

    /// Returns since when reconciles lack the list. To be called while it is missing.
    pub(super) fn missed_since(&self, now: Timestamp) -> Timestamp {
        *self.missed_since.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(now)
    }

    /// Those of a Node.
    pub(super) fn of_node(&self, node: &str) -> Vec<Arc<VolumeAttachment>> {
        self.selected(|index| index.by_node.of(node))
    }

    /// Those of a PersistentVolume.
    pub(super) fn of_volume(&self, volume: &str) -> Vec<Arc<VolumeAttachment>> {
        self.selected(|index| index.by_volume.of(volume))
    }

    fn selected(&self, choose: impl Fn(&AttachmentIndex) -> Vec<ObjectKey>) -> Vec<Arc<VolumeAttachment>> {
        let keys = choose(&self.index.read().unwrap_or_else(PoisonError::into_inner));
        keys.into_iter().filter_map(|key| self.objects.get(&key)).collect()
    }
}

impl AttachmentIndex {
    fn change(&mut self, change: &Change<VolumeAttachment>) {
        let (old, new) = (change.old.as_deref(), change.new.as_deref());
        let node = |attachment: &VolumeAttachment| attachment.spec.node_name.clone();
        let volume = |attachment| volume_of(attachment).map(str::to_owned);
        self.by_node.change(&change.key, old.map(node), new.map(node));
        self.by_volume.change(&change.key, old.and_then(volume), new.and_then(volume));
    }
}

/// `None` for a volume that is described inline.
pub(super) fn volume_of(attachment: &VolumeAttachment) -> Option<&str> {
    attachment.spec.source.persistent_volume_name.as_deref().filter(|name| !name.is_empty())
}

/// Removes the fields that no drain reads.
pub(crate) fn trim_attachment(attachment: &mut VolumeAttachment) {
    attachment.metadata.annotations = None;
    attachment.metadata.labels = None;
    attachment.metadata.finalizers = None;
    attachment.spec.source.inline_volume_spec = None;
    if let Some(status) = &mut attachment.status {
        status.attach_error = None;
        status.detach_error = None;
        status.attachment_metadata = None;
    }
}

/// Removes the fields that no drain reads.
pub(crate) fn trim_budget(budget: &mut PodDisruptionBudget) {
    budget.metadata.annotations = None;
    budget.metadata.labels = None;
    budget.metadata.owner_references = None;
    if let Some(status) = &mut budget.status {
        status.conditions = None;
    }
}
