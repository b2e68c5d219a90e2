//! The Machines of both APIs as members of a group.

use k8s_openapi::api::core::v1::Node;
use machinist_api::Machine;
use machinist_api::infrastructure::cluster_api::OwnerMachine;
use machinist_api::infrastructure::{self, MachinistMachine};
use machinist_core::autoscaler::creation_error::CreationError;
use machinist_core::autoscaler::member::MemberFact;
use machinist_core::machine::OperationFact;
use machinist_core::value::id::{Name, NodeName, ObjectKey, ProviderId};
use machinist_core::value::phase::{OperationState, OperationType, Phase};

use crate::cache::StoreReader;
use crate::cache::fields::{node_name_of, operation_of, phase_of};

/// A Machine of machine-controller-manager's kind.
pub(super) fn mcm(machine: &Machine, nodes: Option<&StoreReader<Node>>) -> MemberFact {
    let node = node_name_of(machine);
    let node_provider_id = node.as_ref().and_then(|node| {
        let node = nodes?.get(&ObjectKey::new("", node.as_str()))?;
        node.spec.as_ref()?.provider_id.as_deref().filter(|id| !id.is_empty()).map(ProviderId::new)
    });
    let is_terminating =
        machine.metadata.deletion_timestamp.is_some() || phase_of(machine) == Phase::Terminating;
    MemberFact {
        name: Name::new(machine.metadata.name.as_deref().unwrap_or_default()),
        provider_id: machine.provider_id().map(ProviderId::new),
        node,
        node_provider_id,
        is_terminating,
        error: failed_creation(machine),
    }
}

fn failed_creation(machine: &Machine) -> Option<CreationError> {
    let last = &machine.status.as_ref()?.last_operation;
    let failed = OperationFact { kind: OperationType::Create, state: OperationState::Failed };
    if operation_of(last) != Some(failed) {
        return None;
    }
    let message = last.description.as_deref().unwrap_or_default();
    CreationError::of_code(last.error_code.as_deref()?, message)
}

/// A Machine of Cluster API. Its VM says why it is not created, where it is of this program.
pub(super) fn capi(machine: &OwnerMachine, vms: &StoreReader<MachinistMachine>) -> MemberFact {
    let (meta, spec) = (&machine.metadata, &machine.spec);
    let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let vm = spec
        .infrastructure_ref
        .named(infrastructure::GROUP, "MachinistMachine")
        .and_then(|name| vms.get(&ObjectKey::new(meta.namespace.as_deref().unwrap_or_default(), name)));
    MemberFact {
        name: Name::new(meta.name.as_deref().unwrap_or_default()),
        provider_id: some(&spec.provider_id).map(ProviderId::from),
        node: some(&machine.status.node_ref.name).map(NodeName::from),
        node_provider_id: None,
        is_terminating: meta.deletion_timestamp.is_some(),
        error: vm.and_then(|vm| failed_vm(&vm)),
    }
}

fn failed_vm(vm: &MachinistMachine) -> Option<CreationError> {
    let conditions = &vm.status.as_ref()?.conditions;
    let ready =
        conditions.iter().find(|condition| condition.type_ == "Ready" && condition.status == "False")?;
    CreationError::of_reason(&ready.reason, &ready.message)
}
