//! What a drain does next.

use jiff::{SignedDuration, Timestamp};

use crate::machine::Wake;
use crate::retry::RetryPolicy;

use super::effect::{Effect, Progress, Read};
use super::pod::PodOwner;
use super::report::{End, Report};
use super::request::{NodeState, Request};

/// What to do next.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "a few a pass")]
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
pub fn step(request: &Request<'_>, progress: &Progress, now: Timestamp) -> Step {
    if request.facts.node == NodeState::Gone {
        return Step::Done { report: report(request, Some(End::NodeGone), now) };
    }
    match &progress.pods {
        None => Step::Act(vec![Effect::LookAtPods { node: request.node.clone(), read: Read::Latest }]),
        Some(Err(_)) => Step::Wait {
            report: report(request, None, now),
            wake: Wake::Retry { policy: RetryPolicy::SHORT, hint: None },
        },
        Some(Ok(look)) => {
            let is_ours = |owner| !matches!(owner, PodOwner::Mirror | PodOwner::DaemonSet);
            if look.pods.iter().any(|pod| is_ours(pod.owner)) {
                let report = report(request, None, now);
                return Step::Wait { report, wake: Wake::After(SignedDuration::from_secs(5)) };
            }
            Step::Done { report: report(request, Some(End::Drained), now) }
        }
    }
}

fn report(request: &Request<'_>, end: Option<End>, now: Timestamp) -> Report {
    let timeout = request.settings.timeout;
    Report {
        end,
        groups: Vec::new(),
        blocking_budgets: Vec::new(),
        force: request.force,
        force_at: request.since.checked_add(timeout).unwrap_or(Timestamp::MAX),
        elapsed: now.duration_since(request.since).max(SignedDuration::ZERO),
        failures: Vec::new(),
        memory: request.facts.memory.clone(),
        message: "pods are awaited".to_owned(),
    }
}
