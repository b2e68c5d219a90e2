//! What Nodes are to carry while a rollout goes on, and not any more once it is over.

use super::effect::{Effect, NodeChange};
use super::group::Group;
use super::in_place;
use super::strategy::Strategy;
use super::view::{DeploymentView, MachineFact, NodeFact, ScaleDown, SetFact};

/// How many Nodes are written in one pass. More wait for the next, so that a rollout of thousands does not hold up others.
const NODES_PER_PASS: usize = 200;

/// What differs, as far as it goes into one pass. Nodes that are to be updated in place, `selected`, get that label in the same write.
pub(super) fn writes(
    view: &DeploymentView,
    group: &Group<'_>,
    strategy: Strategy,
    selected: &[&NodeFact],
) -> Vec<Effect> {
    let is_rolling = strategy != Strategy::Recreate && !group.has_only_new();
    let mut effects = Vec::new();
    for tally in group.staying() {
        let is_new = group.new.as_ref().is_some_and(|new| new.set.uid == tally.set.uid);
        for (machine, node) in with_nodes(tally.set) {
            let mut change = NodeChange {
                holds_autoscaler: holds_autoscaler(view, machine, node, is_rolling),
                old_taint: old_taint(strategy, node, is_new),
                ..NodeChange::default()
            };
            if let Strategy::InPlaceUpdate(..) = strategy {
                in_place::node(machine, node, is_new, &mut change);
            }
            if selected.iter().any(|chosen| chosen.name == node.name) {
                change.selected = Some(true);
                change.candidate = (!node.is_candidate).then_some(true);
            }
            if !change.is_empty() {
                effects.push(Effect::WriteNode { node: node.name.clone(), change });
            }
        }
    }
    effects.truncate(NODES_PER_PASS);
    effects
}

fn with_nodes(set: &SetFact) -> impl Iterator<Item = (&MachineFact, &NodeFact)> {
    let staying = set.machines.iter().filter(|machine| !machine.is_deleting);
    staying.filter_map(|machine| Some((machine, machine.node.as_ref()?)))
}

/// The scheduler is to prefer Nodes that stay.
fn old_taint(strategy: Strategy, node: &NodeFact, is_new: bool) -> Option<bool> {
    let is_wanted = !is_new && strategy != Strategy::Recreate;
    (node.has_old_taint != is_wanted).then_some(is_wanted)
}

/// The autoscaler is not to remove what a rollout has just made, nor count on what it is about to remove. What somebody else
/// has asked of it stays, as does what is asked for a preserved Machine.
fn holds_autoscaler(
    view: &DeploymentView,
    machine: &MachineFact,
    node: &NodeFact,
    is_rolling: bool,
) -> Option<bool> {
    let is_wanted = is_rolling && view.settings.holds_autoscaler;
    match node.scale_down {
        ScaleDown::Allowed => is_wanted.then_some(true),
        ScaleDown::HeldByUs => (!is_wanted && machine.preserved.is_none()).then_some(false),
        ScaleDown::HeldByOthers => None,
    }
}
