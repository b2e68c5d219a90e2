//! Decides whether pods are still evicted, or deleted.

use jiff::{SignedDuration, Timestamp};

use crate::drain::Force;
use crate::machine::node::health::HealthProblem;
use crate::scheduling::gate::Gate;
use crate::value::phase::Phase;

use super::note::DeletionStage;
use crate::machine::conclusion::elapsed;
use crate::machine::facts::MachineView;

/// How long a Node must be not ready, or its disk read-only, before its pods cannot terminate on their own. A shorter
/// time may be a reboot or an upgrade of the kubelet. Only not ready may also be an outage of the API server.
const AILMENT_PATIENCE: SignedDuration = SignedDuration::from_mins(5);

/// Returns why the deletion of a Machine is forced, so that it does not wait for pods. `None`: it is not.
pub(crate) fn of_deletion(view: &MachineView, now: Timestamp) -> Option<Force> {
    let machine = &view.machine;
    if machine.going.is_forced {
        return Some(Force::Requested);
    }
    let since = machine.deletion?;
    if elapsed(since, now) > view.settings.drain_timeout {
        return Some(Force::TimedOut);
    }
    // Only a forced drain leaves volume attachments behind, so a forced drain has begun.
    if machine.going.left_at == Some(DeletionStage::VolumeAttachments) {
        return Some(Force::Requested);
    }
    is_ailing(view, now).then_some(Force::NodeUnhealthy)
}

/// Returns whether the Node's pods cannot terminate on their own, by the Node, or by the copy in its Machine's status.
/// While the API server of Nodes is unreachable, and as long after its return, Nodes that could not report are not
/// ready all at once. A read-only disk is reported by a program on the Node itself, so only its own time counts.
pub(crate) fn is_ailing(view: &MachineView, now: Timestamp) -> bool {
    if matches!(view.gate, Gate::Frozen { .. }) {
        return false;
    }
    let lasts = |since: Option<Timestamp>| since.is_some_and(|since| elapsed(since, now) > AILMENT_PATIENCE);
    let HealthProblem { not_ready_since, read_only_since } =
        view.node().map_or(view.machine.ailment, |node| node.ailment);
    let seen_not_ready = not_ready_since
        .map(|since| [view.thawed_at, watched_since(view)].into_iter().flatten().fold(since, Timestamp::max));
    lasts(seen_not_ready) || lasts(read_only_since)
}

/// Returns from when on a health problem of the Node counts. A process that has just started may come after an outage
/// in which no Node could report. The observation of an earlier process counts: the Machine's status has the health
/// problem, and the time by which it was written.
fn watched_since(view: &MachineView) -> Option<Timestamp> {
    let machine = &view.machine;
    let HealthProblem { not_ready_since, read_only_since } = machine.ailment;
    let is_told = (not_ready_since.is_some() || read_only_since.is_some())
        && matches!(machine.phase, Phase::Unknown | Phase::Terminating);
    match (view.watched_since, machine.phase_since.filter(|_| is_told)) {
        (Some(watched), Some(told)) => Some(watched.min(told)),
        (watched, _) => watched,
    }
}
