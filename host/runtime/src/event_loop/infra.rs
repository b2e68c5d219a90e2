//! Which keys for Cluster API a change requeues.

use std::collections::BTreeSet;

use machinist_api::infrastructure::cluster_api::{self, OwnerCluster, OwnerMachine, OwnerMachineSpec};
use machinist_api::infrastructure::names::{annotations, labels};
use machinist_api::infrastructure::{
    self, MachinistCluster, MachinistIdentity, MachinistMachine, MachinistMachineSpec,
    MachinistMachineTemplate, MachinistRemediation,
};
use machinist_core::scheduling::queue::Priority;
use machinist_core::value::id::{ObjectKey, ProviderName, Uid};

use super::{Engine, Key, Kind};
use crate::cache::{Change, Groups};
use crate::controllers::classes::finalizers::Users;
use crate::controllers::facts::infra_machine::observe::condition;
use crate::controllers::facts::infra_machine::related::pause;
use crate::controllers::objects::conditions::READY;
use crate::controllers::objects::metadata::{annotation, label};
use crate::controllers::state::TenantState;

/// MachinistMachines by what they depend on. Follows the caches.
#[derive(Debug, Default)]
pub(super) struct InfraIndex {
    by_vm_key: Groups<String, ObjectKey>,
    /// By the Cluster that their label names, and by the one that their Machine names.
    by_label: Groups<ObjectKey, ObjectKey>,
    by_owner: Groups<ObjectKey, ObjectKey>,
    by_class: Groups<ObjectKey, ObjectKey>,
}

impl InfraIndex {
    fn machine(&mut self, key: &ObjectKey, old: Option<&MachinistMachine>, new: Option<&MachinistMachine>) {
        self.by_vm_key.change(key, old.and_then(vm_key), new.and_then(vm_key));
        let cluster = |machine: Option<&MachinistMachine>| {
            let name = label(&machine?.metadata, labels::CLUSTER_NAME)?;
            Some(ObjectKey::new(key.namespace.as_str(), name))
        };
        self.by_label.change(key, cluster(old), cluster(new));
        let class = |machine: Option<&MachinistMachine>| class_of(key, machine?);
        self.by_class.change(key, class(old), class(new));
    }

    /// The machines of a Cluster.
    pub(super) fn of_cluster(&self, cluster: &ObjectKey) -> BTreeSet<ObjectKey> {
        self.by_label.of(cluster).into_iter().chain(self.by_owner.of(cluster)).collect()
    }
}

fn vm_key(machine: &MachinistMachine) -> Option<String> {
    annotation(&machine.metadata, annotations::MACHINE_KEY).map(str::to_owned)
}

/// The class that a MachinistMachine names, in its namespace.
fn class_of(key: &ObjectKey, machine: &MachinistMachine) -> Option<ObjectKey> {
    let class = machine.spec.class_ref.as_ref().filter(|class| !class.name.is_empty())?;
    Some(ObjectKey::new(key.namespace.as_str(), &class.name))
}

impl Engine {
    /// Objects of either API that use this one.
    pub(super) fn users(&self, key: &Key) -> Users {
        let Users { known, may_be_more } = self.index.users(key);
        let Key::Class(class) = key else { return Users { known, may_be_more } };
        Users {
            known: known + self.infra_index.by_class.count(class),
            may_be_more: may_be_more || self.index.has_unknown(Kind::InfraMachine),
        }
    }

    pub(super) fn infra_machine_changed(&mut self, change: &Change<MachinistMachine>) {
        if self.is_unreadable(Kind::InfraMachine, change) {
            return;
        }
        let (old, new) = (change.old.as_deref(), change.new.as_deref());
        self.infra_index.machine(&change.key, old, new);
        self.machine_uses_identity(change);
        let class = |machine: Option<&MachinistMachine>| class_of(&change.key, machine?);
        if class(old) != class(new) {
            for class in [class(old), class(new)].into_iter().flatten() {
                self.wake(Key::Class(class), Priority::Event);
            }
        }
        let key = Key::InfraMachine(change.key.clone());
        let uid =
            |machine: Option<&MachinistMachine>| machine.and_then(|machine| machine.metadata.uid.clone());
        if uid(old) != uid(new) {
            if let Some(uid) = old.and_then(|old| vm_key(old).or_else(|| old.metadata.uid.clone())) {
                self.tenant.infra.vms.creates.forget(&Uid::new(uid));
            }
            self.forget(&key);
        }
        let (before, after) = (old.and_then(vm_key), new.and_then(vm_key));
        if before != after {
            let keys = [before, after].into_iter().flatten();
            let holders: Vec<ObjectKey> =
                keys.flat_map(|held| self.infra_index.by_vm_key.of(&held)).collect();
            for holder in holders.into_iter().filter(|holder| *holder != change.key) {
                self.wake(Key::InfraMachine(holder), Priority::Event);
            }
        }
        if new.is_none() {
            self.wake_infra_clusters(change.key.namespace.as_str());
        }
        if old.map(of_vm) != new.map(of_vm) {
            for machine in [old, new].into_iter().flatten() {
                if let Some((name, _)) = cluster_api::owner(&machine.metadata, "Machine") {
                    self.retry_remediations_of(&ObjectKey::new(change.key.namespace.as_str(), name));
                }
            }
        }
        self.object_changed(key, change, is_edit);
        self.seen_change(Kind::InfraMachine, change);
    }

    pub(super) fn infra_cluster_changed(&mut self, change: &Change<MachinistCluster>) {
        if self.is_unreadable(Kind::InfraCluster, change) {
            return;
        }
        self.cluster_uses_identity(change);
        let (old, new) = (change.old.as_deref(), change.new.as_deref());
        if old.map(|old| &old.spec) != new.map(|new| &new.spec) {
            for cluster in [old, new].into_iter().flatten() {
                if let Some((name, _)) = cluster_api::owner(&cluster.metadata, "Cluster") {
                    self.wake_machines_of_cluster(&ObjectKey::new(change.key.namespace.as_str(), name));
                }
            }
            // The credentials of its machines may be others.
            self.retry_templates(|key, _| key.namespace == change.key.namespace);
        }
        let is_edit = |old: &MachinistCluster, new: &MachinistCluster| old.spec != new.spec;
        self.object_changed(Key::InfraCluster(change.key.clone()), change, is_edit);
        self.seen_change(Kind::InfraCluster, change);
    }

    pub(super) fn infra_template_changed(&mut self, change: &Change<MachinistMachineTemplate>) {
        if self.is_unreadable(Kind::InfraTemplate, change) {
            return;
        }
        let is_edit = |old: &MachinistMachineTemplate, new: &MachinistMachineTemplate| old.spec != new.spec;
        self.object_changed(Key::InfraTemplate(change.key.clone()), change, is_edit);
        self.seen_change(Kind::InfraTemplate, change);
    }

    pub(super) fn infra_remediation_changed(&mut self, change: &Change<MachinistRemediation>) {
        if self.is_unreadable(Kind::InfraRemediation, change) {
            return;
        }
        let is_edit = |old: &MachinistRemediation, new: &MachinistRemediation| old.spec != new.spec;
        self.object_changed(Key::InfraRemediation(change.key.clone()), change, is_edit);
        self.seen_change(Kind::InfraRemediation, change);
    }

    /// Few machines are unhealthy at a time.
    fn retry_remediations(&mut self, is_meant: impl Fn(&ObjectKey, &MachinistRemediation) -> bool) {
        let all = self.tenant.infra.remediations.all().into_iter();
        let meant = all.filter(|(object, remediation)| is_meant(object, remediation));
        self.retry_keys(meant.map(|(object, _)| Key::InfraRemediation(object)).collect());
    }

    fn retry_keys(&mut self, keys: Vec<Key>) {
        for key in keys {
            self.ledger.changed(&key);
            self.wake(key, Priority::Event);
        }
    }

    /// The remediations of a Machine.
    fn retry_remediations_of(&mut self, machine: &ObjectKey) {
        self.retry_remediations(|key, remediation| {
            let owner = cluster_api::owner(&remediation.metadata, "Machine");
            key.namespace == machine.namespace && owner.is_some_and(|(name, _)| name == machine.name.as_str())
        });
    }

    /// Few identities exist, and they change seldom.
    pub(super) fn infra_identity_changed(&mut self, change: &Change<MachinistIdentity>) {
        if self.is_unreadable(Kind::InfraIdentity, change) {
            return;
        }
        if change.old.as_deref().map(|old| &old.spec) != change.new.as_deref().map(|new| &new.spec) {
            for (key, _) in self.tenant.infra.machines.all() {
                self.retry_infra_at_once(key);
            }
            self.retry_templates(|_, _| true);
            self.retry_remediations(|_, _| true);
        }
        self.identity_changed(change);
        self.seen_change(Kind::InfraIdentity, change);
    }

    pub(super) fn owner_machine_changed(&mut self, change: &Change<OwnerMachine>) {
        let namespace = change.key.namespace.as_str();
        let infra = |machine: Option<&OwnerMachine>| machine_of(namespace, machine?);
        let cluster = |machine: Option<&OwnerMachine>| Some(ObjectKey::new(namespace, machine?.cluster()?));
        let (old, new) = (change.old.as_deref(), change.new.as_deref());
        for (machine, is_new) in [(old, false), (new, true)] {
            let (Some(infra), Some(cluster)) = (infra(machine), cluster(machine)) else { continue };
            if is_new {
                self.infra_index.by_owner.insert(&infra, cluster);
            } else {
                self.infra_index.by_owner.remove(&infra, &cluster);
            }
        }
        let facts = |machine: Option<&OwnerMachine>| {
            machine.map(|machine| {
                // Cluster API has copied the id from here.
                let spec = OwnerMachineSpec { provider_id: String::new(), ..machine.spec.clone() };
                (machine.metadata.uid.clone(), spec, cluster(Some(machine)))
            })
        };
        if facts(old) != facts(new) {
            for machine in [infra(old), infra(new)].into_iter().flatten() {
                self.retry_infra_at_once(machine);
            }
        }
        let health = |machine: Option<&OwnerMachine>| {
            let machine = machine?;
            let (meta, spec) = (&machine.metadata, &machine.spec);
            let state = (meta.uid.clone(), meta.deletion_timestamp.is_some(), pause(meta, None));
            Some((state, spec.infrastructure_ref.clone(), machine.status.conditions.clone()))
        };
        if health(old) != health(new) {
            self.retry_remediations_of(&change.key);
        }
        self.seen_change(Kind::OwnerMachine, change);
    }

    pub(super) fn owner_cluster_changed(&mut self, change: &Change<OwnerCluster>) {
        let (old, new) = (change.old.as_deref(), change.new.as_deref());
        let facts = |cluster: Option<&OwnerCluster>| {
            cluster.map(|cluster| {
                (cluster.metadata.uid.clone(), cluster.spec.clone(), cluster.has_infrastructure())
            })
        };
        if facts(old) != facts(new) {
            self.wake_machines_of_cluster(&change.key);
            self.wake_infra_clusters(change.key.namespace.as_str());
            self.retry_remediations(|key, _| key.namespace == change.key.namespace);
        }
        self.seen_change(Kind::OwnerCluster, change);
    }

    /// Machines that wait for one of these drivers are tried at once.
    pub(super) fn infra_providers_changed(&mut self, providers: &[ProviderName]) {
        self.retry_remediations(|_, _| true);
        for (key, machine) in self.tenant.infra.machines.all() {
            let provider = provider_of(&self.tenant, &key, &machine.spec);
            if provider.is_some_and(|provider| providers.contains(&provider)) && waits(&machine) {
                self.retry_infra_at_once(key);
            }
        }
    }

    /// The templates of these providers: a later version of a driver may know other resources.
    pub(super) fn template_providers_changed(&mut self, providers: &[ProviderName]) {
        let tenant = self.tenant.clone();
        self.retry_templates(|key, template| {
            let provider = provider_of(&tenant, key, &template.spec.template.spec);
            provider.is_some_and(|provider| providers.contains(&provider))
        });
    }

    fn retry_templates(&mut self, is_meant: impl Fn(&ObjectKey, &MachinistMachineTemplate) -> bool) {
        let all = self.tenant.infra.templates.all().into_iter();
        let meant = all.filter(|(object, template)| is_meant(object, template));
        self.retry_keys(meant.map(|(object, _)| Key::InfraTemplate(object)).collect());
    }

    pub(super) fn wake_infra_of_class(&mut self, class: &ObjectKey) {
        self.retry_templates(|key, template| {
            let named = template.spec.template.spec.class_ref.as_ref();
            named.is_some_and(|named| named.name == class.name.as_str() && key.namespace == class.namespace)
        });
        for machine in self.infra_index.by_class.of(class) {
            self.retry_infra_at_once(machine);
        }
    }

    /// The gate has opened or shut.
    pub(super) fn wake_waiting_infra(&mut self) {
        for (key, machine) in self.tenant.infra.machines.all() {
            if waits(&machine) {
                self.wake(Key::InfraMachine(key), Priority::Event);
            }
        }
    }

    /// Other objects with the key of this one's VM.
    pub(super) fn contested_by(&self, key: &Key) -> Vec<ObjectKey> {
        let of_remediation = |remediation: &ObjectKey| {
            let infra = &self.tenant.infra;
            let owner = infra.owner_of(&infra.remediations.get(remediation)?.metadata)?;
            machine_of(remediation.namespace.as_str(), &owner)
        };
        let object = match key {
            Key::InfraMachine(machine) => Some(machine.clone()),
            Key::InfraRemediation(remediation) => of_remediation(remediation),
            _ => None,
        };
        let Some(object) = &object else { return Vec::new() };
        let Some(held) = self.tenant.infra.machines.get(object).and_then(|machine| vm_key(&machine)) else {
            return Vec::new();
        };
        self.infra_index.by_vm_key.of(&held).into_iter().filter(|other| other != object).collect()
    }

    /// The machines that need this MachinistCluster.
    pub(super) fn machines_of_infra_cluster(&self, key: &Key) -> Vec<ObjectKey> {
        let Key::InfraCluster(object) = key else { return Vec::new() };
        let Some(cluster) = self.tenant.infra.clusters.get(object) else { return Vec::new() };
        let owner = cluster_api::owner(&cluster.metadata, "Cluster").map(|(name, _)| name);
        let name = owner.or_else(|| label(&cluster.metadata, labels::CLUSTER_NAME));
        let Some(name) = name else { return Vec::new() };
        let machines = self.infra_index.of_cluster(&ObjectKey::new(object.namespace.as_str(), name));
        machines.into_iter().filter(|machine| self.tenant.infra.machines.get(machine).is_some()).collect()
    }

    fn wake_machines_of_cluster(&mut self, cluster: &ObjectKey) {
        for machine in self.infra_index.of_cluster(cluster) {
            self.retry_infra_at_once(machine);
        }
    }

    fn wake_infra_clusters(&mut self, namespace: &str) {
        for (key, _) in self.tenant.infra.clusters.all() {
            if key.namespace.as_str() == namespace {
                self.wake(Key::InfraCluster(key), Priority::Event);
            }
        }
    }

    pub(super) fn retry_infra_at_once(&mut self, machine: ObjectKey) {
        if self.tenant.infra.machines.get(&machine).is_none() {
            return;
        }
        self.retry_keys(vec![Key::InfraMachine(machine)]);
    }
}

/// The MachinistMachine that a Machine names as its infrastructure.
fn machine_of(namespace: &str, machine: &OwnerMachine) -> Option<ObjectKey> {
    let name = machine.spec.infrastructure_ref.named(infrastructure::GROUP, "MachinistMachine")?;
    Some(ObjectKey::new(namespace, name))
}

/// The parts of a MachinistMachine that decide whether its VM may be rebooted.
fn of_vm(machine: &MachinistMachine) -> impl PartialEq + use<> {
    let meta = &machine.metadata;
    let ready = condition(machine, READY).map(|ready| ready.reason.clone());
    (pause(meta, None), meta.deletion_timestamp.is_some(), machine.provider_id().is_some(), ready)
}

/// Its VM is not made yet, or is being deleted.
fn waits(machine: &MachinistMachine) -> bool {
    !machine.is_provisioned() || machine.metadata.deletion_timestamp.is_some()
}

/// Somebody wishes for something else. The provider id is no wish: this program writes it.
fn is_edit(old: &MachinistMachine, new: &MachinistMachine) -> bool {
    let without_id = |machine: &MachinistMachine| {
        let mut spec = machine.spec.clone();
        spec.provider_id = None;
        spec
    };
    old.metadata.generation != new.metadata.generation && without_id(old) != without_id(new)
}

/// The provider that machines of this spec name, or their class.
fn provider_of(tenant: &TenantState, key: &ObjectKey, spec: &MachinistMachineSpec) -> Option<ProviderName> {
    let of_class = || {
        let class = spec.class_ref.as_ref()?;
        tenant.classes.get(&ObjectKey::new(key.namespace.as_str(), &class.name))?.provider.clone()
    };
    spec.provider.clone().or_else(of_class).as_deref().map(ProviderName::folded)
}
