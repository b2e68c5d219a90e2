//! What a drain does next.

use jiff::Timestamp;

use crate::driver::write_error::ActError;
use crate::machine::Wake;
use crate::scheduling::retry::RetryPolicy;

use super::effect::{Effect, Progress, Read};
use super::pods::volume::Memory;
use super::report::{End, Report};
use super::request::{NodeState, Request};
use super::stage::Stage;
use super::wake::in_line;
use super::{forced, ordinary};

/// What to do next.
#[derive(Clone, Debug)]
pub enum Step {
    /// Do these, at the same time, and ask again.
    Act(Vec<Effect>),
    /// Come back later.
    Wait {
        /// How it stands.
        report: Report,
        /// When.
        wake: Wake,
    },
    /// Nothing is left to do.
    Done {
        /// How it ended.
        report: Report,
    },
}

/// Decides what comes next in a drain. Pure: the same arguments give the same answer.
///
/// Promises: a pass has at most a few batches; a wait has an end; once the time is over the drain is done within a pass,
/// unless the API server asks for patience.
pub fn step(request: &Request<'_>, progress: &Progress, now: Timestamp) -> Step {
    if request.facts.node == NodeState::Gone {
        let mut report = Report::new(request, now);
        report.end = Some(End::NodeGone);
        report.memory = Memory::default();
        return Step::Done { report: report.told(request, now) };
    }
    let Some(look) = &progress.pods else {
        let read = match Stage::of(request, now) {
            Stage::Ask | Stage::Insist => Read::Cached,
            // What is behind claims may be unknown for as long as it likes: the pods go all the same.
            Stage::Force(_) => Read::WithoutVolumes,
        };
        return Step::Act(vec![Effect::LookAtPods { node: request.node.clone(), read }]);
    };
    match (Stage::of(request, now), look) {
        (Stage::Force(force), look) => {
            forced::step(request, force, look.as_ref().map(|look| look.pods.as_slice()), progress, now)
        }
        (stage @ (Stage::Ask | Stage::Insist), Ok(look)) => {
            ordinary::step(request, stage, look, progress, now)
        }
        (Stage::Ask | Stage::Insist, Err(ActError::Throttled { after })) => {
            let mut report = Report::new(request, now);
            report.is_in_line = true;
            Step::Wait { report: report.told(request, now), wake: Wake::After(in_line(request, *after, now)) }
        }
        (Stage::Ask | Stage::Insist, Err(error)) => {
            let mut report = Report::new(request, now);
            report.failures.push(format!("the pods of the Node could not be listed: {error}"));
            let hint = error.retry_after();
            let wake = Wake::Retry { policy: RetryPolicy::SHORT, hint };
            Step::Wait { report: report.told(request, now), wake }
        }
    }
}
