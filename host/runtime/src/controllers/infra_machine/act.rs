//! Effects on the object and on the cloud. None decides anything.

use kube::Api;
use machinist_api::infrastructure::MachinistMachine;
use machinist_api::infrastructure::names::{annotations, finalizers};
use machinist_api::names;
use machinist_core::driver::write_error::ActError;
use machinist_core::machine::{MachineEffect, MachineOutcome};
use machinist_core::value::id::{FailureDomain, Name, ProviderId};
use serde_json::{Map, Value, json};

use crate::client::writes::{WriteOutcome, finalizer_removed, merge};
use crate::context::Context;
use crate::context::key::Kind;
use crate::controllers::facts::infra_machine::observe::ObservedInfraMachine;
use crate::controllers::objects::metadata::{Metadata, annotation};
use crate::controllers::objects::vm_notes;
use crate::controllers::state::TenantState;
use crate::driver_calls::vm_calls::VmCalls;

use super::request::{self, request};

/// The outcome of an effect, and the facts that it adds to the reconcile.
pub(super) struct InfraEffectResult {
    pub(super) outcome: MachineOutcome,
    /// The version that it wrote.
    pub(super) wrote: Option<(Kind, String)>,
    /// The VM, when it is stored from now on.
    pub(super) provider_id: Option<ProviderId>,
    /// The state that the driver has returned is stored with it.
    pub(super) driver_state_stored: bool,
}

impl InfraEffectResult {
    pub(super) fn call(outcome: MachineOutcome) -> Self {
        Self { outcome, wrote: None, provider_id: None, driver_state_stored: false }
    }

    fn write(result: WriteOutcome, outcome: impl FnOnce(Result<(), ActError>) -> MachineOutcome) -> Self {
        match result {
            Ok(wrote) => Self { wrote, ..Self::call(outcome(Ok(()))) },
            Err(error) => Self::call(outcome(Err(error))),
        }
    }
}

/// The surroundings of an effect.
pub(super) struct InfraEffectContext<'a> {
    pub(super) tenant: &'a TenantState,
    pub(super) context: &'a Context,
    pub(super) observed: &'a ObservedInfraMachine,
    /// The VM that this reconcile has stored, or found.
    pub(super) stored: Option<&'a ProviderId>,
    /// The spec of its class in its failure domain, as the driver has returned it.
    pub(super) placed: Option<&'a str>,
    /// The id of the VM's Node, as the driver has returned it.
    pub(super) node_id: Option<&'a ProviderId>,
    /// The state that the driver has returned in this reconcile, unless that is stored.
    pub(super) driver_state: Option<&'a str>,
    /// The last version of the object that this reconcile has written.
    pub(super) written: Option<&'a str>,
}

pub(super) async fn perform(
    effect_context: &InfraEffectContext<'_>,
    effect: &MachineEffect,
) -> InfraEffectResult {
    let InfraEffectContext { tenant, context, observed, stored, placed, node_id, driver_state, written } =
        *effect_context;
    let (meta, fact) = (&observed.machine.metadata, &observed.view.machine.machine);
    let memory = &*tenant.infra.vms;
    let calls = VmCalls {
        drivers: &*tenant.drivers,
        memory,
        clock: &context.clock,
        key: &fact.key,
        uid: &fact.uid,
        class: Some(Name::new(observed.class.name.as_str())),
    };
    let request = |sends_user_data| Ok(request(observed, stored, placed, sends_user_data));
    let patch = |patch: Value| patch_machine(context, observed, patch);
    match effect {
        MachineEffect::AddFinalizer => {
            InfraEffectResult::write(patch(claim(observed)).await, MachineOutcome::AddFinalizer)
        }
        MachineEffect::NoteIntent => {
            let note = vm_notes::with_intent(meta, context.clock.now(), memory.creates.identity());
            InfraEffectResult::write(patch(note.patch()).await, MachineOutcome::NoteIntent)
        }
        MachineEffect::CloseIntent => {
            let note = vm_notes::without_intent(meta, written);
            InfraEffectResult::write(patch(note.patch()).await, MachineOutcome::CloseIntent)
        }
        MachineEffect::ProbeVm => {
            InfraEffectResult::call(MachineOutcome::ProbeVm(calls.probe(request(false)).await))
        }
        MachineEffect::CreateVm => {
            let has_keys = observed.view.machine.driver.keeps_keys();
            InfraEffectResult::call(MachineOutcome::CreateVm(calls.create(request(true), has_keys).await))
        }
        MachineEffect::InitializeVm => {
            InfraEffectResult::call(MachineOutcome::InitializeVm(calls.initialize(request(true)).await))
        }
        MachineEffect::DeleteVm => {
            InfraEffectResult::call(MachineOutcome::DeleteVm(calls.delete(request(false)).await))
        }
        MachineEffect::PlaceVm { failure_domain } => {
            let asked = request::without_secrets(observed, None);
            let placed = tenant.drivers.place(asked, failure_domain.clone()).await;
            InfraEffectResult::call(MachineOutcome::PlaceVm(placed))
        }
        MachineEffect::AskInterruptible => {
            let asked = request::without_secrets(observed, placed);
            let answer = tenant.drivers.is_interruptible(asked).await;
            InfraEffectResult::call(MachineOutcome::AskInterruptible(answer))
        }
        MachineEffect::NameNode(vm) => {
            let asked = request::without_secrets(observed, placed);
            let named = tenant.drivers.node_id(asked, (**vm).clone()).await;
            InfraEffectResult::call(MachineOutcome::NameNode(named))
        }
        MachineEffect::RecordVm { provider_id, .. } => {
            let ids = (provider_id, node_id.unwrap_or(provider_id));
            let recorded = patch(record(observed, ids, driver_state)).await;
            if recorded.is_ok() {
                memory.creates.forget(&fact.uid);
                memory.data_changes.forget(&fact.key);
            }
            InfraEffectResult {
                provider_id: recorded.is_ok().then(|| provider_id.clone()),
                driver_state_stored: recorded.is_ok(),
                ..InfraEffectResult::write(recorded, MachineOutcome::RecordVm)
            }
        }
        MachineEffect::ReleaseFinalizer => {
            let released = vm_notes::without_finalizer(meta, finalizers::MACHINE);
            let released = finalizer_removed(patch(released.patch()).await);
            InfraEffectResult::write(released, MachineOutcome::ReleaseFinalizer)
        }
        // A machine without a Node has none of these: the core asks for them with a target cluster only.
        other => InfraEffectResult::call(other.refused("an infrastructure machine has no Node")),
    }
}

async fn patch_machine(context: &Context, observed: &ObservedInfraMachine, patch: Value) -> WriteOutcome {
    let key = &observed.view.machine.machine.key;
    let api: Api<MachinistMachine> = Api::namespaced(context.control.clone(), key.namespace.as_str());
    merge(&api, Kind::InfraMachine, key.name.as_str(), patch).await
}

/// Finalizer, key, mark, credentials and the digest of the bootstrap data in one write, before the first call to a
/// cloud. A key that is there stays: it came with a move.
fn claim(observed: &ObservedInfraMachine) -> Value {
    let mut noted = json!({
        annotations::MACHINE_KEY: observed.view.machine.machine.uid.as_str(),
        names::annotations::CLUSTER_MARK: observed.cluster_mark,
        annotations::IDENTITY: observed.identity,
        annotations::FAILURE_DOMAIN: observed.view.failure_domain.as_ref().map(FailureDomain::as_str),
    });
    // Once the VM is there, nobody reads the data any more.
    if let (Some(digest), Value::Object(noted)) = (&observed.data_digest, &mut noted) {
        noted.insert(annotations::BOOTSTRAP_DATA.to_owned(), json!(digest));
    }
    vm_notes::with_finalizer(&observed.machine.metadata, finalizers::MACHINE)
        .with("annotations", noted)
        .patch()
}

/// Without a version: the id of the VM must be stored, whatever else has changed meanwhile. Cluster API compares the id
/// of the Node; the driver's own id is beside it, where it differs.
fn record(
    observed: &ObservedInfraMachine,
    (own_id, node_id): (&ProviderId, &ProviderId),
    driver_state: Option<&str>,
) -> Value {
    let machine = &observed.view.machine;
    let mut notes = Map::new();
    if own_id != node_id {
        notes.insert(annotations::VM_ID.to_owned(), json!(own_id.as_str()));
    } else if annotation(&observed.machine.metadata, annotations::VM_ID).is_some() {
        // It came with a copy of the object, and would lead to another VM.
        notes.insert(annotations::VM_ID.to_owned(), Value::Null);
    }
    if !machine.machine.has_priority {
        let key = json!(machine.machine.uid.as_str());
        notes.insert(annotations::MACHINE_KEY.to_owned(), key);
    }
    if let Some(state) = driver_state {
        notes.insert(annotations::DRIVER_STATE.to_owned(), json!(state));
    }
    if (machine.machine.create_intent.is_some() || !machine.driver.keeps_keys())
        && let Value::Object(none) = vm_notes::no_intent()
    {
        notes.extend(none);
    }
    Metadata::of(&observed.machine.metadata)
        .with_some("annotations", (!notes.is_empty()).then_some(Value::Object(notes)))
        .patch_with_spec(&json!({ "providerID": node_id.as_str() }))
}
