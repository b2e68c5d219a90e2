//! Drains of a Node whose Machine is not being deleted.

use jiff::Timestamp;

use crate::drain::{self, End, Force, Report};

use super::super::conclusion::Wake;
use super::super::effect::{Effect, Progress};
use crate::machine::delete::force::is_ailing;
use crate::machine::facts::{MachineView, NodeFact};

/// How a Node's emptying stands.
pub(super) enum Emptying {
    /// Do these first.
    Act(Vec<Effect>),
    /// Pods are leaving.
    Waits(Report, Wake),
    /// They have left.
    Done(Report),
}

/// Empties the Node. The clock of the drain runs since `since`.
pub(super) fn empty(
    view: &MachineView,
    node: &NodeFact,
    since: Timestamp,
    progress: &Progress,
    now: Timestamp,
) -> Emptying {
    let force = if view.machine.keeping.forces_drain {
        Some(Force::Requested)
    } else {
        is_ailing(view, now).then_some(Force::NodeUnhealthy)
    };
    let settings = view.settings.drain();
    let request = drain::Request { node: &node.name, since, force, settings: &settings, facts: &view.drain };
    match drain::step(&request, &progress.drain, now) {
        drain::Step::Act(effects) => Emptying::Act(effects.into_iter().map(Effect::Drain).collect()),
        drain::Step::Wait { report, wake } => Emptying::Waits(report, wake),
        drain::Step::Done { report } => match report.end {
            // Something is left, and this Node goes on: it is tried again.
            Some(End::ForcedInPart) => {
                let policy = crate::scheduling::retry::RetryPolicy::SHORT;
                Emptying::Waits(report, Wake::Retry { policy, hint: None })
            }
            Some(End::Drained | End::VolumesLeft | End::NodeGone | End::Forced) | None => {
                Emptying::Done(report)
            }
        },
    }
}
