//! One pass over a set: observe once, then ask the core and act until it concludes.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::join_all;
use kube::core::ObjectMeta;
use machinist_api::Machine;
use machinist_core::machine::Requeue;
use machinist_core::machine_set::{Freshness, SetConclusion, SetProgress, SetStep, invariants, step};
use machinist_core::scheduling::retry::RetryPolicy;
use machinist_core::value::id::{ObjectKey, Uid};
use tracing::{debug, warn};

use crate::event_loop::{Kind, Report};
use crate::events::News;
use crate::metrics::{Milestone, Pool};
use crate::tenant::context::Context;
use crate::tenant::world::World;

use super::act::{self, Scene};
use super::events::{self, Deeds};
use super::observe::{Observed, observe};
use super::{Members, publish};

/// Seven batches make a hundred Machines, and each question before that takes a few. More than this is a bug.
const BATCHES_PER_PASS: usize = 32;

/// Runs a pass. `members` are the Machines that the set may control.
pub(crate) async fn run(
    world: &World,
    context: &Context,
    key: &ObjectKey,
    members: &Members,
    freshness: Freshness,
) -> Report {
    let gate = context.hold.borrow().gate;
    let Some(observed) = observe(world, gate, key, members, freshness) else {
        return Report::only(Requeue::Gone);
    };
    let mut progress = SetProgress::default();
    let mut memory = Memory::of(&observed);
    // One moment for the whole pass: who goes must not change between its batches.
    let now = context.clock.now();
    for _ in 0..BATCHES_PER_PASS {
        match step(&observed.view, &progress, now) {
            SetStep::Act(effects) => {
                debug_assert_eq!(
                    invariants::batch(&observed.view, &progress, &effects, now),
                    Ok(()),
                    "{key}"
                );
                let scene = Scene {
                    world,
                    context,
                    observed: &observed,
                    machines: &memory.machines,
                    set: &memory.set,
                };
                let batch = effects.iter().map(async |effect| (effect, act::perform(&scene, effect).await));
                let done = join_all(batch).await;
                for (effect, done) in done {
                    memory.deeds.note(effect, &done.outcome);
                    if let Some((kind, version)) = done.wrote {
                        if kind == Kind::Set {
                            memory.set.resource_version = Some(version.clone());
                        }
                        memory.wrote.push((kind, version));
                    }
                    if let Some((machines, version)) = done.listed {
                        memory.machines = machines;
                        memory.looked = Some((Kind::Machine, version));
                    }
                    progress.record(done.outcome);
                }
            }
            SetStep::Finish(conclusion) => {
                let is_kept = invariants::conclusion(&observed.view, &progress, &conclusion);
                debug_assert_eq!(is_kept, Ok(()), "{key}: {conclusion:?}");
                return finish(context, &observed, &progress, &conclusion, memory).await;
            }
        }
    }
    warn!("pass cut off: the steps do not come to an end");
    let wake = Requeue::Retry { policy: RetryPolicy::LONG, hint: None };
    memory.report(&observed, &progress, wake, Vec::new())
}

/// What a pass carries from batch to batch beside the outcomes.
struct Memory {
    /// The set's metadata, in the version that this pass has written last.
    set: ObjectMeta,
    machines: BTreeMap<Uid, Arc<Machine>>,
    wrote: Vec<(Kind, String)>,
    looked: Option<(Kind, String)>,
    deeds: Deeds,
    milestones: Vec<(Option<Pool>, Milestone)>,
}

impl Memory {
    fn of(observed: &Observed) -> Self {
        Self {
            set: observed.set.metadata.clone(),
            machines: observed.machines.clone(),
            wrote: Vec::new(),
            looked: None,
            deeds: Deeds::default(),
            milestones: Vec::new(),
        }
    }

    fn report(self, observed: &Observed, progress: &SetProgress, wake: Requeue, news: Vec<News>) -> Report {
        let ended = (wake == Requeue::Gone).then(|| observed.set.metadata.uid.clone()).flatten();
        Report {
            wrote: self.wrote,
            is_unclear: progress.is_unclear(),
            looked: self.looked,
            news,
            milestones: self.milestones,
            ended,
            ..Report::only(wake)
        }
    }
}

async fn finish(
    context: &Context,
    observed: &Observed,
    progress: &SetProgress,
    conclusion: &SetConclusion,
    mut memory: Memory,
) -> Report {
    debug!(reason = conclusion.reason.as_str(), message = %conclusion.message, wake = ?conclusion.wake, "pass ends");
    let version = memory.set.resource_version.as_deref();
    let published = publish::publish(context, observed, &memory.machines, conclusion, version).await;
    let settled = published.settle(conclusion.wake, &context.own_set_status);
    memory.milestones = memory.deeds.counted(conclusion);
    let mut news = std::mem::take(&mut memory.deeds).told(observed, conclusion);
    memory.wrote.extend(settled.wrote.map(|version| (Kind::Set, version)));
    if !settled.is_held {
        let concluded = events::of_conclusion(observed, conclusion).into_iter();
        news.extend(concluded.map(|news| News { is_mute: settled.is_mute, ..news }));
    }
    memory.report(observed, progress, settled.wake, news)
}
