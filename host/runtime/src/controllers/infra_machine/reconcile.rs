//! One reconcile of a MachinistMachine: facts, steps of the core, effects on the object and on the cloud, the status.

use jiff::{SignedDuration, Timestamp};
use machinist_api::infrastructure::MachinistMachine;
use machinist_core::driver::Creation;
use machinist_core::driver::error::{CallError, Code};
use machinist_core::infra_machine::{IdentityFact, InfraConclusion, InfraReason, InfraStep, step};
use machinist_core::machine::{
    EffectTrait, MachineEffect, MachineOutcome, MachineProgress, Requeue, retry_write,
};
use machinist_core::scheduling::gate::EffectKind;
use machinist_core::value::id::{ObjectKey, ProviderId};
use serde_json::{Map, Value, json};
use tracing::debug;

use crate::context::Context;
use crate::context::key::Kind;
use crate::controllers::facts::infra_machine::observe::{ObservedInfraMachine, observe};
use crate::controllers::facts::infra_machine::related::RelatedObjects;
use crate::controllers::facts::machine::observe::RetryFacts;
use crate::controllers::frame::{self, Reconcile, reconciled_kind};
use crate::controllers::objects::metadata::Metadata;
use crate::controllers::state::TenantState;
use crate::driver_calls::call_slots::{CloudAccount, MachineCallSlots, Purpose};
use crate::driver_calls::vm_calls::account_signal;
use crate::events::Event;
use crate::message::{CredentialsSeen, Report};
use machinist_api::infrastructure::names::annotations::DRIVER_STATE;

use super::act::{self, InfraEffectContext, InfraEffectResult};
use super::{events, secrets, status_patch};

/// Reconciles a MachinistMachine. `contested_by`: other objects with the same key.
pub(crate) async fn run(
    tenant: &TenantState,
    context: &Context,
    key: &ObjectKey,
    retry_facts: RetryFacts,
    contested_by: Vec<ObjectKey>,
) -> Report {
    let Some(related) = RelatedObjects::of(tenant, key) else { return Report::only(Requeue::Gone) };
    let read = match secrets::read(tenant, context, &related).await {
        Ok(read) => read,
        Err(error) => {
            debug!(error = %error, "a Secret cannot be read");
            return Report::only(retry_write(&error));
        }
    };
    let account = related.account(tenant);
    let gate_state = *context.gate_state.borrow();
    let now = context.clock.now();
    let observed = observe(tenant, related, read, &gate_state, (retry_facts, contested_by), now);
    let misses = matches!(observed.view.identity, IdentityFact::Missing(_));
    let reconcile = InfraReconcile {
        tenant,
        context,
        slots: tenant.infra.vms.call_slots.slots_of(key),
        account,
        observed,
        progress: MachineProgress::default(),
        stored: None,
        found: None,
        placed: None,
        node_id: None,
        driver_state: None,
    };
    let credentials = misses.then_some(CredentialsSeen::Missing);
    Report { credentials, ..frame::run(context, reconcile).await }
}

struct InfraReconcile<'a> {
    tenant: &'a TenantState,
    context: &'a Context,
    slots: MachineCallSlots,
    account: CloudAccount,
    observed: ObservedInfraMachine,
    progress: MachineProgress,
    /// The VM that this reconcile has stored.
    stored: Option<ProviderId>,
    /// The VM that a look has found, and that is not stored.
    found: Option<ProviderId>,
    /// The spec of its class in its failure domain.
    placed: Option<String>,
    /// The id of the VM's Node.
    node_id: Option<ProviderId>,
    /// The state that the driver has returned last.
    driver_state: Option<String>,
}

reconciled_kind!(MachinistMachine, Kind::InfraMachine, InfraConclusion, |_| EffectKind::StatusWrite);

impl Reconcile for InfraReconcile<'_> {
    type Object = MachinistMachine;
    type Effect = MachineEffect;
    type Outcome = InfraEffectResult;
    type Conclusion = InfraConclusion;

    /// A batch follows a batch only with new outcomes.
    const BATCHES: usize = 16;

    fn object(&self) -> &MachinistMachine {
        &self.observed.machine
    }

    fn step(&self) -> InfraStep {
        step(&self.observed.view, &self.progress, self.context.clock.now())
    }

    fn postponed(&mut self, effects: &[MachineEffect], is_first: bool) -> Option<Requeue> {
        let machine = &self.observed.view.machine.machine;
        let calls = effects.iter().any(|effect| effect.is(EffectTrait::CallsDriver));
        if calls && self.is_paused_meanwhile() {
            return Some(Requeue::After(SignedDuration::ZERO));
        }
        let purpose = Purpose::of(machine.deletion.is_some(), machine.provider_id.is_some());
        let may_go = !purpose.must_ask(is_first, calls) || self.slots.enter(self.account.clone(), purpose);
        (!may_go).then_some(Requeue::After(frame::UNTIL_CALLED))
    }

    fn effect_name(effect: &MachineEffect) -> &'static str {
        effect.name()
    }

    fn effect_kind(&self, effect: &MachineEffect) -> EffectKind {
        effect.kind(&self.observed.view.machine.machine)
    }

    async fn perform(&self, effect: &MachineEffect, so_far: &Report) -> InfraEffectResult {
        let effect_context = InfraEffectContext {
            tenant: self.tenant,
            context: self.context,
            observed: &self.observed,
            stored: self.stored.as_ref().or(self.found.as_ref()),
            placed: self.placed.as_deref(),
            node_id: self.node_id.as_ref(),
            driver_state: self.new_driver_state(),
            written: so_far.last_written(Kind::InfraMachine),
        };
        act::perform(&effect_context, effect).await
    }

    fn refused(&self, effect: &MachineEffect, reason: &'static str) -> InfraEffectResult {
        InfraEffectResult::call(effect.refused(reason))
    }

    fn learn(&mut self, effect: MachineEffect, result: InfraEffectResult, report: &mut Report) {
        let InfraEffectResult { outcome, wrote, provider_id, driver_state_stored } = result;
        report.wrote.extend(wrote);
        self.stored = provider_id.or(self.stored.take());
        self.driver_state = returned_state(&outcome).or(self.driver_state.take());
        if driver_state_stored {
            self.observed.view.machine.machine.last_known_state.clone_from(&self.driver_state);
        }
        match &outcome {
            MachineOutcome::PlaceVm(Ok(placed)) => self.placed = Some(placed.clone()),
            MachineOutcome::NameNode(Ok(id)) => self.node_id = Some(id.clone()),
            // The VM is there, and its next step comes before it is stored.
            MachineOutcome::ProbeVm(Err(CallError::Guest(error))) if error.code == Code::Uninitialized => {
                self.found.clone_from(&error.provider_id);
            }
            _ => {}
        }
        let is_found = self.progress.create.is_none();
        report.events.extend(events::of_action(&self.observed, (&effect, &outcome), is_found));
        report.cloud = account_signal(&outcome).or(report.cloud);
        self.progress.record(outcome);
    }

    /// The object keeps the state that the driver returns, since a move loses the status.
    fn metadata(&self, conclusion: &InfraConclusion) -> Option<Value> {
        let state = conclusion.status.last_known_state.as_deref().filter(|state| self.is_new(state))?;
        let metadata = Metadata::of(&self.observed.machine.metadata);
        Some(metadata.with("annotations", json!({ DRIVER_STATE: state })).patch())
    }

    fn status(&self, conclusion: &InfraConclusion, now: Timestamp) -> Option<Map<String, Value>> {
        let machine = &self.observed.machine;
        // A MachineSet edits its new objects once more, and an early write of others makes that fail.
        let is_untouched = machine.status.is_none() && machine.metadata.deletion_timestamp.is_none();
        if conclusion.reason == InfraReason::WaitingForMachine && is_untouched {
            return None;
        }
        // The id of the VM is a change of the spec.
        let generation = machine.metadata.generation.map(|seen| seen + i64::from(self.stored.is_some()));
        status_patch::of(machine, conclusion, generation, now)
    }

    fn events(&self, conclusion: &InfraConclusion) -> Vec<Event> {
        events::of_conclusion(&self.observed, conclusion)
    }
}

impl InfraReconcile<'_> {
    /// The pause may have come while this reconcile read a Secret or waited for the cloud: the caches know it, and the
    /// facts do not.
    fn is_paused_meanwhile(&self) -> bool {
        let key = &self.observed.view.machine.machine.key;
        RelatedObjects::of(self.tenant, key).is_some_and(|related| related.pause().is_some())
    }

    fn is_new(&self, state: &str) -> bool {
        self.observed.view.machine.machine.last_known_state.as_deref() != Some(state)
    }

    fn new_driver_state(&self) -> Option<&str> {
        self.driver_state.as_deref().filter(|state| self.is_new(state))
    }
}

/// The state that the driver returns with an answer about the VM.
fn returned_state(outcome: &MachineOutcome) -> Option<String> {
    let vm = match outcome {
        MachineOutcome::CreateVm(Ok(Creation::Created(vm))) => vm,
        MachineOutcome::ProbeVm(Ok(vm)) | MachineOutcome::InitializeVm(Ok(vm)) => vm,
        _ => return None,
    };
    vm.last_known_state.clone()
}
