//! What a Node is to carry because it is its Machine's.

use crate::act_error::ActError;
use crate::node_sync::{self, NodeChange, Wanted};

use super::super::conclusion::{Reason, Step, Wake};
use super::super::step::retry_write;
use super::super::view::{MachineView, NodeFact};

/// What the Node is to carry and does not.
pub(super) fn difference(view: &MachineView, node: &NodeFact) -> Option<NodeChange> {
    let machine = &view.machine;
    let wanted = Wanted { template: &machine.template, own_labels: &machine.own_node_labels };
    Some(node_sync::merge(&node.meta, wanted, node.last_applied.as_ref())).filter(|change| !change.is_empty())
}

/// A Node that cannot be written is judged all the same, or a label that the API server refuses would keep its Machine from
/// ever joining and from ever failing. Only the writing is tried again sooner.
pub(super) fn out_of_line(judged: Step, error: &ActError) -> Step {
    let Step::Finish(mut conclusion) = judged else { return judged };
    if conclusion.wake == Wake::Now {
        return Step::Finish(conclusion);
    }
    conclusion.wake = retry_write(error);
    let is_news = conclusion.status.phase.is_none() && !matches!(error, ActError::Conflict | ActError::Gone);
    if is_news {
        conclusion.reason = Reason::WriteFailed;
        conclusion.message = format!("{}; failed to bring the Node in line: {error}", conclusion.message);
    }
    Step::Finish(conclusion)
}
