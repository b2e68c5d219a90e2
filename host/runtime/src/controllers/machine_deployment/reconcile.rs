//! One pass over a deployment: observe once, then ask the core and act until it concludes.

use futures::future::join_all;
use machinist_core::driver::write_error::ActError;
use machinist_core::machine::Wake;
use machinist_core::machine_deployment::{Conclusion, Effect, Progress, Step, invariants, step};
use machinist_core::scheduling::retry::RetryPolicy;
use machinist_core::value::id::ObjectKey;
use tracing::{debug, warn};

use crate::context::Context;
use crate::context::key::Kind;
use crate::controllers::state::TenantState;
use crate::events::Event;
use crate::message::Report;

use super::observe::{ObservedDeployment, observe};
use super::{OwnerTree, act, events, publish};

/// A pass plans once and does what it has planned: a handful of batches. More than this is a bug.
const BATCHES_PER_RECONCILE: usize = 16;

/// Runs a pass.
pub(crate) async fn run(
    tenant: &TenantState,
    context: &Context,
    key: &ObjectKey,
    owner_tree: &OwnerTree,
) -> Report {
    let gate = context.gate_state.borrow().gate;
    let Some(observed) = observe(tenant, gate, key, owner_tree) else { return Report::only(Wake::Gone) };
    // One moment for the whole pass: its plan must not change between its batches.
    let now = context.clock.now();
    let mut progress = Progress::default();
    let mut report = Report::only(Wake::Resync);
    for _ in 0..BATCHES_PER_RECONCILE {
        match step(&observed.view, &progress, now) {
            Step::Act(effects) => {
                let is_kept = invariants::batch(&observed.view, &progress, &effects, now);
                debug_assert_eq!(is_kept, Ok(()), "{key}: {effects:?}");
                let batch = effects.into_iter().map(async |effect| {
                    let result = act::perform(tenant, context, &observed, &effect).await;
                    (effect, result)
                });
                for (effect, result) in join_all(batch).await {
                    report.is_unclear |= is_unclear(&effect, result.as_ref().err());
                    let outcome = result.map(|(done, wrote)| {
                        if let (Effect::WriteSet { set, .. }, Some((Kind::Set, version))) = (&effect, &wrote)
                        {
                            let set = ObjectKey::new(key.namespace.as_str(), set.name.as_str());
                            report.wrote_sets.push((set, version.clone()));
                        }
                        report.wrote.extend(wrote);
                        done
                    });
                    progress.record(effect, outcome);
                }
            }
            Step::Finish(conclusion) => {
                let is_kept = invariants::conclusion(&observed.view, &progress, &conclusion);
                debug_assert_eq!(is_kept, Ok(()), "{key}: {conclusion:?}");
                return finish(context, &observed, conclusion, report).await;
            }
        }
    }
    warn!("pass cut off: the steps do not come to an end");
    Report { wake: Wake::Retry { policy: RetryPolicy::LONG, hint: None }, ..report }
}

/// A set that may still be made: nothing is decided about its deployment before that cannot happen any more.
fn is_unclear(effect: &Effect, error: Option<&ActError>) -> bool {
    matches!((effect, error), (Effect::CreateSet(_), Some(ActError::Ambiguous { .. })))
}

async fn finish(
    context: &Context,
    observed: &ObservedDeployment,
    conclusion: Conclusion,
    mut report: Report,
) -> Report {
    debug!(reason = conclusion.reason.as_str(), message = %conclusion.message, wake = ?conclusion.wake, "pass ends");
    let own = report.wrote.iter().rev().find(|(kind, _)| *kind == Kind::Deployment);
    let written = own.map(|(_, version)| version.clone());
    let published = publish::publish(context, observed, &conclusion, written.as_deref()).await;
    let published = published.finish(conclusion.wake, &context.own_deployment_status);
    report.wrote.extend(published.wrote.map(|version| (Kind::Deployment, version)));
    report.wake = published.wake;
    if report.wake == Wake::Gone {
        report.ended = observed.deployment.metadata.uid.clone();
    }
    if !published.is_frozen {
        let events = events::of_conclusion(observed, &conclusion);
        report.events.extend(
            events.into_iter().map(|event| Event { is_unsupported: published.is_unsupported, ..event }),
        );
    }
    report
}
