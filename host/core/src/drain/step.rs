//! The next step of a drain.

use jiff::Timestamp;

use crate::driver::write_error::ActError;
use crate::scheduling::retry::RetryPolicy;
use crate::scheduling::step::Requeue;

use super::effect::{DrainEffect, DrainProgress, ReadConsistency};
use super::pods::volume::DrainMemory;
use super::report::{DrainEnd, DrainReport};
use super::request::{DrainRequest, DrainStage, NodeState};
use super::requeue::in_line;
use super::{forced, ordinary};

/// The next step of a drain.
#[derive(Clone, Debug)]
pub enum DrainStep {
    /// Do these, at the same time, and ask again.
    Act(Vec<DrainEffect>),
    Wait {
        report: DrainReport,
        wake: Requeue,
    },
    /// Nothing is left to do.
    Done {
        report: DrainReport,
    },
}

/// Decides what comes next in a drain. Pure: the same arguments give the same answer.
///
/// Promises: a reconcile has at most a few batches; a wait has an end; once the time is over the drain is done within a
/// pass, unless the API server asks for a pause.
pub fn step(request: &DrainRequest<'_>, progress: &DrainProgress, now: Timestamp) -> DrainStep {
    if request.facts.node == NodeState::Gone {
        let mut report = DrainReport::new(request, now);
        report.end = Some(DrainEnd::NodeGone);
        report.memory = DrainMemory::default();
        return DrainStep::Done { report: report.with_message(request, now) };
    }
    let Some(look) = &progress.pods else {
        let read = match DrainStage::of(request, now) {
            DrainStage::Ask | DrainStage::Insist => ReadConsistency::Cached,
            // The volumes of claims may stay unknown: the pods are deleted regardless.
            DrainStage::Force(_) => ReadConsistency::WithoutVolumes,
        };
        return DrainStep::Act(vec![DrainEffect::ListPods { node: request.node.clone(), read }]);
    };
    match (DrainStage::of(request, now), look) {
        (DrainStage::Force(force), look) => {
            forced::step(request, force, look.as_ref().map(|look| look.pods.as_slice()), progress, now)
        }
        (stage @ (DrainStage::Ask | DrainStage::Insist), Ok(look)) => {
            ordinary::step(request, stage, look, progress, now)
        }
        (DrainStage::Ask | DrainStage::Insist, Err(ActError::Throttled { after })) => {
            let mut report = DrainReport::new(request, now);
            report.is_in_line = true;
            DrainStep::Wait {
                report: report.with_message(request, now),
                wake: Requeue::After(in_line(request, *after, now)),
            }
        }
        (DrainStage::Ask | DrainStage::Insist, Err(error)) => {
            let mut report = DrainReport::new(request, now);
            report.failures.push(format!("the pods of the Node could not be listed: {error}"));
            let hint = error.retry_after();
            let wake = Requeue::Retry { policy: RetryPolicy::SHORT, hint };
            DrainStep::Wait { report: report.with_message(request, now), wake }
        }
    }
}
