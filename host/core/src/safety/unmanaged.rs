//! Nodes without a Machine.
//!
//! An annotation marks them, so that the autoscaler leaves such Nodes alone. It is removed when a Machine names the
//! Node. A Node in deletion may be deleted at any age: our finalizer is on it since a Machine had owned it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::value::id::{Name, NodeName, Uid};

/// A Node, to find unmanaged ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmanagedNodeFact {
    pub name: NodeName,
    pub uid: Uid,
    pub created: Timestamp,
    /// Its deletion was asked for.
    pub is_deleting: bool,
    /// It has the annotation of an unmanaged Node.
    pub is_marked: bool,
    pub has_finalizer: bool,
    /// Machines that name it, by their label or by their VM. In order.
    pub machines: Vec<Name>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnmanagedNodeAction {
    Rest,
    /// It has no Machine: add the annotation, and remove our finalizer.
    Mark,
    /// It is being deleted and has no Machine: remove our finalizer.
    Release,
    /// It has a Machine: remove the annotation.
    Unmark,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnmanagedRule {
    /// A younger Node may belong to a Machine that is being created.
    pub minimum_age: SignedDuration,
    /// The time between the two checks that must find it without a Machine.
    pub spacing: SignedDuration,
}

/// Nodes that one check has found without a Machine. A restart forgets them, and checks twice again.
#[derive(Clone, Debug, Default)]
pub struct UnmanagedNodes {
    since: BTreeMap<Uid, Timestamp>,
}

impl UnmanagedNodes {
    /// Returns whether no Node was without a Machine at the last check.
    pub fn is_empty(&self) -> bool {
        self.since.is_empty()
    }

    /// Returns the pause before the next check, at least `shortest`, for this many Nodes: each check reads all of them.
    /// If a Node is without a Machine or `is_any_marked`, somebody waits for the result.
    pub fn pause(&self, shortest: SignedDuration, nodes: usize, is_any_marked: bool) -> SignedDuration {
        if is_any_marked || !self.is_empty() {
            return shortest;
        }
        shortest.saturating_mul(i32::try_from(nodes / 1_000).unwrap_or(i32::MAX).clamp(1, 10))
    }

    /// Notes a check of all Nodes, and returns the actions, by Node, in order. `nodes` must come from complete caches.
    pub fn look(
        &mut self,
        nodes: &[UnmanagedNodeFact],
        rule: &UnmanagedRule,
        now: Timestamp,
    ) -> Vec<(NodeName, UnmanagedNodeAction)> {
        let is_stray = |node: &&UnmanagedNodeFact| {
            let is_old = now.duration_since(node.created) >= rule.minimum_age;
            node.machines.is_empty() && if node.is_deleting { node.has_finalizer } else { is_old }
        };
        let strays: Vec<&UnmanagedNodeFact> = nodes.iter().filter(is_stray).collect();
        // A time in the future comes from a clock that was set back.
        let uids: BTreeSet<&Uid> = strays.iter().map(|node| &node.uid).collect();
        self.since.retain(|uid, since| *since <= now && uids.contains(uid));
        for node in &strays {
            self.since.entry(node.uid.clone()).or_insert(now);
        }
        let is_sure = |node: &UnmanagedNodeFact| {
            let seen = self.since.get(&node.uid);
            seen.is_some_and(|since| now.duration_since(*since) >= rule.spacing)
        };
        let verdict = |node: &UnmanagedNodeFact| match (node.machines.as_slice(), node.is_deleting) {
            ([], true) if node.has_finalizer && is_sure(node) => UnmanagedNodeAction::Release,
            ([], false) if (!node.is_marked || node.has_finalizer) && is_sure(node) => {
                UnmanagedNodeAction::Mark
            }
            // The reconciles of these Machines report a conflict; a mark would be wrong.
            ([_, ..], false) if node.is_marked => UnmanagedNodeAction::Unmark,
            (_, _) => UnmanagedNodeAction::Rest,
        };
        nodes
            .iter()
            .map(|node| (node.name.clone(), verdict(node)))
            .filter(|(_, v)| *v != UnmanagedNodeAction::Rest)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: UnmanagedRule =
        UnmanagedRule { minimum_age: SignedDuration::from_mins(20), spacing: SignedDuration::from_mins(1) };

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn node(machines: &[&str]) -> UnmanagedNodeFact {
        UnmanagedNodeFact {
            name: "n".into(),
            uid: "uid".into(),
            created: at(0),
            is_deleting: false,
            is_marked: false,
            has_finalizer: false,
            machines: machines.iter().map(|name| Name::from(*name)).collect(),
        }
    }

    /// The action on the Node, when it was found the same half an hour and again a minute before.
    fn action_of(node: &UnmanagedNodeFact) -> UnmanagedNodeAction {
        let mut strays = UnmanagedNodes::default();
        for second in [0, 1_800] {
            strays.look(std::slice::from_ref(node), &RULE, at(second));
        }
        one(strays.look(std::slice::from_ref(node), &RULE, at(1_860)))
    }

    fn one(found: Vec<(NodeName, UnmanagedNodeAction)>) -> UnmanagedNodeAction {
        found.into_iter().next().map_or(UnmanagedNodeAction::Rest, |(_, verdict)| verdict)
    }

    #[test]
    fn many_nodes_are_looked_at_less_often_while_each_has_its_machine() {
        let shortest = SignedDuration::from_secs(30);
        let mut strays = UnmanagedNodes::default();
        let seconds = |strays: &UnmanagedNodes, nodes| strays.pause(shortest, nodes, false).as_secs();
        assert_eq!([10, 1_999, 4_000, 1_000_000].map(|nodes| seconds(&strays, nodes)), [30, 30, 120, 300]);
        assert_eq!(strays.pause(shortest, 4_000, true), shortest);
        strays.look(&[node(&[])], &RULE, at(1_800));
        assert_eq!(seconds(&strays, 4_000), 30);
    }

    #[test]
    fn every_combination_of_facts_has_its_verdict() {
        for is_deleting in [false, true] {
            for is_marked in [false, true] {
                for has_finalizer in [false, true] {
                    for machines in [&[][..], &["a"], &["a", "b"]] {
                        let node =
                            UnmanagedNodeFact { is_deleting, is_marked, has_finalizer, ..node(machines) };
                        let expected = match (machines.len(), is_deleting) {
                            (0, true) if has_finalizer => UnmanagedNodeAction::Release,
                            (_, true) => UnmanagedNodeAction::Rest,
                            (0, false) if is_marked && !has_finalizer => UnmanagedNodeAction::Rest,
                            (0, false) => UnmanagedNodeAction::Mark,
                            (_, false) if is_marked => UnmanagedNodeAction::Unmark,
                            (_, false) => UnmanagedNodeAction::Rest,
                        };
                        assert_eq!(action_of(&node), expected, "{node:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_node_is_marked_only_at_a_second_look_and_not_before_its_time() {
        let mut strays = UnmanagedNodes::default();
        let mut look = |second| one(strays.look(&[node(&[])], &RULE, at(second)));
        assert_eq!(look(60), UnmanagedNodeAction::Rest);
        assert_eq!(look(1_199), UnmanagedNodeAction::Rest);
        assert_eq!(
            look(1_200),
            UnmanagedNodeAction::Rest,
            "old enough from here on: the first look that counts"
        );
        assert_eq!(look(1_259), UnmanagedNodeAction::Rest);
        assert_eq!(look(1_260), UnmanagedNodeAction::Mark);
    }

    #[test]
    fn a_node_that_is_being_deleted_is_let_go_at_a_second_look_however_young_it_is() {
        let going = UnmanagedNodeFact { is_deleting: true, has_finalizer: true, ..node(&[]) };
        let mut strays = UnmanagedNodes::default();
        let mut look = |node: &UnmanagedNodeFact, second| {
            one(strays.look(std::slice::from_ref(node), &RULE, at(second)))
        };
        assert_eq!(
            look(&UnmanagedNodeFact { is_deleting: false, ..going.clone() }, 10),
            UnmanagedNodeAction::Rest,
            "young"
        );
        assert_eq!(look(&going, 60), UnmanagedNodeAction::Rest, "the first look that counts");
        assert_eq!(look(&going, 119), UnmanagedNodeAction::Rest);
        assert_eq!(look(&going, 120), UnmanagedNodeAction::Release);
        assert_eq!(
            look(&UnmanagedNodeFact { machines: vec!["a".into()], ..going.clone() }, 150),
            UnmanagedNodeAction::Rest
        );
        assert_eq!(look(&going, 180), UnmanagedNodeAction::Rest, "a Machine was there in between");
        assert_eq!(look(&going, 240), UnmanagedNodeAction::Release);
        let of_others = UnmanagedNodeFact { has_finalizer: false, ..going };
        assert_eq!(look(&of_others, 300), UnmanagedNodeAction::Rest, "others hold it");
        assert!(strays.is_empty(), "nobody waits for us");
    }

    #[test]
    fn a_machine_that_turns_up_in_between_and_another_node_of_that_name_begin_again() {
        let mut strays = UnmanagedNodes::default();
        let mut look = |node: UnmanagedNodeFact, second| one(strays.look(&[node], &RULE, at(second)));
        assert_eq!(look(node(&[]), 2_000), UnmanagedNodeAction::Rest);
        assert_eq!(look(node(&["a"]), 2_060), UnmanagedNodeAction::Rest);
        assert_eq!(look(node(&[]), 2_120), UnmanagedNodeAction::Rest);
        assert_eq!(
            look(UnmanagedNodeFact { uid: "other".into(), ..node(&[]) }, 2_180),
            UnmanagedNodeAction::Rest
        );
        assert_eq!(
            look(UnmanagedNodeFact { uid: "other".into(), ..node(&[]) }, 2_240),
            UnmanagedNodeAction::Mark
        );
    }

    #[test]
    fn a_clock_that_was_set_back_begins_again() {
        let mut strays = UnmanagedNodes::default();
        let mut look = |second| one(strays.look(&[node(&[])], &RULE, at(second)));
        assert_eq!(look(9_000), UnmanagedNodeAction::Rest);
        assert_eq!(look(2_000), UnmanagedNodeAction::Rest);
        assert_eq!(look(2_060), UnmanagedNodeAction::Mark);
    }
}
