//! Whether pods are still asked to go.

use jiff::{SignedDuration, Timestamp};

use crate::drain::Force;
use crate::machine::node::health::HealthProblem;
use crate::scheduling::gate::Gate;
use crate::value::phase::Phase;

use super::note::DeletionStage;
use crate::machine::conclusion::elapsed;
use crate::machine::facts::MachineView;

/// Pods of a Node that has been not ready, or without a writable disk, for this long cannot end by themselves. Shorter is a
/// reboot or an upgrade of the kubelet. Only the first is also what an outage of the API server looks like.
const AILMENT_PATIENCE: SignedDuration = SignedDuration::from_mins(5);

/// Why the deletion of a Machine does not ask pods any more, and goes on whatever becomes of them. `None`: it does.
pub(crate) fn of_deletion(view: &MachineView, now: Timestamp) -> Option<Force> {
    let machine = &view.machine;
    if machine.going.is_forced {
        return Some(Force::Requested);
    }
    let since = machine.deletion?;
    if elapsed(since, now) > view.settings.drain_timeout {
        return Some(Force::TimedOut);
    }
    // Only a forced drain leaves volume attachments to be removed, so that one has been here.
    if machine.going.left_at == Some(DeletionStage::VolumeAttachments) {
        return Some(Force::Requested);
    }
    is_ailing(view, now).then_some(Force::NodeUnhealthy)
}

/// Whether the Node's pods cannot end by themselves, by the Node, or by what its Machine keeps of it. While the API server of
/// Nodes is away, and for as long after its return, Nodes that could not report look not ready all at once. That a disk
/// cannot be written is said by somebody on the Node itself, so its own time is all that counts.
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

/// From when on the ailment of the Node counts, as seen by anybody. A process that has just started may have come after an outage
/// in which no Node could report. It is believed what an earlier one has seen: the Machine's status tells of the ailment, and
/// when it did so at the latest.
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
