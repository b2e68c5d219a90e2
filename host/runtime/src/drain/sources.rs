//! What all drains of a tenant share: copies of budgets and attachments, and what was learnt of volumes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use jiff::Timestamp;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::storage::v1::VolumeAttachment;
use machinist_core::drain::DrainMemory;
use machinist_core::value::id::ObjectKey;
use tokio::sync::mpsc;

use crate::cache::{Change, Store, StoreReader};
use crate::event_loop::Message;

use super::blocked::Held;
use super::budgets;
use super::in_process::Unkept;
use super::pressure::Pressure;
use super::turn::Line;
use super::volumes::VolumeMemo;

/// The reading side.
pub(crate) struct Sources {
    /// PodDisruptionBudgets of the target cluster.
    pub(super) budgets: StoreReader<PodDisruptionBudget>,
    pub(super) budget_places: budgets::Places,
    pub(super) attachments: Attachments,
    pub(super) volumes: VolumeMemo,
    pub(super) held: Held,
    pub(super) pressure: Pressure,
    pub(super) line: Arc<Line>,
    unkept: Unkept,
}

impl Sources {
    /// What a drain of this Machine has to remember, where its status has not kept it.
    pub(crate) fn unkept(&self, machine: &ObjectKey) -> DrainMemory {
        self.unkept.of(machine)
    }

    /// A drain of this Machine has to remember this.
    pub(crate) fn remember(&self, machine: &ObjectKey, memory: &DrainMemory) {
        self.unkept.keep(machine, memory);
    }

    /// A pass of the Machine had nothing to ask for a drain: it stands in no line any more.
    pub(crate) fn leave(&self, machine: &ObjectKey) {
        self.line.leave(machine);
    }

    /// The Machine is gone.
    pub(crate) fn forget(&self, machine: &ObjectKey) {
        self.unkept.forget(machine);
        self.line.leave(machine);
    }
}

/// The writing side; belongs to the feeds.
#[derive(Default)]
pub(crate) struct SourcesFeed {
    pub(crate) budgets: Store<PodDisruptionBudget>,
    pub(crate) budget_places: budgets::Places,
    pub(crate) attachments: Store<VolumeAttachment>,
    pub(crate) held: Held,
    places: Arc<RwLock<Places>>,
}

impl SourcesFeed {
    /// The reading side. `engine` hears whose turn it is.
    pub(crate) fn reader(&self, engine: mpsc::UnboundedSender<Message>) -> Arc<Sources> {
        Arc::new(Sources {
            budgets: self.budgets.reader(),
            budget_places: self.budget_places.clone(),
            attachments: Attachments {
                objects: self.attachments.reader(),
                places: self.places.clone(),
                missed_since: Mutex::default(),
            },
            volumes: VolumeMemo::default(),
            held: self.held.clone(),
            pressure: Pressure::default(),
            line: Line::new(engine),
            unkept: Unkept::default(),
        })
    }

    /// What keeps the places of attachments up to date. To be told of each change after the store has it.
    pub(crate) fn indexer(&self) -> impl Fn(&Change<VolumeAttachment>) + Send + Sync + 'static {
        let places = self.places.clone();
        move |change| {
            let mut places = places.write().unwrap_or_else(PoisonError::into_inner);
            if let Some(old) = &change.old {
                places.leave(&change.key, old);
            }
            if let Some(new) = &change.new {
                places.enter(&change.key, new);
            }
        }
    }
}

/// Attachments by where they are and by what is attached.
pub(super) struct Attachments {
    objects: StoreReader<VolumeAttachment>,
    places: Arc<RwLock<Places>>,
    /// When a pass first found them not listed.
    missed_since: Mutex<Option<Timestamp>>,
}

#[derive(Default)]
struct Places {
    by_node: BTreeMap<String, BTreeSet<ObjectKey>>,
    by_volume: BTreeMap<String, BTreeSet<ObjectKey>>,
}

impl Attachments {
    pub(super) fn is_synced(&self) -> bool {
        self.objects.is_synced()
    }

    /// Since when passes do without the list. To be asked while it is not there.
    pub(super) fn missed_since(&self, now: Timestamp) -> Timestamp {
        *self.missed_since.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(now)
    }

    /// Those of a Node.
    pub(super) fn of_node(&self, node: &str) -> Vec<Arc<VolumeAttachment>> {
        self.chosen(|places| places.by_node.get(node))
    }

    /// Those of a PersistentVolume.
    pub(super) fn of_volume(&self, volume: &str) -> Vec<Arc<VolumeAttachment>> {
        self.chosen(|places| places.by_volume.get(volume))
    }

    fn chosen(&self, choose: impl Fn(&Places) -> Option<&BTreeSet<ObjectKey>>) -> Vec<Arc<VolumeAttachment>> {
        let keys = choose(&self.places.read().unwrap_or_else(PoisonError::into_inner)).cloned();
        keys.into_iter().flatten().filter_map(|key| self.objects.get(&key)).collect()
    }
}

impl Places {
    fn enter(&mut self, key: &ObjectKey, attachment: &VolumeAttachment) {
        self.by_node.entry(attachment.spec.node_name.clone()).or_default().insert(key.clone());
        if let Some(volume) = volume_of(attachment) {
            self.by_volume.entry(volume.to_owned()).or_default().insert(key.clone());
        }
    }

    fn leave(&mut self, key: &ObjectKey, attachment: &VolumeAttachment) {
        leave(&mut self.by_node, &attachment.spec.node_name, key);
        if let Some(volume) = volume_of(attachment) {
            leave(&mut self.by_volume, volume, key);
        }
    }
}

/// `None` for a volume that is described inline.
pub(super) fn volume_of(attachment: &VolumeAttachment) -> Option<&str> {
    attachment.spec.source.persistent_volume_name.as_deref().filter(|name| !name.is_empty())
}

fn leave(map: &mut BTreeMap<String, BTreeSet<ObjectKey>>, from: &str, key: &ObjectKey) {
    if let Some(keys) = map.get_mut(from) {
        keys.remove(key);
        if keys.is_empty() {
            map.remove(from);
        }
    }
}

/// Takes away what no drain reads.
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

/// Takes away what no drain reads.
pub(crate) fn trim_budget(budget: &mut PodDisruptionBudget) {
    budget.metadata.annotations = None;
    budget.metadata.labels = None;
    budget.metadata.owner_references = None;
    if let Some(status) = &mut budget.status {
        status.conditions = None;
    }
}
