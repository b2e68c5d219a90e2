//! Facts of a MachinistRemediation's reconcile.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use machinist_api::infrastructure::cluster_api::{
    HEALTH_CHECK_SUCCEEDED, OWNER_REMEDIATED, OwnerCluster, OwnerMachine,
};
use machinist_api::infrastructure::{self, MachinistRemediation};
use machinist_core::infra_machine::remediation::{
    RebootStrategy, RebootsDone, RemediatedMachine, RemediatedVm, RemediationView,
};
use machinist_core::infra_machine::{IdentityFact, InfraReason};
use machinist_core::machine::DriverFact;
use machinist_core::value::id::ObjectKey;

use super::infra_machine::observe::ObservedInfraMachine;
use super::infra_machine::related::{RelatedObjects, pause};
use crate::controllers::state::TenantState;

/// A remediation, and the objects that it is about.
pub(crate) struct RemediationObjects {
    pub(crate) remediation: Arc<MachinistRemediation>,
    owner: Option<Arc<OwnerMachine>>,
    cluster: Option<Arc<OwnerCluster>>,
    /// The MachinistMachine that is the Machine's infrastructure, whether it is there or not.
    machine_key: Option<ObjectKey>,
}

/// The facts of a reconcile, and the objects that they were taken from.
pub(crate) struct ObservedRemediation {
    pub(crate) view: RemediationView,
    pub(crate) remediation: Arc<MachinistRemediation>,
    /// The Machine of Cluster API that is remediated.
    pub(crate) owner: Option<Arc<OwnerMachine>>,
    /// The MachinistMachine with the VM.
    pub(crate) machine: Option<ObservedInfraMachine>,
}

impl RemediationObjects {
    /// Returns the objects, and those of the MachinistMachine with the VM. `None` when the remediation is not there any
    /// more.
    pub(crate) fn of(tenant: &TenantState, key: &ObjectKey) -> Option<(Self, Option<RelatedObjects>)> {
        let infra = &tenant.infra;
        let remediation = infra.remediations.get(key)?;
        let namespace = key.namespace.as_str();
        let owner = infra.owner_of(&remediation.metadata);
        let cluster = owner.as_ref().and_then(|owner| owner.cluster());
        let cluster = cluster.and_then(|name| infra.owner_clusters.get(&ObjectKey::new(namespace, name)));
        let reference = owner.as_ref().map(|owner| &owner.spec.infrastructure_ref);
        let name = reference.and_then(|named| named.named(infrastructure::GROUP, "MachinistMachine"));
        let machine_key = name.map(|name| ObjectKey::new(namespace, name));
        let related = machine_key.as_ref().and_then(|key| RelatedObjects::of(tenant, key));
        Some((Self { remediation, machine_key, owner, cluster }, related))
    }

    pub(crate) fn observe(
        self,
        tenant: &TenantState,
        machine: Option<ObservedInfraMachine>,
    ) -> ObservedRemediation {
        let Self { remediation, owner, cluster, machine_key } = self;
        let meta = &remediation.metadata;
        let of_owner = || pause(&owner.as_ref()?.metadata, None);
        let of_machine = || machine.as_ref()?.view.paused.clone();
        let status = remediation.status.clone().unwrap_or_default();
        let view = RemediationView {
            is_deleting: meta.deletion_timestamp.is_some(),
            paused: pause(meta, cluster.as_deref()).or_else(of_owner).or_else(of_machine),
            created: meta.creation_timestamp.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0),
            strategy: RebootStrategy {
                limit: remediation.retry_limit(),
                timeout: SignedDuration::from_secs(remediation.timeout_seconds()),
            },
            done: RebootsDone {
                count: status.retry_count.and_then(|count| u32::try_from(count).ok()).unwrap_or(0),
                last: status.last_remediated.map(|time| time.0),
            },
            machine: owner.as_deref().map_or(RemediatedMachine::Missing, health),
            vm: machine_key.map_or(RemediatedVm::NotOurs, |key| {
                vm(machine.as_ref(), tenant.infra.machines.is_unreadable(&key))
            }),
            placed_in: machine.as_ref().and_then(|machine| {
                let is_kept = machine.view.honours_failure_domain();
                machine.view.failure_domain.clone().filter(|_| is_kept)
            }),
            driver: machine
                .as_ref()
                .map_or(DriverFact::NotChosen, |machine| machine.view.machine.driver.clone()),
            identity: machine
                .as_ref()
                .map_or(IdentityFact::NotNamed, |machine| machine.view.identity.clone()),
        };
        ObservedRemediation { view, remediation, owner, machine }
    }
}

/// The health of a Machine, as the controllers of Cluster API have written it into its conditions.
fn health(machine: &OwnerMachine) -> RemediatedMachine {
    let is_false = |kind: &str| machine.health(kind).filter(|condition| condition.status == "False");
    if machine.metadata.deletion_timestamp.is_some() {
        return RemediatedMachine::Deleting;
    }
    match is_false(HEALTH_CHECK_SUCCEEDED) {
        None => RemediatedMachine::Healthy,
        Some(_) if is_false(OWNER_REMEDIATED).is_some() => RemediatedMachine::OwnerReplaces,
        Some(check) => RemediatedMachine::Unhealthy { problem: check.reason.clone() },
    }
}

/// `is_unreadable`: the object is there and cannot be decoded.
fn vm(machine: Option<&ObservedInfraMachine>, is_unreadable: bool) -> RemediatedVm {
    if is_unreadable {
        let message = "its MachinistMachine cannot be decoded: correct it".to_owned();
        return RemediatedVm::Unclear(message);
    }
    let Some(view) = machine.map(|machine| &machine.view) else { return RemediatedVm::Gone };
    if let Some(other) = view.contested_by.first() {
        let message = format!("MachinistMachine {other} has the key of its VM as well: delete the copy");
        return RemediatedVm::Unclear(message);
    }
    let reported = view.reported.as_ref().and_then(|reported| reported.reason);
    if view.machine.machine.deletion.is_some() || reported == Some(InfraReason::InstanceDeleted) {
        return RemediatedVm::Gone;
    }
    match view.machine.machine.provider_id {
        Some(_) => RemediatedVm::There,
        None => RemediatedVm::NeverCreated,
    }
}
