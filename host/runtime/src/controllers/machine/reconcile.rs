//! One pass over a Machine: observe once, then ask the core and act until it concludes.

use futures::future::join_all;
use jiff::{SignedDuration, Timestamp};
use machinist_core::driver::Answer;
use machinist_core::driver::error::{CallError, Code};
use machinist_core::machine::{Conclusion, Effect, Outcome, Progress, Reason, Step, Wake, invariants, step};
use machinist_core::safety::meltdown::Permit;
use machinist_core::scheduling::retry::RetryPolicy;
use machinist_core::value::id::{ObjectKey, ProviderId};
use machinist_core::value::phase::Phase;
use tracing::{debug, warn};

use crate::context::Context;
use crate::context::key::Kind;
use crate::controllers::state::TenantState;
use crate::drain::DrainSlot;
use crate::driver_calls::call_slots::{MachineCallSlots, Purpose};
use crate::driver_calls::cloud_account::CloudAccount;
use crate::events::Event;
use crate::message::{AccountSignal, Report};
use crate::metrics::Milestone;

use super::act::{self, EffectResult};
use super::events;
use super::facts::observe::{ObservedMachine, observe};
use super::milestones;
use super::publish;

/// A batch follows a batch only with new outcomes, so a pass is short. More than this is a bug, not a slow cloud.
const BATCHES_PER_RECONCILE: usize = 16;

/// The facts about earlier passes that no object tells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RetryFacts {
    /// Failed passes in a row until now.
    pub(crate) failures: u32,
    /// The cloud account of the Machine has answered a moment ago, and this one does not fail by itself.
    pub(crate) account_answers: bool,
}

/// Runs a pass. `jitter` spreads retries.
pub(crate) async fn run(
    tenant: &TenantState,
    context: &Context,
    key: &ObjectKey,
    retry_facts: RetryFacts,
    rivals: &[ObjectKey],
    jitter: f64,
) -> Report {
    tenant.unstarted.answered(key).await;
    let gate_state = *context.gate_state.borrow();
    let now = context.clock.now();
    let Some(observed) = observe(tenant, &gate_state, key, retry_facts, rivals, now) else {
        return Report::only(Wake::Gone);
    };
    let mut progress = Progress::default();
    let mut state = ReconcileState::default();
    let slots = tenant.call_slots.slots_of(key);
    for batch in 0..BATCHES_PER_RECONCILE {
        let now = context.clock.now();
        match step(&observed.view, &progress, now) {
            Step::Act(effects) => {
                debug_assert_eq!(
                    invariants::batch(&observed.view, &progress, &effects, now),
                    Ok(()),
                    "{key}"
                );
                if !may_call(&slots, &observed, batch == 0, &effects) {
                    return state.report(&observed, Wake::After(UNTIL_CALLED));
                }
                if !effects.iter().any(|effect| matches!(effect, Effect::Drain(_))) {
                    // The drain has nothing to ask any more: others may.
                    state.drain_slot = None;
                }
                let batch = effects.iter().map(async |effect| {
                    let began = context.clock.now();
                    let done = act::perform(tenant, context, &observed, &state, effect).await;
                    let now = context.clock.now();
                    (effect, done, now.duration_since(began), now)
                });
                for (effect, mut done, took, now) in join_all(batch).await {
                    state.learn(&mut done);
                    if done.outcome.is_out_of_range() {
                        // Several VMs answer to this Machine: one of them may be nobody's.
                        context.orphans_are_likely.notify_one();
                    }
                    let action = events::of_action(&observed, effect, &done.outcome);
                    // A pass may wait for its cloud for minutes after this.
                    state.events.extend(action.map(|action| Event { at: Some(now), ..action }));
                    state.milestones.extend(milestones::of_outcome(&observed, &done.outcome, took, now));
                    state.cloud = account_signal(&done.outcome).or(state.cloud);
                    progress.record(done.outcome);
                }
            }
            Step::Finish(conclusion) => {
                state.drain_slot = None;
                if let Some(drains) = tenant.drains.as_ref().filter(|_| progress.drain.pods.is_none()) {
                    // Its turn, if it was called to one, is the next one's.
                    drains.leave_queue(key);
                }
                let is_kept = invariants::conclusion(&observed.view, &progress, &conclusion);
                debug_assert_eq!(is_kept, Ok(()), "{key}: {conclusion:?}");
                let holds_permit = matches!(progress.permit, Some(Ok(Permit::Granted { .. })));
                let fails = conclusion.status.phase == Some(Phase::Failed);
                if let (Some(drains), Some(state)) = (&tenant.drains, &conclusion.status.drain_memory) {
                    drains.remember(key, state);
                }
                let reboots = matches!(progress.note_reboot, Some(Ok(())));
                let (report, is_frozen) = finish(context, &observed, conclusion, state, jitter).await;
                // A permit that was used is held until the cache shows what became of it.
                let is_unused = holds_permit && (!fails || is_frozen) && !reboots;
                let wakes = if is_unused { tenant.meltdown().give_back(key) } else { Vec::new() };
                return Report { wakes, ..report };
            }
        }
    }
    warn!("pass cut off: the steps do not come to an end");
    let wake = Wake::Retry { policy: RetryPolicy::LONG, hint: None };
    state.report(&observed, wake)
}

/// A Machine that finds no room to call its driver is woken when there is some. This is for a call that gets lost.
const UNTIL_CALLED: SignedDuration = SignedDuration::from_mins(2);

/// Whether there is room for the calls of these effects. A creation asks before its first effect: between its note that
/// a VM may come and the call nothing may wait. What else has begun goes on, but for deletions, which begin again as
/// they please.
fn may_call(
    slots: &MachineCallSlots,
    observed: &ObservedMachine,
    is_first: bool,
    effects: &[Effect],
) -> bool {
    let machine = &observed.view.machine;
    let is_call = |effect: &Effect| effect.calls_driver();
    let purpose = match (machine.deletion.is_some(), machine.provider_id.is_some()) {
        (true, _) => Purpose::Deletion,
        (false, false) => Purpose::Creation,
        (false, true) => Purpose::Probe,
    };
    let must_ask = match purpose {
        Purpose::Deletion => effects.iter().any(is_call),
        Purpose::Creation => is_first,
        Purpose::Probe => is_first && effects.iter().any(is_call),
    };
    let Some(class) = observed.class.as_deref().filter(|_| must_ask) else { return true };
    slots.enter(CloudAccount::of(class), purpose)
}

/// What a pass carries from batch to batch beside the outcomes.
#[derive(Default)]
pub(super) struct ReconcileState {
    pub(super) token: Option<String>,
    pub(super) provider_id: Option<ProviderId>,
    pub(super) token_until: Option<Timestamp>,
    pub(super) drain_slot: Option<DrainSlot>,
    wrote: Vec<(Kind, String)>,
    events: Vec<Event>,
    milestones: Vec<Milestone>,
    cloud: Option<AccountSignal>,
}

/// What the outcome says of the cloud account. An error that does not pass by itself is an answer to this Machine alone.
fn account_signal(outcome: &Outcome) -> Option<AccountSignal> {
    fn of<T>(answer: &Answer<T>) -> Option<AccountSignal> {
        match answer {
            Ok(_) => Some(AccountSignal::Answered),
            Err(error) => match error.code() {
                Code::NotFound | Code::Uninitialized => Some(AccountSignal::Answered),
                Code::Unknown | Code::DeadlineExceeded | Code::Aborted | Code::Unavailable => {
                    matches!(error, CallError::Guest(_)).then_some(AccountSignal::Unavailable)
                }
                Code::Canceled
                | Code::InvalidArgument
                | Code::AlreadyExists
                | Code::PermissionDenied
                | Code::ResourceExhausted
                | Code::FailedPrecondition
                | Code::OutOfRange
                | Code::Unimplemented
                | Code::Internal
                | Code::DataLoss
                | Code::Unauthenticated => None,
            },
        }
    }
    match outcome {
        Outcome::ProbeVm(answer) | Outcome::InitializeVm(answer) => of(answer),
        Outcome::CreateVm(answer) => of(answer),
        Outcome::DeleteVm(answer) => of(answer),
        _ => None,
    }
}

impl ReconcileState {
    fn report(self, observed: &ObservedMachine, wake: Wake) -> Report {
        let pool = milestones::pool(observed);
        let milestones = self.milestones.into_iter().map(|milestone| (pool.clone(), milestone)).collect();
        let ended = (wake == Wake::Gone).then(|| observed.machine.metadata.uid.clone()).flatten();
        let cloud = self.cloud;
        Report { wrote: self.wrote, events: self.events, milestones, cloud, ended, ..Report::only(wake) }
    }

    /// The last version of such an object that the pass has written.
    pub(super) fn wrote_last(&self, kind: Kind) -> Option<&str> {
        let last = self.wrote.iter().rev().find(|(wrote, _)| *wrote == kind);
        last.map(|(_, version)| version.as_str())
    }

    fn learn(&mut self, done: &mut EffectResult) {
        if let Some(drain_slot) = done.drain_slot.take() {
            self.drain_slot = Some(drain_slot);
        }
        if let Some(token) = &done.token {
            self.token = Some(token.text.clone());
            self.token_until = Some(token.until);
        }
        if let Some(id) = &done.provider_id {
            self.provider_id = Some(id.clone());
        }
        self.wrote.extend(done.wrote.clone());
    }
}

/// With whether the gate held the conclusion back.
async fn finish(
    context: &Context,
    observed: &ObservedMachine,
    conclusion: Conclusion,
    mut state: ReconcileState,
    jitter: f64,
) -> (Report, bool) {
    debug!(reason = conclusion.reason.as_str(), message = %conclusion.message, wake = ?conclusion.wake, "pass ends");
    let written = state.wrote_last(Kind::Machine);
    let published = publish::publish(context, observed, &conclusion, written, jitter).await;
    let published = published.finish(conclusion.wake, &context.own_status);
    state.wrote.extend(published.wrote.map(|version| (Kind::Machine, version)));
    if published.is_frozen {
        return (state.report(observed, published.wake), true);
    }
    if conclusion.reason == Reason::VmDeclaredGone {
        // For whoever asks later what became of a VM.
        warn!(audit = true, machine = %observed.view.machine.key, message = %conclusion.message, "machine let go unseen");
    }
    let events = events::of_conclusion(observed, &conclusion);
    state
        .events
        .extend(events.into_iter().map(|event| Event { is_unsupported: published.is_unsupported, ..event }));
    let now = context.clock.now();
    state.milestones.extend(milestones::of_conclusion(observed, &conclusion, now));
    let ready = Some(publish::ready_condition(&conclusion, now));
    (Report { ready, ..state.report(observed, published.wake) }, false)
}
