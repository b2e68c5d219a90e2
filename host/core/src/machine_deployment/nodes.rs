//! Writes the annotations, labels and taints that Nodes have during a rollout.

use jiff::Timestamp;

use super::effect::{DeploymentEffect, RolloutNodeChange};
use super::facts::{DeploymentView, OwnedMachineFact, OwnedSetFact, RolloutNodeFact, ScaleDown};
use super::rollout::in_place;
use super::rollout::strategy::Strategy;
use super::sets::group::SetGroup;

/// How many Nodes are written in one reconcile. More wait for the next, so that a rollout of thousands does not delay
/// other keys.
const NODES_PER_PASS: usize = 200;

/// Returns the writes of Nodes that differ, as many as one reconcile does. Nodes in `selected` get the label of the
/// update in place in the same write.
pub(super) fn writes(
    view: &DeploymentView,
    group: &SetGroup<'_>,
    strategy: Strategy,
    selected: &[&RolloutNodeFact],
    now: Timestamp,
) -> Vec<DeploymentEffect> {
    let is_rolling = strategy != Strategy::Recreate && !group.has_only_new();
    let mut effects = Vec::new();
    for tally in group.staying() {
        let is_new = group.new.as_ref().is_some_and(|new| new.set.uid == tally.set.uid);
        for (machine, node) in with_nodes(tally.set) {
            let mut change = RolloutNodeChange {
                holds_autoscaler: holds_autoscaler(view, machine, node, is_rolling),
                old_taint: old_taint(strategy, node, is_new),
                ..RolloutNodeChange::default()
            };
            // Under another strategy the labels of an abandoned update are removed.
            let is_updated_in_place = matches!(strategy, Strategy::InPlaceUpdate(..));
            in_place::node(machine, node, is_new || !is_updated_in_place, &mut change);
            if selected.iter().any(|chosen| chosen.name == node.name) {
                change.selected = Some(true);
                change.candidate = (!node.is_candidate).then_some(true);
            }
            if !change.is_empty() {
                effects.push(DeploymentEffect::WriteNode { node: node.name.clone(), change });
            }
        }
    }
    in_turn(effects, now)
}

/// Returns as many as one reconcile does. If there are more, the time decides which: Nodes whose write is refused each
/// time do not block others, however many they are.
fn in_turn(mut effects: Vec<DeploymentEffect>, now: Timestamp) -> Vec<DeploymentEffect> {
    if effects.len() > NODES_PER_PASS {
        // Multiplication spreads seconds over all positions, so that reconciles at equal distances do not meet the same
        // Nodes each time.
        let spread = now.as_second().unsigned_abs().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let first = usize::try_from(spread).unwrap_or_default() % effects.len();
        effects.rotate_left(first);
        effects.truncate(NODES_PER_PASS);
    }
    effects
}

fn with_nodes(set: &OwnedSetFact) -> impl Iterator<Item = (&OwnedMachineFact, &RolloutNodeFact)> {
    let staying = set.machines.iter().filter(|machine| !machine.is_terminating());
    staying.filter_map(|machine| Some((machine, machine.node.as_ref()?)))
}

/// The scheduler should prefer Nodes that stay.
fn old_taint(strategy: Strategy, node: &RolloutNodeFact, is_new: bool) -> Option<bool> {
    let is_wanted = !is_new && strategy != Strategy::Recreate;
    (node.has_old_taint != is_wanted).then_some(is_wanted)
}

/// The autoscaler must not delete Machines that a rollout has just created, nor rely on those that it is about to
/// delete. Requests of others to the autoscaler stay, as do those for preserved Machines.
fn holds_autoscaler(
    view: &DeploymentView,
    machine: &OwnedMachineFact,
    node: &RolloutNodeFact,
    is_rolling: bool,
) -> Option<bool> {
    let is_wanted = is_rolling && view.settings.holds_autoscaler;
    match node.scale_down {
        ScaleDown::Allowed => is_wanted.then_some(true),
        ScaleDown::HeldByUs => (!is_wanted && machine.preserved_until.is_none()).then_some(false),
        ScaleDown::HeldByOthers => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn nodes_whose_write_is_refused_each_time_do_not_keep_others_from_their_turn() {
        let write = |number: usize| {
            let change = RolloutNodeChange { old_taint: Some(true), ..RolloutNodeChange::default() };
            DeploymentEffect::WriteNode { node: format!("node-{number:03}").as_str().into(), change }
        };
        let all: Vec<DeploymentEffect> = (0..450).map(write).collect();
        let begin: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let turns =
            (0..40).map(|pass| in_turn(all.clone(), begin + jiff::SignedDuration::from_secs(60 * pass)));
        let mut written = BTreeSet::new();
        for turn in turns {
            assert_eq!(turn.len(), NODES_PER_PASS);
            written.extend(turn.into_iter().map(|effect| format!("{effect:?}")));
        }
        assert_eq!(written.len(), all.len(), "forty passes a minute apart reach every Node");
        assert_eq!(in_turn(all[..200].to_vec(), begin), all[..200]);
    }
}
