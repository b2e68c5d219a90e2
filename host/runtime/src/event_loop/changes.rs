//! Keys that a change requeues, and their priorities.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Node, Secret};
use kube::Resource;
use machinist_api::{Machine, MachineClass, MachineSpec};
use machinist_core::scheduling::queue::Priority;
use machinist_core::value::id::{NodeName, ObjectKey, ProviderName};
use machinist_core::value::phase::Phase;

use crate::cache::Change;
use crate::cache::fields;
use crate::cache::fields::secret_keys;
use crate::cache::node_index::vm_of;
use crate::controllers::classes::class_secrets;
use crate::controllers::facts;
use crate::drain;

use super::index::class_key;
use super::{Engine, Key, Kind, Message};

impl Engine {
    pub(super) fn handle_message(&mut self, message: Message) {
        match message {
            Message::Machine(change) => self.machine_changed(&change),
            Message::Class(change) => self.class_changed(&change),
            Message::Secret(change) => self.secret_changed(&change),
            Message::Node(change) => self.node_changed(&change),
            Message::Set(change) => self.set_changed(&change),
            Message::Deployment(change) => self.deployment_changed(&change),
            Message::InfraMachine(change) => self.infra_machine_changed(&change),
            Message::InfraCluster(change) => self.infra_cluster_changed(&change),
            Message::InfraTemplate(change) => self.infra_template_changed(&change),
            Message::InfraRemediation(change) => self.infra_remediation_changed(&change),
            Message::InfraIdentity(change) => self.infra_identity_changed(&change),
            Message::OwnerMachine(change) => self.owner_machine_changed(&change),
            Message::OwnerCluster(change) => self.owner_cluster_changed(&change),
            Message::DrainOf(node) => self.wake_drain_of(&node),
            Message::DrainSlotFree(machine) => {
                if self.tenant.machines.get(&machine).is_some() {
                    self.wake(Key::Machine(machine), Priority::Event);
                }
            }
            Message::CallSlotFree(key) => {
                if self.tenant.has(&key) {
                    self.wake(key, Priority::Event);
                } else if let Key::InfraMachine(machine) = key {
                    self.tenant.infra.vms.call_slots.forget(&machine);
                } else {
                    self.tenant.vms.call_slots.forget(key.object());
                }
            }
            Message::AttachmentsListed => self.wake_drains(),
            Message::Synced(kind, version) => {
                self.listed.insert(kind);
                self.seen(kind, &version);
            }
            Message::Providers(providers) => self.providers_changed(&providers),
            Message::Policies => self.policies_changed(),
            Message::PluginsListed => self.knows_plugins = true,
            Message::ClassChecked(class) => {
                self.wake_machines_of_class(&class);
                self.wake_sets_of_class(&class);
            }
        }
    }

    /// Each Machine may be judged otherwise from here on.
    fn policies_changed(&mut self) {
        for (key, _) in self.tenant.machines.all() {
            self.wake(Key::Machine(key), Priority::Event);
        }
    }

    fn machine_changed(&mut self, change: &Change<Machine>) {
        if self.is_unreadable(Kind::Machine, change) {
            return;
        }
        let (old, new) = (change.old.as_deref(), change.new.as_deref());
        self.index.machine(&change.key, old, new);
        self.ownership_changed(&change.key, old, new);
        self.update_meltdown(&change.key, new);
        self.machine_of_owners_changed(&change.key, old, new);
        if let (Some(old), Some(new)) = (old, new) {
            self.time_phase(old, new);
        }
        let key = Key::Machine(change.key.clone());
        if uid(old) != uid(new) {
            // Another Machine of that name, which has no failures and no Events yet.
            self.forget(&key);
        }
        let class_of =
            |machine: Option<&Machine>| machine.and_then(|machine| class_key(&change.key, machine));
        if class_of(old) != class_of(new) || new.is_none() {
            for class in [class_of(old), class_of(new)].into_iter().flatten() {
                self.wake(Key::Class(class), Priority::Event);
            }
        }
        self.object_changed(key, change, is_edit);
        if new.is_none() {
            self.context.orphans_are_likely.notify_one();
        }
        self.seen_change(Kind::Machine, change);
    }

    /// Requeues the key of a changed object, unless this process made the change. `is_edit`: whether somebody wishes
    /// for something else than before.
    pub(super) fn object_changed<T: Resource>(
        &mut self,
        key: Key,
        change: &Change<T>,
        is_edit: impl Fn(&T, &T) -> bool,
    ) {
        let Some(new) = change.new.as_deref() else { return self.forget(&key) };
        let old = change.old.as_deref();
        let is_deleting = |object: &T| object.meta().deletion_timestamp.is_some();
        let (was_deleting, is_deleting) = (old.is_some_and(is_deleting), is_deleting(new));
        let is_edit = old.is_none_or(|old| is_edit(old, new));
        if is_edit || is_deleting != was_deleting {
            self.ledger.changed(&key);
        }
        let priority = match (is_deleting, is_edit) {
            (true, _) => Priority::Deletion,
            (false, true) => Priority::Edit,
            (false, false) => Priority::Event,
        };
        if self.own_writes.is_foreign(&key, &change.resource_version, priority) {
            self.wake(key, priority);
        }
    }

    fn class_changed(&mut self, change: &Change<MachineClass>) {
        if self.is_unreadable(Kind::Class, change) {
            return;
        }
        let (old, new) = (change.old.as_deref(), change.new.as_deref());
        self.index.class(&change.key, old, new);
        for secret in [old, new].into_iter().flatten().flat_map(secret_keys) {
            self.wake(Key::Secret(secret), Priority::Event);
        }
        let is_deleting = |class: &MachineClass| class.metadata.deletion_timestamp.is_some();
        let differs = match (old, new) {
            (Some(old), Some(new)) => {
                old.metadata.generation != new.metadata.generation
                    || is_deleting(old) != is_deleting(new)
                    || old.driver_digest() != new.driver_digest()
            }
            (None, None) => false,
            (Some(_), None) | (None, Some(_)) => true,
        };
        if differs {
            self.wake_machines_of_class(&change.key);
            self.wake_infra_of_class(&change.key);
            self.wake_sets_of_class(&change.key);
        }
        let key = Key::Class(change.key.clone());
        if new.is_some() {
            self.wake(key, Priority::Event);
        } else {
            self.tenant.class_checks.forget(&change.key);
            self.forget(&key);
        }
        self.seen_change(Kind::Class, change);
    }

    fn secret_changed(&mut self, change: &Change<Secret>) {
        if self.is_unreadable(Kind::Secret, change) {
            return;
        }
        if class_secrets::differs(change.old.as_deref(), change.new.as_deref()) {
            for class in self.index.classes_of_secret(&change.key) {
                self.wake_machines_of_class(&class);
                // Whether the class may use it is reported on the class.
                self.wake(Key::Class(class), Priority::Event);
            }
        }
        let key = Key::Secret(change.key.clone());
        if change.new.is_some() {
            self.wake(key, Priority::Event);
        } else {
            self.forget(&key);
        }
        self.seen_change(Kind::Secret, change);
    }

    fn node_changed(&mut self, change: &Change<Node>) {
        if self.is_unreadable(Kind::Node, change) {
            return;
        }
        let (old, new) = (change.old.as_deref(), change.new.as_deref());
        let node = NodeName::new(change.key.name.as_str());
        self.tenant.node_index.changed(node.as_str(), old, new);
        if facts::node_matters(old, new) {
            let by_name = self.index.machines_of_node(&node);
            // It may have registered under another name than the label of its Machine says.
            let by_vm = [old, new].into_iter().flatten().filter_map(vm_of);
            let by_vm = by_vm.flat_map(|vm| self.index.machines_of_vm_name(&vm));
            let concerned: BTreeSet<ObjectKey> = by_name.into_iter().chain(by_vm).collect();
            for machine in concerned {
                self.node_of_owners_changed(&machine, old, new);
                self.node_of_machine_changed(machine);
            }
        } else if drain::volumes_differ(old, new) {
            self.wake_drain_of(&node);
        }
        self.seen_change(Kind::Node, change);
    }

    /// Volumes come and go all the time: they matter only to drains that wait for them.
    fn wake_drain_of(&mut self, node: &NodeName) {
        for machine in self.index.machines_of_node(node) {
            if self.tenant.machines.get(&machine).is_some_and(|machine| drain::concerns(&machine)) {
                self.wake(Key::Machine(machine), Priority::Event);
            }
        }
    }

    fn wake_drains(&mut self) {
        for (machine, object) in self.tenant.machines.all() {
            if drain::concerns(&object) {
                self.wake(Key::Machine(machine), Priority::Event);
            }
        }
    }

    /// A listing has versions in any order: it counts as a whole, at its end.
    pub(super) fn seen_change<T>(&mut self, kind: Kind, change: &Change<T>) {
        if !change.is_listed {
            self.seen(kind, &change.resource_version);
        }
    }

    /// Machines that wait for a driver are tried at once; the others do not care which version serves.
    fn providers_changed(&mut self, providers: &[ProviderName]) {
        self.tenant.class_checks.forget_providers(providers);
        self.infra_providers_changed(providers);
        self.template_providers_changed(providers);
        for (class, object) in self.tenant.classes.all() {
            let provider = ProviderName::folded(object.provider.as_deref().unwrap_or_default());
            if !providers.contains(&provider) {
                continue;
            }
            self.wake(Key::Class(class.clone()), Priority::Event);
            // Another plugin may be one that the Secret is not for.
            for secret in secret_keys(&object) {
                self.wake(Key::Secret(secret), Priority::Event);
            }
            for machine in self.index.machines_of_class(&class) {
                let phase = self.tenant.machines.get(&machine).map(|machine| fields::phase_of(&machine));
                if matches!(phase, Some(Phase::New | Phase::CrashLoopBackOff | Phase::Terminating)) {
                    self.retry_at_once(machine);
                }
            }
        }
    }

    fn wake_machines_of_class(&mut self, class: &ObjectKey) {
        for machine in self.index.machines_of_class(class) {
            self.retry_at_once(machine);
        }
    }

    fn retry_at_once(&mut self, machine: ObjectKey) {
        let key = Key::Machine(machine);
        self.ledger.changed(&key);
        self.wake(key, Priority::Event);
    }
}

fn uid(machine: Option<&Machine>) -> Option<&str> {
    machine?.metadata.uid.as_deref()
}

/// Somebody wishes for something else. The provider id is no wish: this program writes it.
fn is_edit(old: &Machine, new: &Machine) -> bool {
    let settings = |machine: &Machine| MachineSpec { provider_id: None, ..machine.spec.clone() };
    old.metadata.generation != new.metadata.generation && settings(old) != settings(new)
}
