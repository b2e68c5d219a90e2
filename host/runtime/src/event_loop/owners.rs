//! Requeues sets and deployments: by owner references, selectors and classes.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Node;
use kube::Resource;
use kube::core::ObjectMeta;
use machinist_api::{Machine, MachineDeployment, MachineSet, MachineSpec, names};
use machinist_core::disruption::requests::Permits;
use machinist_core::scheduling::queue::Priority;
use machinist_core::value::id::{ObjectKey, Uid};

use crate::cache::{Change, Groups, fields};
use crate::client::field_manager::DISRUPTION;
use crate::controllers::facts::machine_deployment::OwnerTree;
use crate::controllers::facts::machine_set::Members;
use crate::controllers::objects::metadata::controller;
use crate::controllers::objects::selection::selects;
use crate::driver_calls::capacity::names_as_alternative;

use super::{Engine, Key, Kind};

/// A thousand Machines that join one after the other are counted together, so that their set writes its status a few
/// times a second and not a thousand times.
const GATHER_TIME: SignedDuration = SignedDuration::from_millis(150);

/// The additional time for each set and deployment that waits as well: hundreds together write as often as one may
/// alone.
const GATHER_FOR_EACH: SignedDuration = SignedDuration::from_millis(5);

/// Never more than this, since replacements wait for it.
const GATHER_AT_MOST: SignedDuration = SignedDuration::from_secs(2);

/// How long changes are gathered while so many owners wait for theirs.
fn gathering(waiting: usize) -> SignedDuration {
    let each = i32::try_from(waiting).unwrap_or(i32::MAX);
    GATHER_TIME.saturating_add(GATHER_FOR_EACH.saturating_mul(each)).min(GATHER_AT_MOST)
}

/// Annotations of Machines that their owners act on.
const READ_BY_OWNERS: [&str; 5] = [
    names::annotations::PRIORITY,
    names::annotations::MARKED_FOR_DELETION_TIME,
    names::annotations::PRESERVE,
    names::annotations::LAST_APPLIED_NODE_PRESERVE,
    names::annotations::ORDINAL,
];

/// Controllers of objects, by uid. Follows the caches.
#[derive(Debug, Default)]
pub(super) struct Owners {
    /// Machines by the uid of their controller; `None`: nobody controls them.
    machines: Groups<Option<Uid>, ObjectKey>,
    /// Sets, in the same way.
    sets: Groups<Option<Uid>, ObjectKey>,
    /// Sets and deployments by their uid.
    by_uid: BTreeMap<Uid, ObjectKey>,
    /// Sets by the class of their template.
    by_class: Groups<ObjectKey, ObjectKey>,
}

/// The uid of the object's controller.
fn controller_of(meta: &ObjectMeta) -> Option<Uid> {
    controller(meta).map(|owner| Uid::new(owner.uid.as_str()))
}

fn uid_of(meta: &ObjectMeta) -> Option<Uid> {
    meta.uid.as_deref().map(Uid::new)
}

impl Engine {
    /// A Machine changed: its set, and the deployment of that, or those that might adopt it.
    pub(super) fn machine_of_owners_changed(
        &mut self,
        key: &ObjectKey,
        old: Option<&Machine>,
        new: Option<&Machine>,
    ) {
        let (before, after) = (old.map(|machine| &machine.metadata), new.map(|machine| &machine.metadata));
        self.owners.machines.change(key, before.map(controller_of), after.map(controller_of));
        if uid(before) != uid(after)
            && let Some(gone) = before.and_then(uid_of)
        {
            self.tenant.unstarted.asked(&gone);
            self.tenant.vms.creates.forget(&gone);
            self.tenant.deleted.forget(&gone);
        }
        if !matters_to_owners(old, new) {
            return;
        }
        let controllers: BTreeSet<Option<Uid>> =
            [before, after].into_iter().flatten().map(controller_of).collect();
        for controller in controllers {
            match controller {
                Some(set) => self.wake_set_and_deployment(&set),
                None => self.wake_sets_that_select(key, new),
            }
        }
    }

    /// Returns whether the changed object cannot be decoded: its owner counts it, and nothing else is done. If it could
    /// not be decoded before, its owners and users are requeued.
    pub(super) fn is_unreadable<T>(&mut self, kind: Kind, change: &Change<T>) -> bool {
        self.index.unknown(kind, change);
        for meta in [&change.unreadable, &change.was_unreadable].into_iter().flatten() {
            let Some(controller) = controller_of(meta) else { continue };
            match kind {
                Kind::Machine => self.wake_set_and_deployment(&controller),
                Kind::Set => self.wake_deployment(&controller),
                _ => {}
            }
        }
        if change.was_unreadable.is_some() {
            match kind {
                Kind::Machine => {
                    for (class, _) in self.tenant.classes.all() {
                        self.wake(Key::Class(class), Priority::Event);
                    }
                }
                Kind::Class => {
                    for (secret, _) in self.tenant.secrets.all() {
                        self.wake(Key::Secret(secret), Priority::Event);
                    }
                }
                _ => {}
            }
        }
        if change.unreadable.is_some() {
            self.seen_change(kind, change);
        }
        change.unreadable.is_some()
    }

    fn wake_set_and_deployment(&mut self, set: &Uid) {
        let Some(key) = self.owners.by_uid.get(set).cloned() else { return };
        let deployment = self.tenant.sets.get(&key).and_then(|set| controller_of(set.meta()));
        self.wake_gathered(Key::Set(key));
        if let Some(deployment) = deployment {
            self.wake_deployment(&deployment);
        }
    }

    fn wake_deployment(&mut self, deployment: &Uid) {
        if let Some(key) = self.owners.by_uid.get(deployment).cloned() {
            self.wake_gathered(Key::Deployment(key));
        }
    }

    fn wake_sets_that_select(&mut self, key: &ObjectKey, machine: Option<&Machine>) {
        let Some(machine) = machine else { return };
        let is_selecting = |(set, object): &(ObjectKey, std::sync::Arc<MachineSet>)| {
            set.namespace == key.namespace && selects(object.spec.selector.as_ref(), machine.meta())
        };
        for (set, _) in self.tenant.sets.all().into_iter().filter(is_selecting) {
            self.wake_gathered(Key::Set(set));
        }
    }

    pub(super) fn set_changed(&mut self, change: &Change<MachineSet>) {
        if self.is_unreadable(Kind::Set, change) {
            return;
        }
        let (old, new) = (change.old.as_deref(), change.new.as_deref());
        let (before, after) = (old.map(|set| &set.metadata), new.map(|set| &set.metadata));
        self.owners.sets.change(&change.key, before.map(controller_of), after.map(controller_of));
        self.owners.identified(&change.key, before, after);
        self.owners.classed(&change.key, old, new);
        let key = Key::Set(change.key.clone());
        if uid(before) != uid(after) {
            self.forget(&key);
            if let Some(gone) = before.and_then(uid_of) {
                self.tenant.deleted.forget(&gone);
            }
        }
        self.object_changed(key, change, has_new_generation);
        let controllers: BTreeSet<Option<Uid>> =
            [before, after].into_iter().flatten().map(controller_of).collect();
        for controller in controllers {
            match controller {
                Some(deployment) => self.wake_deployment(&deployment),
                None => self.wake_deployments_that_select(&change.key, new),
            }
        }
        self.seen_change(Kind::Set, change);
    }

    fn wake_deployments_that_select(&mut self, key: &ObjectKey, set: Option<&MachineSet>) {
        let Some(set) = set else { return };
        for (deployment, object) in self.tenant.deployments.all() {
            if deployment.namespace == key.namespace && selects(object.spec.selector.as_ref(), set.meta()) {
                self.wake_gathered(Key::Deployment(deployment));
            }
        }
    }

    pub(super) fn deployment_changed(&mut self, change: &Change<MachineDeployment>) {
        if self.is_unreadable(Kind::Deployment, change) {
            return;
        }
        let (old, new) = (change.old.as_deref(), change.new.as_deref());
        let (before, after) =
            (old.map(|deployment| &deployment.metadata), new.map(|deployment| &deployment.metadata));
        self.owners.identified(&change.key, before, after);
        let key = Key::Deployment(change.key.clone());
        if uid(before) != uid(after) {
            self.forget(&key);
        }
        self.object_changed(key, change, has_new_generation);
        let limit = |deployment: Option<&MachineDeployment>| {
            deployment.map(|deployment| {
                let annotations = deployment.metadata.annotations.as_ref();
                let permits = annotations
                    .map(|annotations| Permits::read(annotations, &DISRUPTION))
                    .unwrap_or_default();
                let classes =
                    annotations.and_then(|all| all.get(names::annotations::CLASS_ALTERNATIVES)).cloned();
                (deployment.spec.replicas, deployment.spec.strategy.clone(), permits, classes)
            })
        };
        if limit(old) != limit(new) {
            for deployment in
                [before, after].into_iter().flatten().filter_map(uid_of).collect::<BTreeSet<_>>()
            {
                for set in self.owners.sets.of(&Some(deployment)) {
                    self.wake_gathered(Key::Set(set));
                }
            }
        }
        self.seen_change(Kind::Deployment, change);
    }

    /// Owners read labels, annotations, taints and the progress of an in-place update of their Machines' Nodes.
    pub(super) fn node_of_owners_changed(
        &mut self,
        machine: &ObjectKey,
        old: Option<&Node>,
        new: Option<&Node>,
    ) {
        if !node_matters_to_owners(old, new) {
            return;
        }
        let machine = self.tenant.machines.get(machine);
        if let Some(set) = machine.and_then(|machine| controller_of(machine.meta())) {
            self.wake_set_and_deployment(&set);
        }
    }

    /// Requeues the sets of a class that has changed: new Machines differ, or can be created at last.
    pub(super) fn wake_sets_of_class(&mut self, class: &ObjectKey) {
        let mut sets = BTreeSet::from_iter(self.owners.by_class.of(class));
        let of_namespace =
            |(set, _): &(ObjectKey, std::sync::Arc<MachineSet>)| set.namespace == class.namespace;
        for (set, object) in self.tenant.sets.all().into_iter().filter(of_namespace) {
            let deployment = controller_of(object.meta()).and_then(|uid| self.owners.by_uid.get(&uid));
            let deployment = deployment.and_then(|key| self.tenant.deployments.get(key));
            if names_as_alternative(&object, deployment.as_deref(), class.name.as_str()) {
                sets.insert(set);
            }
        }
        for set in sets {
            let key = Key::Set(set);
            self.ledger.changed(&key);
            self.wake_gathered(key);
        }
    }

    /// All sets and deployments.
    pub(super) fn wake_owners(&mut self) {
        for (set, _) in self.tenant.sets.all() {
            self.wake(Key::Set(set), Priority::Event);
        }
        for (deployment, _) in self.tenant.deployments.all() {
            self.wake(Key::Deployment(deployment), Priority::Event);
        }
    }

    fn wake_gathered(&mut self, key: Key) {
        if !self.tenant.settings.controllers.run(&key) {
            return;
        }
        let now = self.context.clock.now();
        let after = gathering(self.gathered.len());
        self.gathered.insert(key.clone());
        self.wake_at(key, now.checked_add(after).unwrap_or(now), Priority::Event);
    }

    /// Machines that a set controls, and those that nobody does.
    pub(super) fn members(&self, key: &Key) -> Members {
        let Key::Set(set) = key else { return Members::default() };
        let Some(uid) = self.tenant.sets.get(set).and_then(|set| uid_of(set.meta())) else {
            return Members::default();
        };
        let machines = [Some(uid), None].iter().flat_map(|owner| self.owners.machines.of(owner)).collect();
        Members { machines, shared_nodes: self.index.shared_nodes() }
    }

    /// Sets of a deployment and those without a controller, the Machines of them all, and other deployments.
    pub(super) fn owner_tree(&self, key: &Key) -> OwnerTree {
        let Key::Deployment(deployment) = key else { return OwnerTree::default() };
        let Some(uid) = self.tenant.deployments.get(deployment).and_then(|object| uid_of(object.meta()))
        else {
            return OwnerTree::default();
        };
        let sets: Vec<ObjectKey> =
            [Some(uid), None].iter().flat_map(|owner| self.owners.sets.of(owner)).collect();
        let uid_of_set = |set: &ObjectKey| self.tenant.sets.get(set).and_then(|set| uid_of(set.meta()));
        let machines = sets
            .iter()
            .filter_map(uid_of_set)
            .map(|set| (set.clone(), self.owners.machines.of(&Some(set))))
            .collect();
        let other_deployments = self.tenant.deployments.all().into_iter().map(|(key, _)| key);
        let other_deployments =
            other_deployments.filter(|other| other != deployment && other.namespace == deployment.namespace);
        OwnerTree {
            sets,
            machines,
            other_deployments: other_deployments.collect(),
            shared_nodes: self.index.shared_nodes(),
        }
    }
}

impl Owners {
    fn identified(&mut self, key: &ObjectKey, old: Option<&ObjectMeta>, new: Option<&ObjectMeta>) {
        if uid(old) == uid(new) {
            return;
        }
        if let Some(gone) = old.and_then(uid_of) {
            self.by_uid.remove(&gone);
        }
        if let Some(uid) = new.and_then(uid_of) {
            self.by_uid.insert(uid, key.clone());
        }
    }

    fn classed(&mut self, key: &ObjectKey, old: Option<&MachineSet>, new: Option<&MachineSet>) {
        let class = |set: Option<&MachineSet>| {
            let name =
                set?.spec.template.as_ref()?.spec.class.name.clone().filter(|name| !name.is_empty())?;
            Some(ObjectKey::new(key.namespace.as_str(), name))
        };
        self.by_class.change(key, class(old), class(new));
    }
}

fn has_new_generation<T: Resource>(old: &T, new: &T) -> bool {
    old.meta().generation != new.meta().generation
}

fn uid(meta: Option<&ObjectMeta>) -> Option<&str> {
    meta?.uid.as_deref()
}

/// Returns whether owners act on this change, or count it. The conditions of the Node do not matter.
fn matters_to_owners(old: Option<&Machine>, new: Option<&Machine>) -> bool {
    let (Some(old), Some(new)) = (old, new) else { return true };
    let annotation =
        |machine: &Machine, name: &str| machine.metadata.annotations.as_ref()?.get(name).cloned();
    let operation = |machine: &Machine| {
        let last = machine.status.as_ref().map(|status| &status.last_operation)?;
        Some((last.type_.clone(), last.state.clone(), last.error_code.clone()))
    };
    let until = |machine: &Machine| machine.status.as_ref()?.current_status.preserve_expiry_time.clone();
    let spec = |machine: &Machine| MachineSpec { provider_id: None, ..machine.spec.clone() };
    old.metadata.uid != new.metadata.uid
        || old.metadata.labels != new.metadata.labels
        || old.metadata.owner_references != new.metadata.owner_references
        || old.metadata.deletion_timestamp != new.metadata.deletion_timestamp
        || READ_BY_OWNERS.iter().any(|name| annotation(old, name) != annotation(new, name))
        || fields::phase_of(old) != fields::phase_of(new)
        || operation(old) != operation(new)
        || until(old) != until(new)
        || (old.metadata.generation != new.metadata.generation && spec(old) != spec(new))
}

fn node_matters_to_owners(old: Option<&Node>, new: Option<&Node>) -> bool {
    let (Some(old), Some(new)) = (old, new) else { return true };
    let carried = |node: &Node| {
        let spec = node.spec.as_ref();
        (spec.and_then(|spec| spec.taints.clone()), spec.and_then(|spec| spec.unschedulable))
    };
    let progress = |node: &Node| {
        let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
        let all = conditions.into_iter().flatten();
        all.into_iter()
            .find(|condition| condition.type_ == names::node_conditions::IN_PLACE_UPDATE)
            .map(|condition| condition.reason.clone())
    };
    old.metadata.uid != new.metadata.uid
        || old.metadata.labels != new.metadata.labels
        || old.metadata.annotations != new.metadata.annotations
        || carried(old) != carried(new)
        || progress(old) != progress(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_deployment_answers_soon_and_hundreds_in_a_rush_together() {
        let millis = |waiting| gathering(waiting).as_millis();
        assert_eq!([0, 2, 10, 100].map(millis), [150, 160, 200, 650]);
        assert_eq!([400, 100_000, usize::MAX].map(millis), [2_000; 3]);
    }
}
