//! The writes of calls that change the size of a group.
//!
//! A deletion names the Machines first, so that their set deletes these and no others, and lowers the replicas by the
//! number of those that were not counted before. Machines count once: those that are being deleted, and those whose
//! names the deployment has from an earlier call, are left out. A Machine that survived, because somebody raised the
//! replicas meanwhile, can be counted again.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::value::id::Name;

use super::group::{GroupId, Limits};
use super::member::{GroupMember, NamedNode, RequestedId};
use super::refusal::CallRefusal;

/// How long a chosen Machine counts as chosen when nothing shows that its deletion is still to come: longer than any
/// caller takes to repeat a call, and than its owners take to begin.
const REPEATABLE_FOR: SignedDuration = SignedDuration::from_mins(10);

/// The Machines that deletions have counted, and when.
pub type Chosen = BTreeMap<Name, Timestamp>;

/// A group and its Machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupFact {
    pub id: GroupId,
    pub limits: Limits,
    /// How many Machines its owner wants.
    pub replicas: i32,
    /// The Machines that earlier deletions have counted.
    pub chosen: Chosen,
    pub members: Vec<GroupMember>,
    /// More than one of its MachineSets has Machines or wants some.
    pub is_rolling: bool,
}

/// The write of a deletion. Without replicas there is nothing to write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeDeletion {
    /// Machines that count for the first time. They are marked before the replicas are lowered.
    pub machines: Vec<Name>,
    /// The new number of replicas.
    pub replicas: Option<i32>,
    /// The names that are stored with it: those of Machines that are still there.
    pub chosen: Chosen,
}

/// Reads the names that are stored on a deployment, as `machine~time,machine~time`. Other entries count for nothing.
pub fn parse_chosen(text: &str) -> Chosen {
    let entries = text.split(',').filter_map(|entry| entry.trim().split_once('~'));
    entries.filter_map(|(name, at)| Some((Name::new(name), at.parse().ok()?))).collect()
}

/// The names as they are stored.
pub fn format_chosen(names: &Chosen) -> String {
    let entries = names.iter().map(|(name, at)| format!("{name}~{}", whole_seconds(*at)));
    entries.collect::<Vec<_>>().join(",")
}

/// Rounds to whole seconds, as stored times have them.
fn whole_seconds(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

impl GroupFact {
    /// Returns whether the replicas are without this Machine already, or will be: somebody deletes it, or it was chosen
    /// and there are more Machines than wanted.
    pub fn is_counted(&self, member: &GroupMember, now: Timestamp) -> bool {
        let Some(at) = self.chosen.get(&member.name).filter(|_| !member.is_terminating) else {
            return member.is_terminating;
        };
        let staying = self.members.iter().filter(|member| !member.is_terminating).count();
        let has_surplus = staying > usize::try_from(self.replicas).unwrap_or(0);
        has_surplus || now.duration_since(*at) < REPEATABLE_FOR
    }

    /// Returns the new number of replicas.
    ///
    /// # Errors
    /// When the number is not above 0, or exceeds the maximum.
    pub fn increase(&self, delta: i32) -> Result<i32, CallRefusal> {
        let (id, replicas, max) = (self.id.clone(), self.replicas, self.limits.max);
        if delta <= 0 {
            return Err(CallRefusal::NotAnIncrease { id, delta });
        }
        match replicas.checked_add(delta) {
            Some(wanted) if wanted <= max => Ok(wanted),
            Some(_) | None => Err(CallRefusal::AboveMaximum { id, replicas, delta, max }),
        }
    }

    /// Returns the new number of replicas, when Machines without a VM are no longer wanted.
    ///
    /// # Errors
    /// When the number is not below 0, falls below the minimum, or needs the deletion of a VM.
    pub fn decrease(&self, delta: i32, now: Timestamp) -> Result<i32, CallRefusal> {
        let id = self.id.clone();
        if delta >= 0 {
            return Err(CallRefusal::NotADecrease { id, delta });
        }
        let wanted = self.lowered(-i64::from(delta))?;
        let stays = |member: &&GroupMember| member.has_vm() && !self.is_counted(member, now);
        let existing = self.members.iter().filter(stays).count();
        if usize::try_from(wanted).unwrap_or(0) < existing {
            let (replicas, count) = (self.replicas, -i64::from(delta));
            return Err(CallRefusal::ExistingNodes { id, replicas, existing, count });
        }
        Ok(wanted)
    }

    /// Returns what the deletion of these nodes writes. A node that is named twice counts once.
    ///
    /// # Errors
    /// When a node is of no Machine of this group, the minimum is undercut, or the group is being rolled. Then no node
    /// is deleted.
    pub fn delete(&self, nodes: &[NamedNode<'_>], now: Timestamp) -> Result<NodeDeletion, CallRefusal> {
        let mut named: BTreeMap<&Name, &GroupMember> = BTreeMap::new();
        for node in nodes {
            let member = self.member(node)?;
            named.insert(&member.name, member);
        }
        let uncounted = named.values().filter(|member| !self.is_counted(member, now));
        let machines: Vec<Name> = uncounted.map(|member| member.name.clone()).collect();
        if machines.is_empty() {
            return Ok(NodeDeletion::default());
        }
        if self.is_rolling {
            return Err(CallRefusal::Rolling { id: self.id.clone() });
        }
        let replicas = self.lowered(i64::try_from(machines.len()).unwrap_or(i64::MAX))?;
        let is_counted = |name: &Name| {
            self.members.iter().any(|member| member.name == *name && self.is_counted(member, now))
        };
        let earlier = self.chosen.iter().filter(|(name, _)| is_counted(name));
        let earlier = earlier.map(|(name, at)| (name.clone(), *at));
        let chosen = earlier.chain(machines.iter().map(|name| (name.clone(), now))).collect();
        Ok(NodeDeletion { machines, replicas: Some(replicas), chosen })
    }

    fn member(&self, node: &NamedNode<'_>) -> Result<&GroupMember, CallRefusal> {
        let (api, namespace) = (self.id.api, self.id.deployment.namespace.as_str());
        let found = self.members.iter().find(|member| member.is_named(api, namespace, node));
        let id = self.id.clone();
        let member = found.ok_or_else(|| CallRefusal::UnknownNode { id, node: node.text().to_owned() })?;
        // It was named as one that never came.
        if RequestedId::parse(node).is_some() && member.has_vm() && !member.is_terminating {
            return Err(CallRefusal::HasVm { id: self.id.clone(), machine: member.name.clone() });
        }
        Ok(member)
    }

    fn lowered(&self, count: i64) -> Result<i32, CallRefusal> {
        let (replicas, min) = (self.replicas, self.limits.min);
        let wanted = i64::from(replicas).saturating_sub(count);
        match i32::try_from(wanted) {
            Ok(wanted) if wanted >= min => Ok(wanted),
            Ok(_) | Err(_) => Err(CallRefusal::BelowMinimum { id: self.id.clone(), replicas, count, min }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::id::{NodeName, ProviderId};

    fn member(name: &str) -> GroupMember {
        GroupMember {
            name: Name::new(name),
            provider_id: Some(ProviderId::new(format!("sim:///a/vm-{name}"))),
            node: Some(NodeName::new(format!("node-{name}"))),
            has_joined: true,
            node_provider_id: None,
            is_terminating: false,
            error: None,
        }
    }

    fn requested(name: &str) -> GroupMember {
        GroupMember { provider_id: None, node: None, has_joined: false, ..member(name) }
    }

    /// A group of 1 to 5 nodes with these Machines, one replica each.
    fn group(members: Vec<GroupMember>) -> GroupFact {
        GroupFact {
            id: "mcm/shoot/pool".parse().unwrap(),
            limits: Limits { min: 1, max: 5 },
            replicas: i32::try_from(members.len()).unwrap(),
            chosen: Chosen::new(),
            members,
            is_rolling: false,
        }
    }

    fn now() -> Timestamp {
        "2026-01-01T12:00:00Z".parse().unwrap()
    }

    fn delete(group: &GroupFact, names: &[&str]) -> Result<NodeDeletion, CallRefusal> {
        delete_at(group, names, now())
    }

    fn delete_at(group: &GroupFact, names: &[&str], now: Timestamp) -> Result<NodeDeletion, CallRefusal> {
        let ids: Vec<String> = names.iter().map(|name| format!("sim:///a/vm-{name}")).collect();
        let nodes: Vec<NamedNode<'_>> =
            ids.iter().map(|id| NamedNode { provider_id: id, name: "" }).collect();
        group.delete(&nodes, now)
    }

    fn names(names: &[&str]) -> Chosen {
        names.iter().map(|name| (Name::new(name), now())).collect()
    }

    #[test]
    fn a_group_grows_up_to_its_maximum() {
        let group = group(vec![member("a"), member("b")]);
        assert_eq!(group.increase(1), Ok(3));
        assert_eq!(group.increase(3), Ok(5));
        for delta in [4, i32::MAX] {
            assert!(
                matches!(group.increase(delta), Err(CallRefusal::AboveMaximum { max: 5, .. })),
                "{delta}"
            );
        }
        for delta in [0, -1, i32::MIN] {
            assert!(matches!(group.increase(delta), Err(CallRefusal::NotAnIncrease { .. })), "{delta}");
        }
    }

    #[test]
    fn only_what_has_no_vm_is_taken_back() {
        let group = group(vec![member("a"), member("b"), requested("c"), requested("d")]);
        assert_eq!(group.decrease(-1, now()), Ok(3));
        assert_eq!(group.decrease(-2, now()), Ok(2));
        assert!(matches!(
            group.decrease(-3, now()),
            Err(CallRefusal::ExistingNodes { existing: 2, count: 3, .. })
        ));
        for delta in [-4, i32::MIN] {
            assert!(matches!(group.decrease(delta, now()), Err(CallRefusal::BelowMinimum { .. })), "{delta}");
        }
        for delta in [0, 1] {
            assert!(matches!(group.decrease(delta, now()), Err(CallRefusal::NotADecrease { .. })), "{delta}");
        }
    }

    #[test]
    fn a_machine_on_its_way_out_is_no_existing_node() {
        let mut group = group(vec![member("a"), member("b"), requested("c")]);
        group.chosen = names(&["b"]);
        assert_eq!(group.decrease(-2, now()), Ok(1));
    }

    #[test]
    fn a_deletion_names_the_machines_and_shrinks_by_their_number() {
        let group = group(vec![member("a"), member("b"), member("c")]);
        let deletion = delete(&group, &["b", "c", "b"]).unwrap();
        assert_eq!(deletion.machines, [Name::new("b"), Name::new("c")]);
        assert_eq!((deletion.replicas, deletion.chosen), (Some(1), names(&["b", "c"])));
    }

    #[test]
    fn a_repeat_after_a_lost_answer_shrinks_nothing() {
        let mut group = group(vec![member("a"), member("b"), member("c")]);
        let deletion = delete(&group, &["b"]).unwrap();
        (group.replicas, group.chosen) = (deletion.replicas.unwrap(), deletion.chosen);
        assert_eq!(delete(&group, &["b"]), Ok(NodeDeletion::default()));
        let next = delete(&group, &["b", "c"]).unwrap();
        assert_eq!((next.machines.as_slice(), next.replicas), ([Name::new("c")].as_slice(), Some(1)));
        assert_eq!(next.chosen, names(&["b", "c"]));
    }

    #[test]
    fn a_machine_that_survived_its_deletion_can_be_chosen_again() {
        let mut group = group(vec![member("a"), member("b"), member("c")]);
        group.chosen = names(&["b"]);
        let later = now() + REPEATABLE_FOR;
        assert_eq!(
            delete_at(&group, &["b"], later - SignedDuration::from_secs(1)),
            Ok(NodeDeletion::default())
        );
        let again = delete_at(&group, &["b"], later).unwrap();
        assert_eq!((again.replicas, again.chosen), (Some(2), Chosen::from([(Name::new("b"), later)])));
        // Its owners have not begun: more Machines are there than wanted.
        group.replicas = 2;
        assert_eq!(delete_at(&group, &["b"], later), Ok(NodeDeletion::default()));
    }

    #[test]
    fn a_machine_that_is_being_deleted_is_not_counted() {
        let mut group = group(vec![member("a"), member("b"), member("c")]);
        group.members[1].is_terminating = true;
        assert_eq!(delete(&group, &["b"]), Ok(NodeDeletion::default()));
        let both = delete(&group, &["a", "b"]).unwrap();
        assert_eq!((both.machines.as_slice(), both.replicas), ([Name::new("a")].as_slice(), Some(2)));
    }

    #[test]
    fn names_of_machines_that_are_gone_are_forgotten() {
        let mut group = group(vec![member("a"), member("b"), member("c")]);
        group.chosen = names(&["c", "gone"]);
        assert_eq!(delete(&group, &["b"]).unwrap().chosen, names(&["b", "c"]));
    }

    #[test]
    fn nothing_is_deleted_below_the_minimum_for_an_unknown_node_or_while_the_group_is_rolled() {
        let mut group = group(vec![member("a"), member("b")]);
        assert!(matches!(
            delete(&group, &["a", "b"]),
            Err(CallRefusal::BelowMinimum { count: 2, min: 1, .. })
        ));
        let unknown = delete(&group, &["a", "z"]).unwrap_err();
        assert!(
            matches!(&unknown, CallRefusal::UnknownNode { node, .. } if node == "sim:///a/vm-z"),
            "{unknown}"
        );
        group.is_rolling = true;
        assert!(matches!(delete(&group, &["a"]), Err(CallRefusal::Rolling { .. })));
        assert_eq!(delete(&group, &[]), Ok(NodeDeletion::default()));
    }

    #[test]
    fn a_placeholder_deletes_the_machine_as_long_as_it_has_no_vm() {
        let group = group(vec![requested("a"), member("b")]);
        let placeholder = |name: &str| {
            let id = format!("requested://mcm/shoot/{name}");
            group.delete(&[NamedNode { provider_id: &id, name: &id }], now())
        };
        assert_eq!(placeholder("a").unwrap().machines, [Name::new("a")]);
        assert!(matches!(placeholder("b"), Err(CallRefusal::HasVm { .. })));
        assert!(matches!(placeholder("c"), Err(CallRefusal::UnknownNode { .. })));
    }

    #[test]
    fn chosen_names_are_read_as_they_are_stored() {
        assert_eq!(parse_chosen(&format_chosen(&names(&["b", "a"]))), names(&["a", "b"]));
        assert_eq!(format_chosen(&names(&["a"])), "a~2026-01-01T12:00:00Z");
        assert_eq!(parse_chosen(" a~2026-01-01T12:00:00Z ,, b, c~then,"), names(&["a"]));
        assert_eq!((parse_chosen(""), format_chosen(&Chosen::new())), (Chosen::new(), String::new()));
    }
}
