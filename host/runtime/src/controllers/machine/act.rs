//! Effects on clusters and clouds. Each has a deadline, a precondition, and an outcome; none decides anything.

use futures::future::BoxFuture;
use kube::Api;
use machinist_api::{Machine, names};
use machinist_core::driver::error::Refusal;
use machinist_core::driver::write_error::ActError;
use machinist_core::driver::{DriverResult, MachineRequest, is_not_found};
use machinist_core::machine::{DriverFact, MachineEffect, MachineOutcome, MetaChange};
use machinist_core::scheduling::vm_checks::CheckResult;
use machinist_core::value::id::{Name, NodeName, ObjectKey, ProviderId};
use serde_json::{Map, Value, json};
use tracing::info;

use crate::client::errors::within_deadline;
use crate::client::field_manager::{CREATE_INTENT, CREATE_INTENT_BY, REBOOTS, TOKEN_UNTIL};
use crate::client::writes::{WriteOutcome, gone_is_done, merge, only};
use crate::context::Context;
use crate::context::key::Kind;
use crate::controllers::state::TenantState;
use crate::drain::{self, DrainSlot, Drainer, VolumeDriver};

use super::node;
use super::reconcile::Learned;
use super::request::{UserData, request};
use super::token::{self, BootstrapToken};
use crate::controllers::facts::machine::observe::ObservedMachine;
use crate::controllers::objects::metadata::Metadata;

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
    let MachineEffectContext { tenant, context, observed, learned, .. } = *effect_context;
    let cluster = &tenant.settings.cluster;
    let request = |user_data| request(observed, cluster, user_data, learned.token.as_deref());
    match effect {
        MachineEffect::AddFinalizer => {
            EffectResult::write(add_finalizer(context, observed).await, MachineOutcome::AddFinalizer)
        }
        MachineEffect::NoteIntent => {
            let by = tenant.creates.identity();
            EffectResult::write(note_intent(context, observed, by).await, MachineOutcome::NoteIntent)
        }
        MachineEffect::CloseIntent => {
            EffectResult::write(close_intent(effect_context).await, MachineOutcome::CloseIntent)
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
            let began = context.clock.now();
            let answer = ask(request(UserData::Hidden), |request| tenant.drivers.get_status(request)).await;
            let (machine, class) = (&observed.view.machine, class_name(observed));
            tenant.deletion_requests.probed(&machine.key, &machine.uid, class.as_ref(), &answer, began);
            let looked = match &answer {
                Ok(_) => CheckResult::Found,
                Err(error) if is_not_found(error) => CheckResult::Missing,
                Err(_) => CheckResult::Unknown,
            };
            tenant.looks().looked(&machine.key, looked, context.clock.now());
            EffectResult::call(MachineOutcome::ProbeVm(answer))
        }
        MachineEffect::CreateVm => {
            // From here on its VM may be there, whatever comes of the call.
            tenant.unstarted.asked(&observed.view.machine.uid);
            let (uid, clock) = (&observed.view.machine.uid, &context.clock);
            let noted = (!has_idempotency_keys(observed)).then(|| tenant.creates.begin(uid, clock));
            let answer = ask(request(UserData::Sent), |request| tenant.drivers.create(request)).await;
            if let Some(noted) = noted {
                noted.answered(&answer);
            }
            if let Ok(machinist_core::driver::Creation::Created(vm)) = &answer {
                info!(provider_id = %vm.provider_id, "VM created");
            }
            if let Some(class) = observed.machine.spec.class.name.as_deref() {
                let namespace = observed.machine.metadata.namespace.as_deref().unwrap_or_default();
                let is_there =
                    |class: &Name| tenant.classes.get(&ObjectKey::new(namespace, class.as_str())).is_some();
                tenant.capacity.observe(class, &answer, is_there, context.clock.now());
            }
            EffectResult::call(MachineOutcome::CreateVm(answer))
        }
        MachineEffect::InitializeVm => {
            let answer = ask(request(UserData::Sent), |mut request| {
                // The driver finds the VM by its id also in the reconcile that created it, however late reads of the
                // cloud are.
                request.machine.provider_id = learned.provider_id.clone().or(request.machine.provider_id);
                tenant.drivers.initialize(request)
            });
            EffectResult::call(MachineOutcome::InitializeVm(answer.await))
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
            let answer = ask(request(UserData::Hidden), |request| tenant.drivers.delete(request)).await;
            // From its answer on: a probe that began before says nothing about it.
            let machine = &observed.view.machine;
            tenant.deletion_requests.requested(&machine.key, &machine.uid, &answer, context.clock.now());
            if answer.is_ok() {
                info!(provider_id = ?observed.view.machine.provider_id, "VM deletion ordered");
            }
            EffectResult::call(MachineOutcome::DeleteVm(answer))
        }
        MachineEffect::RecordVm { provider_id, node_name, is_proven } => {
            let mark = is_proven.then_some(cluster.as_str());
            let recorded = record_vm(effect_context, mark, provider_id, node_name.as_ref()).await;
            if recorded.is_ok() {
                tenant.creates.forget(&observed.view.machine.uid);
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

/// Asks the driver, unless the host refuses the request.
async fn ask<'a, T>(
    request: Result<MachineRequest, Refusal>,
    call: impl FnOnce(MachineRequest) -> BoxFuture<'a, DriverResult<T>>,
) -> DriverResult<T> {
    call(request?).await
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

/// The list of finalizers is written whole, so it must be the list that was read. A successful write also proves that
/// nobody added our finalizer before: this reconcile is the first.
async fn add_finalizer(context: &Context, observed: &ObservedMachine) -> WriteOutcome {
    let meta = &observed.machine.metadata;
    let mut finalizers = meta.finalizers.clone().unwrap_or_default();
    if !finalizers.iter().any(|name| name == names::finalizers::MACHINE) {
        finalizers.push(names::finalizers::MACHINE.to_owned());
    }
    let metadata = Metadata::of(meta)
        .in_version(meta)
        .with("finalizers", json!(finalizers))
        .with_some("annotations", default_priority(observed));
    patch_machine(context, observed, metadata.patch()).await
}

/// A Machine without a priority gets the default one, as others expect to find one.
fn default_priority(observed: &ObservedMachine) -> Option<Value> {
    let priority = json!({ names::annotations::PRIORITY: names::annotations::DEFAULT_PRIORITY });
    (!observed.view.machine.has_priority).then_some(priority)
}

async fn note_intent(context: &Context, observed: &ObservedMachine, by: &str) -> WriteOutcome {
    let note = json!({ CREATE_INTENT: context.clock.now().to_string(), CREATE_INTENT_BY: by });
    let metadata = Metadata::of(&observed.machine.metadata).with("annotations", note);
    patch_machine(context, observed, metadata.patch()).await
}

/// Only on the version that is known: a request that is late must not take off the note of a later create.
async fn close_intent(effect_context: &MachineEffectContext<'_>) -> WriteOutcome {
    let MachineEffectContext { context, observed, written, .. } = *effect_context;
    let meta = &observed.machine.metadata;
    let version = written.or(meta.resource_version.as_deref());
    let metadata =
        Metadata::of(meta).with("resourceVersion", json!(version)).with("annotations", no_intent());
    patch_machine(context, observed, metadata.patch()).await
}

/// Takes the note of a create off.
fn no_intent() -> Value {
    json!({ CREATE_INTENT: null, CREATE_INTENT_BY: null })
}

fn has_idempotency_keys(observed: &ObservedMachine) -> bool {
    match &observed.view.driver {
        DriverFact::Ready(driver) | DriverFact::Substitute { serving: driver, .. } => {
            driver.capabilities.idempotency_key
        }
        DriverFact::NotChosen | DriverFact::Refused(_) => true,
    }
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
    let is_noted = observed.view.machine.create_intent.is_some() || !has_idempotency_keys(observed);
    let until = learned.token_until.map(|until| json!({ TOKEN_UNTIL: until.to_string() }));
    let mark = mark.filter(|_| observed.view.marks.of_machine.is_none());
    let mark = mark.map(|mark| json!({ names::annotations::CLUSTER_MARK: mark }));
    let parts = [default_priority(observed), until, mark, is_noted.then(no_intent)];
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
    let meta = &observed.machine.metadata;
    let finalizers: Vec<&String> =
        meta.finalizers.iter().flatten().filter(|name| *name != names::finalizers::MACHINE).collect();
    let metadata = Metadata::of(meta).in_version(meta).with("finalizers", json!(finalizers));
    match patch_machine(context, observed, metadata.patch()).await {
        Err(ActError::Gone) => Ok(None),
        // The object is deleted with its last finalizer, so there is no version to wait for.
        other => other.map(|_| None),
    }
}
