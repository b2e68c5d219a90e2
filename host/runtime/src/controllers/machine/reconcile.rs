//! One reconcile of a Machine: facts, steps of the core, effects on clusters and clouds, the status.

use jiff::{SignedDuration, Timestamp};
use machinist_api::Machine;
use machinist_core::machine::{
    EffectTrait, MachineConclusion, MachineEffect, MachineOutcome, MachineProgress, MachineReason,
    MachineStep, Requeue, invariants, step,
};
use machinist_core::safety::meltdown::Permit;
use machinist_core::scheduling::gate::EffectKind;
use machinist_core::value::id::{ObjectKey, ProviderId};
use machinist_core::value::phase::Phase;
use serde_json::{Map, Value};
use tracing::warn;

use crate::context::Context;
use crate::context::key::Kind;
use crate::controllers::frame::{self, Reconcile, reconciled_kind};
use crate::controllers::state::TenantState;
use crate::drain::DrainSlot;
use crate::driver_calls::call_slots::CloudAccount;
use crate::driver_calls::call_slots::{MachineCallSlots, Purpose};
use crate::driver_calls::vm_calls::account_signal;
use crate::events::Event;
use crate::message::Report;
use crate::metrics::Milestone;

use super::act::{self, EffectResult, MachineEffectContext};
use super::events;
use super::milestones;
use super::status_patch;
use crate::controllers::facts::machine::observe::{ObservedMachine, RetryFacts, observe};

/// Reconciles a Machine. `jitter` spreads retries.
pub(crate) async fn run(
    tenant: &TenantState,
    context: &Context,
    key: &ObjectKey,
    retry_facts: RetryFacts,
    conflict: &[ObjectKey],
    jitter: f64,
) -> Report {
    tenant.unstarted.answered(key).await;
    let gate_state = *context.gate_state.borrow();
    let now = context.clock.now();
    let Some(observed) = observe(tenant, &gate_state, key, retry_facts, conflict, now) else {
        return Report::only(Requeue::Gone);
    };
    let reconcile = MachineReconcile {
        tenant,
        context,
        slots: tenant.vms.call_slots.slots_of(key),
        observed,
        progress: MachineProgress::default(),
        learned: Learned::default(),
        jitter,
    };
    frame::run(context, reconcile).await
}

struct MachineReconcile<'a> {
    tenant: &'a TenantState,
    context: &'a Context,
    slots: MachineCallSlots,
    observed: ObservedMachine,
    progress: MachineProgress,
    learned: Learned,
    jitter: f64,
}

/// The facts that effects have added to a reconcile, beside their outcomes.
#[derive(Default)]
pub(super) struct Learned {
    pub(super) token: Option<String>,
    pub(super) provider_id: Option<ProviderId>,
    pub(super) token_until: Option<Timestamp>,
    pub(super) drain_slot: Option<DrainSlot>,
}

/// The result of an effect, and its time.
struct TimedResult {
    result: EffectResult,
    took: SignedDuration,
    ended: Timestamp,
}

reconciled_kind!(Machine, Kind::Machine, own_status, MachineConclusion, |conclusion| conclusion
    .status
    .kind());

impl Reconcile for MachineReconcile<'_> {
    type Object = Machine;
    type Effect = MachineEffect;
    type Outcome = TimedResult;
    type Conclusion = MachineConclusion;

    /// A batch follows a batch only with new outcomes.
    const BATCHES: usize = 16;

    fn object(&self) -> &Machine {
        &self.observed.machine
    }

    fn step(&self) -> MachineStep {
        let (view, progress, now) = (&self.observed.view, &self.progress, self.context.clock.now());
        let step = step(view, progress, now);
        let is_kept = || match &step {
            MachineStep::Act(effects) => invariants::batch(view, progress, effects, now),
            MachineStep::Finish(conclusion) => invariants::conclusion(view, progress, conclusion),
        };
        debug_assert_eq!(is_kept(), Ok(()), "{}: {step:?}", view.machine.key);
        step
    }

    fn postponed(&mut self, effects: &[MachineEffect], is_first: bool) -> Option<Requeue> {
        if !may_call(&self.slots, &self.observed, is_first, effects) {
            return Some(Requeue::After(frame::UNTIL_CALLED));
        }
        if !effects.iter().any(|effect| matches!(effect, MachineEffect::Drain(_))) {
            // The drain has nothing to ask any more: others may.
            self.learned.drain_slot = None;
        }
        None
    }

    fn effect_name(effect: &MachineEffect) -> &'static str {
        effect.name()
    }

    fn effect_kind(&self, effect: &MachineEffect) -> EffectKind {
        effect.kind(&self.observed.view.machine)
    }

    async fn perform(&self, effect: &MachineEffect, so_far: &Report) -> TimedResult {
        let clock = &self.context.clock;
        let began = clock.now();
        let effect_context = MachineEffectContext {
            tenant: self.tenant,
            context: self.context,
            observed: &self.observed,
            learned: &self.learned,
            written: so_far.last_written(Kind::Machine),
        };
        let result = act::perform(&effect_context, effect).await;
        let ended = clock.now();
        TimedResult { result, took: ended.duration_since(began), ended }
    }

    fn refused(&self, effect: &MachineEffect, reason: &'static str) -> TimedResult {
        let result = EffectResult::call(effect.refused(reason));
        TimedResult { result, took: SignedDuration::ZERO, ended: self.context.clock.now() }
    }

    fn learn(&mut self, effect: MachineEffect, timed: TimedResult, report: &mut Report) {
        let TimedResult { result, took, ended } = timed;
        let outcome = self.learned.take(result, report);
        if outcome.is_out_of_range() {
            // Several VMs answer to this Machine: one of them may be nobody's.
            self.context.orphans_are_likely.notify_one();
        }
        let action = events::of_action(&self.observed, &effect, &outcome);
        // A reconcile may wait for its cloud for minutes after this.
        report.events.extend(action.map(|action| Event { at: Some(ended), ..action }));
        self.reached(milestones::of_outcome(&self.observed, &outcome, took, ended), report);
        report.cloud = account_signal(&outcome).or(report.cloud);
        self.progress.record(outcome);
    }

    fn conclude(&mut self, conclusion: &MachineConclusion, _report: &mut Report) {
        self.learned.drain_slot = None;
        let key = &self.observed.view.machine.key;
        let Some(drains) = &self.tenant.drains else { return };
        if self.progress.drain.pods.is_none() {
            // Its slot, if it was given one, is the next one's.
            drains.leave_queue(key);
        }
        if let Some(memory) = &conclusion.status.drain_memory {
            drains.remember(key, memory);
        }
    }

    fn status(&self, conclusion: &MachineConclusion, now: Timestamp) -> Option<Map<String, Value>> {
        status_patch::of(&self.observed, conclusion, now, self.jitter)
    }

    fn events(&self, conclusion: &MachineConclusion) -> Vec<Event> {
        events::of_conclusion(&self.observed, conclusion)
    }

    fn concluded(&mut self, conclusion: &MachineConclusion, is_frozen: bool, report: &mut Report) {
        let key = &self.observed.view.machine.key;
        let fails = conclusion.status.phase == Some(Phase::Failed);
        let holds_permit = matches!(self.progress.permit, Some(Ok(Permit::Granted { .. })));
        let reboots = matches!(self.progress.note_reboot, Some(Ok(())));
        // A used permit is kept until the cache shows the result.
        if holds_permit && (!fails || is_frozen) && !reboots {
            report.wakes = self.tenant.meltdown().give_back(key);
        }
        if is_frozen {
            return;
        }
        if conclusion.reason == MachineReason::VmDeclaredGone {
            // For whoever asks later what became of a VM.
            warn!(audit = true, machine = %key, message = %conclusion.message, "machine let go unseen");
        }
        let now = self.context.clock.now();
        self.reached(milestones::of_conclusion(&self.observed, conclusion, now), report);
        report.ready = Some(status_patch::ready_condition(conclusion, now));
    }
}

impl MachineReconcile<'_> {
    fn reached(&self, milestones: impl IntoIterator<Item = Milestone>, report: &mut Report) {
        let of_pool = |milestone| (milestones::pool(&self.observed), milestone);
        report.milestones.extend(milestones.into_iter().map(of_pool));
    }
}

/// Returns whether there is a call slot for these effects.
fn may_call(
    slots: &MachineCallSlots,
    observed: &ObservedMachine,
    is_first: bool,
    effects: &[MachineEffect],
) -> bool {
    let machine = &observed.view.machine;
    let is_call = |effect: &MachineEffect| effect.is(EffectTrait::CallsDriver);
    let purpose = Purpose::of(machine.deletion.is_some(), machine.provider_id.is_some());
    let must_ask = purpose.must_ask(is_first, effects.iter().any(is_call));
    let Some(class) = observed.class.as_deref().filter(|_| must_ask) else { return true };
    slots.enter(CloudAccount::of(class), purpose)
}

impl Learned {
    /// Takes over what an effect adds to the facts, and returns its outcome.
    fn take(&mut self, result: EffectResult, report: &mut Report) -> MachineOutcome {
        if let Some(drain_slot) = result.drain_slot {
            self.drain_slot = Some(drain_slot);
        }
        if let Some(token) = result.token {
            self.token = Some(token.text);
            self.token_until = Some(token.until);
        }
        if let Some(id) = result.provider_id {
            self.provider_id = Some(id);
        }
        report.wrote.extend(result.wrote);
        result.outcome
    }
}
