//! The Machines of both APIs as members of a group.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;
use machinist_api::Machine;
use machinist_api::infrastructure::cluster_api::OwnerMachine;
use machinist_api::infrastructure::{self, MachinistMachine};
use machinist_core::autoscaler::creation_error::CreationError;
use machinist_core::autoscaler::member::GroupMember;
use machinist_core::machine::OperationFact;
use machinist_core::value::id::{Name, NodeName, ObjectKey, ProviderId};
use machinist_core::value::phase::{OperationState, OperationType, Phase};
use machinist_core::value::same_vm::SameVm;

use crate::cache::StoreReader;
use crate::cache::fields::{node_name_of, operation_of, phase_of};

/// A Machine of machine-controller-manager's kind.
pub(super) fn mcm(machine: &Machine, nodes: Option<&StoreReader<Node>>) -> GroupMember {
    let (name, provider_id) = (node_name_of(machine), machine.provider_id().map(ProviderId::new));
    let node = name.as_ref().and_then(|name| nodes?.get(&ObjectKey::new("", name.as_str())));
    let node_id = |node: &Node| {
        let id = node.spec.as_ref()?.provider_id.as_deref();
        id.filter(|id| !id.is_empty()).map(ProviderId::new)
    };
    // A Node of that name may be of an earlier VM.
    let is_own =
        |node: &Arc<Node>| SameVm::of(provider_id.as_ref(), node_id(node).as_ref()) != SameVm::Different;
    let node = node.filter(is_own);
    let node_provider_id = node.as_deref().and_then(node_id);
    let is_terminating =
        machine.metadata.deletion_timestamp.is_some() || phase_of(machine) == Phase::Terminating;
    GroupMember {
        name: Name::new(machine.metadata.name.as_deref().unwrap_or_default()),
        provider_id,
        node: name,
        has_joined: node.is_some(),
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
pub(super) fn capi(machine: &OwnerMachine, vms: &StoreReader<MachinistMachine>) -> GroupMember {
    let (meta, spec) = (&machine.metadata, &machine.spec);
    let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let vm = spec
        .infrastructure_ref
        .named(infrastructure::GROUP, "MachinistMachine")
        .and_then(|name| vms.get(&ObjectKey::new(meta.namespace.as_deref().unwrap_or_default(), name)));
    GroupMember {
        name: Name::new(meta.name.as_deref().unwrap_or_default()),
        provider_id: some(&spec.provider_id).map(ProviderId::from),
        node: some(&machine.status.node_ref.name).map(NodeName::from),
        has_joined: !machine.status.node_ref.name.is_empty(),
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
