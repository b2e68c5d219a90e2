//! Drains of a Node whose Machine is not being deleted.

use jiff::Timestamp;

use crate::drain::{self, DrainEnd, DrainReport, Force};

use super::super::conclusion::Requeue;
use super::super::effect::{MachineEffect, MachineProgress};
use crate::machine::delete::force::has_health_problem;
use crate::machine::facts::{MachineView, NodeFact};
use crate::scheduling::retry::RetryPolicy;

/// The state of a drain without a deletion.
pub(super) enum DrainState {
    Act(Vec<MachineEffect>),
    Waits(DrainReport, Requeue),
    Done(DrainReport),
}

/// Drains the Node. The clock of the drain starts at `since`.
pub(super) fn empty(
    view: &MachineView,
    node: &NodeFact,
    since: Timestamp,
    progress: &MachineProgress,
    now: Timestamp,
) -> DrainState {
    let force = if view.machine.preservation.forces_drain {
        Some(Force::Requested)
    } else {
        has_health_problem(view, now).then_some(Force::NodeUnhealthy)
    };
    let settings = view.settings.drain();
    let request =
        drain::DrainRequest { node: &node.name, since, force, settings: &settings, facts: &view.drain };
    match drain::step(&request, &progress.drain, now) {
        drain::DrainStep::Act(effects) => {
            DrainState::Act(effects.into_iter().map(MachineEffect::Drain).collect())
        }
        drain::DrainStep::Wait { report, wake } => DrainState::Waits(report, wake),
        drain::DrainStep::Done { report } => match report.end {
            // Something is left, and this Node stays: the drain is tried again.
            Some(DrainEnd::ForcedInPart) => {
                let policy = RetryPolicy::SHORT;
                DrainState::Waits(report, Requeue::retry(policy))
            }
            Some(DrainEnd::Drained | DrainEnd::VolumesLeft | DrainEnd::NodeGone | DrainEnd::Forced)
            | None => DrainState::Done(report),
        },
    }
}
