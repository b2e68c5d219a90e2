//! A deletion waits for the hooks of others.

use jiff::{SignedDuration, Timestamp};

use super::facts::Facts;
use super::machine::MachineFact;
use super::rules::PROPAGATION;

/// Times are written in whole seconds, and the expected one may be written before the reconcile sees it.
const GRAIN: SignedDuration = SignedDuration::from_secs(3);

/// A host evicts or deletes a pod of this Machine's Node.
pub(super) fn of_pod(facts: &Facts, machine: &MachineFact, actor: &str, now: Timestamp) -> Option<String> {
    let deleting_since = machine.deleting_since?;
    let since = machine.hooks.pre_drain?;
    let is_over = now + facts.ahead(actor) + GRAIN >= deleting_since + machine.hooks.limit;
    // An update in place or a preservation empties a Node as well, and no hook holds that.
    let is_emptied_anyway = facts.node_of(machine).is_some_and(|node| node.is_selected)
        || (machine.kept_until.is_some() && machine.phase == "Failed");
    let is_known = is_known(since, deleting_since, is_emptied_anyway, now);
    (is_known && !is_over && !machine.is_forced).then(|| {
        format!("{actor} takes a pod away of Machine {}, whose hook before the drain is there", machine.name)
    })
}

/// A host orders the VM of this Machine away.
pub(super) fn of_delete(facts: &Facts, machine: &MachineFact, actor: &str, now: Timestamp) -> Option<String> {
    let deleting_since = machine.deleting_since?;
    let since = machine.hooks.pre_terminate?;
    let noted = machine.hooks.is_noted_since;
    let is_over = noted.is_some_and(|noted| now + facts.skew() + GRAIN >= noted + machine.hooks.limit);
    let is_known = is_known(since, deleting_since, false, now);
    (is_known && !is_over && !machine.is_forced).then(|| {
        format!("{actor} deletes the VM of Machine {}, whose hook before that is there", machine.name)
    })
}

/// One watch tells of hook and deletion, in their order.
fn is_known(hook: Timestamp, deletion: Timestamp, is_emptied_anyway: bool, now: Timestamp) -> bool {
    if is_emptied_anyway || hook > deletion {
        now.duration_since(hook.max(deletion)) > PROPAGATION
    } else {
        true
    }
}
