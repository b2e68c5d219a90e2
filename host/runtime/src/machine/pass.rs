//! One pass over a Machine: observe once, then ask the core and act until it concludes.

use futures::future::join_all;
use jiff::{SignedDuration, Timestamp};
use machinist_core::driver::DriverResult;
use machinist_core::driver::error::{CallError, Code};
use machinist_core::machine::{
    MachineConclusion, MachineEffect, MachineOutcome, MachineProgress, MachineReason, MachineStep, Requeue,
    invariants, step,
};
use machinist_core::safety::meltdown::Permit;
use machinist_core::scheduling::retry::RetryPolicy;
use machinist_core::value::id::{ObjectKey, ProviderId};
use machinist_core::value::phase::Phase;
use tracing::{debug, warn};

use crate::drain::Turn;
use crate::driver_calls::call_rooms::{Purpose, Visit};
use crate::driver_calls::cloud_account::CloudAccount;
use crate::event_loop::{Heard, Kind, Report};
use crate::events::News;
use crate::metrics::Milestone;
use crate::tenant::context::Context;
use crate::tenant::world::World;

use super::act::{self, Done};
use super::events as news;
use super::facts::observe::{Observed, observe};
use super::milestones;
use super::publish;

/// A batch follows a batch only with new outcomes, so a pass is short. More than this is a bug, not a slow cloud.
const BATCHES_PER_PASS: usize = 16;

/// The facts about earlier passes that no object tells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Past {
    /// Failed passes in a row until now.
    pub(crate) failures: u32,
    /// The cloud account of the Machine has answered a moment ago, and this one does not fail by itself.
    pub(crate) account_answers: bool,
}

/// Runs a pass. `jitter` spreads retries.
pub(crate) async fn run(
    world: &World,
    context: &Context,
    key: &ObjectKey,
    past: Past,
    rivals: &[ObjectKey],
    jitter: f64,
) -> Report {
    world.newborns.answered(key).await;
    let hold = *context.hold.borrow();
    let now = context.clock.now();
    let Some(observed) = observe(world, &hold, key, past, rivals, now) else {
        return Report::only(Requeue::Gone);
    };
    let mut progress = MachineProgress::default();
    let mut memory = Memory::default();
    let visit = world.call_rooms.visit(key);
    for batch in 0..BATCHES_PER_PASS {
        let now = context.clock.now();
        match step(&observed.view, &progress, now) {
            MachineStep::Act(effects) => {
                debug_assert_eq!(
                    invariants::batch(&observed.view, &progress, &effects, now),
                    Ok(()),
                    "{key}"
                );
                if !may_call(&visit, &observed, batch == 0, &effects) {
                    return memory.report(&observed, Requeue::After(UNTIL_CALLED));
                }
                if !effects.iter().any(|effect| matches!(effect, MachineEffect::Drain(_))) {
                    // The drain has nothing to ask any more: others may.
                    memory.turn = None;
                }
                let batch = effects.iter().map(async |effect| {
                    let began = context.clock.now();
                    let done = act::perform(world, context, &observed, &memory, effect).await;
                    let now = context.clock.now();
                    (effect, done, now.duration_since(began), now)
                });
                for (effect, mut done, took, now) in join_all(batch).await {
                    memory.learn(&mut done);
                    if done.outcome.is_out_of_range() {
                        // Several VMs answer to this Machine: one of them may be nobody's.
                        context.orphans_are_likely.notify_one();
                    }
                    let deed = news::of_deed(&observed, effect, &done.outcome);
                    // A pass may wait for its cloud for minutes after this.
                    memory.news.extend(deed.map(|deed| News { at: Some(now), ..deed }));
                    memory.milestones.extend(milestones::of_outcome(&observed, &done.outcome, took, now));
                    memory.cloud = heard(&done.outcome).or(memory.cloud);
                    progress.record(done.outcome);
                }
            }
            MachineStep::Finish(conclusion) => {
                memory.turn = None;
                if let Some(drains) = world.drains.as_ref().filter(|_| progress.drain.pods.is_none()) {
                    // Its turn, if it was called to one, is the next one's.
                    drains.leave(key);
                }
                let is_kept = invariants::conclusion(&observed.view, &progress, &conclusion);
                debug_assert_eq!(is_kept, Ok(()), "{key}: {conclusion:?}");
                let holds_permit = matches!(progress.permit, Some(Ok(Permit::Granted { .. })));
                let fails = conclusion.status.phase == Some(Phase::Failed);
                if let (Some(drains), Some(memory)) = (&world.drains, &conclusion.status.drain_memory) {
                    drains.remember(key, memory);
                }
                let reboots = matches!(progress.note_reboot, Some(Ok(())));
                let (report, is_held) = finish(context, &observed, conclusion, memory, jitter).await;
                // A permit that was used is held until the cache shows what became of it.
                let is_unused = holds_permit && (!fails || is_held) && !reboots;
                let wakes = if is_unused { world.meltdown().give_back(key) } else { Vec::new() };
                return Report { wakes, ..report };
            }
        }
    }
    warn!("pass cut off: the steps do not come to an end");
    let wake = Requeue::Retry { policy: RetryPolicy::LONG, hint: None };
    memory.report(&observed, wake)
}

/// A Machine that finds no room to call its driver is woken when there is some. This is for a call that gets lost.
const UNTIL_CALLED: SignedDuration = SignedDuration::from_mins(2);

/// Whether there is room for the calls of these effects. A creation asks before its first effect: between its note that
/// a VM may come and the call nothing may wait. What else has begun goes on, but for deletions, which begin again as
/// they please.
fn may_call(visit: &Visit, observed: &Observed, is_first: bool, effects: &[MachineEffect]) -> bool {
    let machine = &observed.view.machine;
    let is_call = |effect: &MachineEffect| effect.calls_driver();
    let purpose = match (machine.deletion.is_some(), machine.provider_id.is_some()) {
        (true, _) => Purpose::Deletion,
        (false, false) => Purpose::Creation,
        (false, true) => Purpose::Look,
    };
    let must_ask = match purpose {
        Purpose::Deletion => effects.iter().any(is_call),
        Purpose::Creation => is_first,
        Purpose::Look => is_first && effects.iter().any(is_call),
    };
    let Some(class) = observed.class.as_deref().filter(|_| must_ask) else { return true };
    visit.enter(CloudAccount::of(class), purpose)
}

/// What a pass carries from batch to batch beside the outcomes.
#[derive(Default)]
pub(super) struct Memory {
    pub(super) token: Option<String>,
    pub(super) provider_id: Option<ProviderId>,
    pub(super) token_until: Option<Timestamp>,
    pub(super) turn: Option<Turn>,
    wrote: Vec<(Kind, String)>,
    news: Vec<News>,
    milestones: Vec<Milestone>,
    cloud: Option<Heard>,
}

/// What the outcome says of the cloud account. An error that does not pass by itself is an answer to this Machine alone.
fn heard(outcome: &MachineOutcome) -> Option<Heard> {
    fn of<T>(answer: &DriverResult<T>) -> Option<Heard> {
        match answer {
            Ok(_) => Some(Heard::Answer),
            Err(error) => match error.code() {
                Code::NotFound | Code::Uninitialized => Some(Heard::Answer),
                Code::Unknown | Code::DeadlineExceeded | Code::Aborted | Code::Unavailable => {
                    matches!(error, CallError::Guest(_)).then_some(Heard::Trouble)
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
        MachineOutcome::ProbeVm(answer) | MachineOutcome::InitializeVm(answer) => of(answer),
        MachineOutcome::CreateVm(answer) => of(answer),
        MachineOutcome::DeleteVm(answer) => of(answer),
        _ => None,
    }
}

impl Memory {
    fn report(self, observed: &Observed, wake: Requeue) -> Report {
        let pool = milestones::pool(observed);
        let milestones = self.milestones.into_iter().map(|milestone| (pool.clone(), milestone)).collect();
        let ended = (wake == Requeue::Gone).then(|| observed.machine.metadata.uid.clone()).flatten();
        let cloud = self.cloud;
        Report { wrote: self.wrote, news: self.news, milestones, cloud, ended, ..Report::only(wake) }
    }

    /// The last version of such an object that the pass has written.
    pub(super) fn wrote_last(&self, kind: Kind) -> Option<&str> {
        let last = self.wrote.iter().rev().find(|(wrote, _)| *wrote == kind);
        last.map(|(_, version)| version.as_str())
    }

    fn learn(&mut self, done: &mut Done) {
        if let Some(turn) = done.turn.take() {
            self.turn = Some(turn);
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
    observed: &Observed,
    conclusion: MachineConclusion,
    mut memory: Memory,
    jitter: f64,
) -> (Report, bool) {
    debug!(reason = conclusion.reason.as_str(), message = %conclusion.message, wake = ?conclusion.wake, "pass ends");
    let written = memory.wrote_last(Kind::Machine);
    let published = publish::publish(context, observed, &conclusion, written, jitter).await;
    let settled = published.settle(conclusion.wake, &context.own_status);
    memory.wrote.extend(settled.wrote.map(|version| (Kind::Machine, version)));
    if settled.is_held {
        return (memory.report(observed, settled.wake), true);
    }
    if conclusion.reason == MachineReason::VmDeclaredGone {
        // For whoever asks later what became of a VM.
        warn!(audit = true, machine = %observed.view.machine.key, message = %conclusion.message, "machine let go unseen");
    }
    let news = news::of_conclusion(observed, &conclusion);
    memory.news.extend(news.into_iter().map(|news| News { is_mute: settled.is_mute, ..news }));
    let now = context.clock.now();
    memory.milestones.extend(milestones::of_conclusion(observed, &conclusion, now));
    let said = Some(publish::said(&conclusion, now));
    (Report { said, ..memory.report(observed, settled.wake) }, false)
}
