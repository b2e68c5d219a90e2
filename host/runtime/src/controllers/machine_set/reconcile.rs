//! One pass over a set: observe once, then ask the core and act until it concludes.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::join_all;
use kube::core::ObjectMeta;
use machinist_api::Machine;
use machinist_core::machine::Wake;
use machinist_core::machine_set::{Conclusion, Freshness, Progress, Step, invariants, step};
use machinist_core::scheduling::retry::RetryPolicy;
use machinist_core::value::id::{ObjectKey, Uid};
use tracing::{debug, warn};

use crate::context::Context;
use crate::context::key::Kind;
use crate::controllers::state::TenantState;
use crate::events::Event;
use crate::message::Report;
use crate::metrics::{Milestone, Pool};

use super::act::{self, EffectContext};
use super::events::{self, Actions};
use super::observe::{ObservedSet, observe};
use super::{Members, publish};

/// Seven batches make a hundred Machines, and each question before that takes a few. More than this is a bug.
const BATCHES_PER_RECONCILE: usize = 32;

/// Runs a pass. `members` are the Machines that the set may control.
pub(crate) async fn run(
    tenant: &TenantState,
    context: &Context,
    key: &ObjectKey,
    members: &Members,
    freshness: Freshness,
) -> Report {
    let gate = context.gate_state.borrow().gate;
    let Some(observed) = observe(tenant, gate, key, members, freshness) else {
        return Report::only(Wake::Gone);
    };
    let mut progress = Progress::default();
    let mut state = SetReconcileState::of(&observed);
    // One moment for the whole pass: who goes must not change between its batches.
    let now = context.clock.now();
    for _ in 0..BATCHES_PER_RECONCILE {
        match step(&observed.view, &progress, now) {
            Step::Act(effects) => {
                debug_assert_eq!(
                    invariants::batch(&observed.view, &progress, &effects, now),
                    Ok(()),
                    "{key}"
                );
                let effect_context = EffectContext {
                    tenant,
                    context,
                    observed: &observed,
                    machines: &state.machines,
                    set: &state.set,
                };
                let batch =
                    effects.iter().map(async |effect| (effect, act::perform(&effect_context, effect).await));
                let done = join_all(batch).await;
                for (effect, done) in done {
                    state.actions.note(effect, &done.outcome);
                    if let Some((kind, version)) = done.wrote {
                        if kind == Kind::Set {
                            state.set.resource_version = Some(version.clone());
                        }
                        state.wrote.push((kind, version));
                    }
                    if let Some((machines, version)) = done.listed {
                        state.machines = machines;
                        state.listed = Some((Kind::Machine, version));
                    }
                    progress.record(done.outcome);
                }
            }
            Step::Finish(conclusion) => {
                let is_kept = invariants::conclusion(&observed.view, &progress, &conclusion);
                debug_assert_eq!(is_kept, Ok(()), "{key}: {conclusion:?}");
                return finish(context, &observed, &progress, &conclusion, state).await;
            }
        }
    }
    warn!("pass cut off: the steps do not come to an end");
    let wake = Wake::Retry { policy: RetryPolicy::LONG, hint: None };
    state.report(&observed, &progress, wake, Vec::new())
}

/// What a pass carries from batch to batch beside the outcomes.
struct SetReconcileState {
    /// The set's metadata, in the version that this pass has written last.
    set: ObjectMeta,
    machines: BTreeMap<Uid, Arc<Machine>>,
    wrote: Vec<(Kind, String)>,
    listed: Option<(Kind, String)>,
    actions: Actions,
    milestones: Vec<(Option<Pool>, Milestone)>,
}

impl SetReconcileState {
    fn of(observed: &ObservedSet) -> Self {
        Self {
            set: observed.set.metadata.clone(),
            machines: observed.machines.clone(),
            wrote: Vec::new(),
            listed: None,
            actions: Actions::default(),
            milestones: Vec::new(),
        }
    }

    fn report(self, observed: &ObservedSet, progress: &Progress, wake: Wake, events: Vec<Event>) -> Report {
        let ended = (wake == Wake::Gone).then(|| observed.set.metadata.uid.clone()).flatten();
        Report {
            wrote: self.wrote,
            is_unclear: progress.is_unclear(),
            listed: self.listed,
            events,
            milestones: self.milestones,
            ended,
            ..Report::only(wake)
        }
    }
}

async fn finish(
    context: &Context,
    observed: &ObservedSet,
    progress: &Progress,
    conclusion: &Conclusion,
    mut state: SetReconcileState,
) -> Report {
    debug!(reason = conclusion.reason.as_str(), message = %conclusion.message, wake = ?conclusion.wake, "pass ends");
    let version = state.set.resource_version.as_deref();
    let published = publish::publish(context, observed, &state.machines, conclusion, version).await;
    let published = published.finish(conclusion.wake, &context.own_set_status);
    state.milestones = state.actions.counted(conclusion);
    let mut events = std::mem::take(&mut state.actions).into_events(observed, conclusion);
    state.wrote.extend(published.wrote.map(|version| (Kind::Set, version)));
    if !published.is_frozen {
        let concluded = events::of_conclusion(observed, conclusion).into_iter();
        events.extend(concluded.map(|event| Event { is_unsupported: published.is_unsupported, ..event }));
    }
    state.report(observed, progress, published.wake, events)
}
