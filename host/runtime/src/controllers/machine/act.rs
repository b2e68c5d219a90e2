//! Effects on clusters and clouds. Each has a deadline, a precondition, and an outcome; none decides anything.

use kube::Api;
use machinist_api::{Machine, names};
use machinist_core::driver::write_error::ActError;
use machinist_core::machine::{MachineEffect, MachineOutcome, MetaChange};
use machinist_core::value::id::{Name, NodeName, ObjectKey, ProviderId};
use serde_json::{Map, Value, json};
use tracing::info;

use crate::client::errors::within_deadline;
use crate::client::field_manager::{REBOOTS, TOKEN_UNTIL};
use crate::client::writes::{WriteOutcome, finalizer_removed, gone_is_done, merge, only};
use crate::context::Context;
use crate::context::key::Kind;
use crate::controllers::state::TenantState;
use crate::drain::{self, DrainSlot, Drainer, VolumeDriver};
use crate::driver_calls::vm_calls::{VmCalls, ask};

use super::node;
use super::reconcile::Learned;
use super::request::{UserData, request};
use super::token::{self, BootstrapToken};
use crate::controllers::facts::machine::observe::ObservedMachine;
use crate::controllers::objects::metadata::Metadata;
use crate::controllers::objects::vm_notes;

/// The outcome of an effect, and the facts that it adds to the reconcile.
pub(super) struct EffectResult {
    pub(super) outcome: MachineOutcome,
    /// The version that it wrote.
    pub(super) wrote: Option<(Kind, String)>,
    /// The bootstrap token, when it is known from now on.
    pub(super) token: Option<BootstrapToken>,
    /// The VM, when it is stored from now on.
    pub(super) provider_id: Option<ProviderId>,
    /// The drain's turn, when it has begun.
    pub(super) drain_slot: Option<DrainSlot>,
}

impl EffectResult {
    pub(super) fn call(outcome: MachineOutcome) -> Self {
        Self { outcome, wrote: None, token: None, provider_id: None, drain_slot: None }
    }

    fn write(result: WriteOutcome, outcome: impl FnOnce(Result<(), ActError>) -> MachineOutcome) -> Self {
        match result {
            Ok(wrote) => Self { wrote, ..Self::call(outcome(Ok(()))) },
            Err(error) => Self::call(outcome(Err(error))),
        }
    }
}

/// The surroundings of an effect.
pub(super) struct MachineEffectContext<'a> {
    pub(super) tenant: &'a TenantState,
    pub(super) context: &'a Context,
    pub(super) observed: &'a ObservedMachine,
    pub(super) learned: &'a Learned,
    /// The last version of the Machine that this reconcile has written.
    pub(super) written: Option<&'a str>,
}

pub(super) async fn perform(
    effect_context: &MachineEffectContext<'_>,
    effect: &MachineEffect,
) -> EffectResult {
    let MachineEffectContext { tenant, context, observed, learned, written } = *effect_context;
    let cluster = &tenant.settings.cluster;
    let request = |user_data| request(observed, cluster, user_data, learned.token.as_deref());
    let calls = VmCalls {
        drivers: &*tenant.drivers,
        memory: &tenant.vms,
        clock: &context.clock,
        key: &observed.view.machine.key,
        uid: &observed.view.machine.uid,
        class: class_name(observed),
    };
    match effect {
        MachineEffect::AddFinalizer => {
            EffectResult::write(add_finalizer(context, observed).await, MachineOutcome::AddFinalizer)
        }
        MachineEffect::NoteIntent => {
            let by = tenant.vms.creates.identity();
            let patch = vm_notes::with_intent(&observed.machine.metadata, context.clock.now(), by).patch();
            EffectResult::write(patch_machine(context, observed, patch).await, MachineOutcome::NoteIntent)
        }
        MachineEffect::CloseIntent => {
            let patch = vm_notes::without_intent(&observed.machine.metadata, written).patch();
            EffectResult::write(patch_machine(context, observed, patch).await, MachineOutcome::CloseIntent)
        }
        MachineEffect::EnsureToken => match token::ensure(context, &tenant.settings, observed).await {
            Ok(token) => {
                EffectResult { token: Some(token), ..EffectResult::call(MachineOutcome::EnsureToken(Ok(()))) }
            }
            Err(error) => EffectResult::call(MachineOutcome::EnsureToken(Err(error))),
        },
        MachineEffect::ForgetToken => EffectResult::write(
            token::forget(context, observed).await.map(|()| None),
            MachineOutcome::ForgetToken,
        ),
        MachineEffect::ProbeVm => {
            EffectResult::call(MachineOutcome::ProbeVm(calls.probe(request(UserData::Hidden)).await))
        }
        MachineEffect::CreateVm => {
            // From here on its VM may be there, whatever comes of the call.
            tenant.unstarted.asked(&observed.view.machine.uid);
            let has_keys = observed.view.driver.keeps_keys();
            let answer = calls.create(request(UserData::Sent), has_keys).await;
            if let Some(class) = observed.machine.spec.class.name.as_deref() {
                let namespace = observed.machine.metadata.namespace.as_deref().unwrap_or_default();
                let is_there =
                    |class: &Name| tenant.classes.get(&ObjectKey::new(namespace, class.as_str())).is_some();
                tenant.capacity.observe(class, &answer, is_there, context.clock.now());
            }
            EffectResult::call(MachineOutcome::CreateVm(answer))
        }
        MachineEffect::InitializeVm => {
            let request = request(UserData::Sent).map(|mut request| {
                // The driver finds the VM by its id also in the reconcile that created it, however late reads of the
                // cloud are.
                request.machine.provider_id = learned.provider_id.clone().or(request.machine.provider_id);
                request
            });
            EffectResult::call(MachineOutcome::InitializeVm(calls.initialize(request).await))
        }
        MachineEffect::AskPolicies => {
            let opinions = match &observed.policy_query {
                Some(policy_query) => tenant.policies.ask(policy_query, context.clock.now()).await,
                None => Vec::new(),
            };
            EffectResult::call(MachineOutcome::AskPolicies(Ok(opinions)))
        }
        MachineEffect::NoteReboot(reboots) => {
            let change = MetaChange {
                annotations: [(REBOOTS.to_owned(), Some(reboots.render()))].into(),
                ..MetaChange::default()
            };
            EffectResult::write(write_machine(context, observed, &change).await, MachineOutcome::NoteReboot)
        }
        MachineEffect::RebootVm => {
            let answer = ask(request(UserData::Hidden), |request| tenant.drivers.reboot(request)).await;
            if answer.is_ok() {
                info!(provider_id = ?observed.view.machine.provider_id, "VM rebooted");
            }
            EffectResult::call(MachineOutcome::RebootVm(answer))
        }
        MachineEffect::DeleteVm => {
            EffectResult::call(MachineOutcome::DeleteVm(calls.delete(request(UserData::Hidden)).await))
        }
        // The core asks for these with Cluster API only.
        MachineEffect::PlaceVm { .. } | MachineEffect::AskInterruptible | MachineEffect::NameNode(_) => {
            EffectResult::call(effect.refused("a Machine has its zone from its class"))
        }
        MachineEffect::RecordVm { provider_id, node_name, is_proven } => {
            let mark = is_proven.then_some(cluster.as_str());
            let recorded = record_vm(effect_context, mark, provider_id, node_name.as_ref()).await;
            if recorded.is_ok() {
                tenant.vms.creates.forget(&observed.view.machine.uid);
            }
            EffectResult {
                provider_id: Some(provider_id.clone()),
                ..EffectResult::write(recorded, MachineOutcome::RecordVm)
            }
        }
        MachineEffect::SyncNode { node, change } => {
            EffectResult::write(node::sync(context, observed, node, change).await, MachineOutcome::SyncNode)
        }
        MachineEffect::DeleteNode { node, uid } => EffectResult::write(
            node::delete(context, observed, node, uid).await.map(|()| None),
            MachineOutcome::DeleteNode,
        ),
        MachineEffect::ReleaseFinalizer => {
            EffectResult::write(remove_finalizer(context, observed).await, MachineOutcome::ReleaseFinalizer)
        }
        MachineEffect::WriteMachine(change) => {
            EffectResult::write(write_machine(context, observed, change).await, MachineOutcome::WriteMachine)
        }
        MachineEffect::DeleteMachine => {
            EffectResult::write(delete_machine(context, observed).await, MachineOutcome::DeleteMachine)
        }
        MachineEffect::Cordon { node } => {
            EffectResult::write(node::cordon(context, observed, node).await, MachineOutcome::Cordon)
        }
        MachineEffect::NoteHooks => {
            EffectResult::write(note_hooks(context, observed).await, MachineOutcome::NoteHooks)
        }
        MachineEffect::AskPermit(question) => {
            let permit = tenant.meltdown().ask(&observed.view.machine.key, *question, context.clock.now());
            EffectResult::call(MachineOutcome::AskPermit(Ok(permit)))
        }
        MachineEffect::ExtendToken { until } => {
            EffectResult::call(MachineOutcome::ExtendToken(token::extend(context, observed, *until).await))
        }
        MachineEffect::WriteCapacity { node, resources } => EffectResult::write(
            node::write_capacity(context, observed, node, resources).await,
            MachineOutcome::WriteCapacity,
        ),
        MachineEffect::Drain(effect) => {
            let choice = &observed.choice;
            let volumes = VolumeDriver {
                drivers: &*tenant.drivers,
                provider: &choice.provider,
                pin: choice.pin_for(&observed.view.driver),
            };
            let drainer = Drainer {
                machine: &observed.view.machine.key,
                volumes,
                has_slot: learned.drain_slot.is_some(),
            };
            let (outcome, drain_slot) =
                drain::perform(context, tenant.drains.as_deref(), &drainer, effect).await;
            EffectResult { drain_slot, ..EffectResult::call(MachineOutcome::Drain(outcome)) }
        }
        MachineEffect::SetNodeCondition { node, condition } => EffectResult::write(
            node::set_condition(context, observed, node, condition).await,
            MachineOutcome::SetNodeCondition,
        ),
    }
}

fn class_name(observed: &ObservedMachine) -> Option<Name> {
    observed.machine.spec.class.name.as_deref().map(Name::new)
}

fn machines(context: &Context, observed: &ObservedMachine) -> Api<Machine> {
    Api::namespaced(context.control.clone(), observed.view.machine.key.namespace.as_str())
}

async fn patch_machine(context: &Context, observed: &ObservedMachine, patch: Value) -> WriteOutcome {
    let name = observed.view.machine.key.name.as_str();
    merge(&machines(context, observed), Kind::Machine, name, patch).await
}

async fn add_finalizer(context: &Context, observed: &ObservedMachine) -> WriteOutcome {
    let metadata = vm_notes::with_finalizer(&observed.machine.metadata, names::finalizers::MACHINE)
        .with_some("annotations", default_priority(observed));
    patch_machine(context, observed, metadata.patch()).await
}

/// A Machine without a priority gets the default one, as others expect to find one.
fn default_priority(observed: &ObservedMachine) -> Option<Value> {
    let priority = json!({ names::annotations::PRIORITY: names::annotations::DEFAULT_PRIORITY });
    (!observed.view.machine.has_priority).then_some(priority)
}

async fn note_hooks(context: &Context, observed: &ObservedMachine) -> WriteOutcome {
    let since = machinist_api::value::time(context.clock.now());
    let metadata = Metadata::of(&observed.machine.metadata)
        .with("annotations", json!({ names::annotations::PRE_TERMINATE_SINCE: since }));
    patch_machine(context, observed, metadata.patch()).await
}

/// Without a version: the id of the VM must be stored, whatever else has changed meanwhile.
async fn record_vm(
    effect_context: &MachineEffectContext<'_>,
    mark: Option<&str>,
    provider_id: &ProviderId,
    node_name: Option<&NodeName>,
) -> WriteOutcome {
    let MachineEffectContext { context, observed, learned, .. } = *effect_context;
    // The VM is known: its create needs no note any more.
    let is_noted = observed.view.machine.create_intent.is_some() || !observed.view.driver.keeps_keys();
    let until = learned.token_until.map(|until| json!({ TOKEN_UNTIL: until.to_string() }));
    let mark = mark.filter(|_| observed.view.marks.of_machine.is_none());
    let mark = mark.map(|mark| json!({ names::annotations::CLUSTER_MARK: mark }));
    let parts = [default_priority(observed), until, mark, is_noted.then(vm_notes::no_intent)];
    let mut annotations = Map::new();
    for part in parts.into_iter().flatten() {
        if let Value::Object(part) = part {
            annotations.extend(part);
        }
    }
    let metadata = Metadata::of(&observed.machine.metadata)
        .with_some("labels", node_name.map(|name| json!({ names::labels::NODE: name.as_str() })))
        .with_some("annotations", (!annotations.is_empty()).then_some(Value::Object(annotations)));
    let spec = json!({ "providerID": provider_id.as_str() });
    patch_machine(context, observed, metadata.patch_with_spec(&spec)).await
}

async fn write_machine(context: &Context, observed: &ObservedMachine, change: &MetaChange) -> WriteOutcome {
    let metadata = Metadata::of(&observed.machine.metadata).with_change(&change.labels, &change.annotations);
    patch_machine(context, observed, metadata.patch()).await
}

/// Only this Machine, not a later one of its name. Its finalizer keeps it until its VM and Node are gone.
async fn delete_machine(context: &Context, observed: &ObservedMachine) -> WriteOutcome {
    let (api, name) = (machines(context, observed), observed.view.machine.key.name.as_str());
    let params = only(observed.machine.metadata.uid.clone(), None);
    gone_is_done(within_deadline(api.delete(name, &params)).await).map(|()| None)
}

async fn remove_finalizer(context: &Context, observed: &ObservedMachine) -> WriteOutcome {
    let metadata = vm_notes::without_finalizer(&observed.machine.metadata, names::finalizers::MACHINE);
    finalizer_removed(patch_machine(context, observed, metadata.patch()).await)
}
