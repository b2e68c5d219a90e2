//! The sets of a deployment, counted so that pending changes cannot break a bound.
//!
//! A set counts with the Machines that it wants, those that it has, and those in deletion. A Machine that its set is
//! about to delete, or that is about to be updated, does not count as available. If the status of a set and its visible
//! Machines differ, the worse of both counts.

use std::cmp::Reverse;

use jiff::Timestamp;

use crate::machine::summary::FIRST_PRIORITY;
use crate::value::phase::Phase;

use super::current::{SetCandidate, current};
use crate::machine_deployment::facts::{
    DeploymentView, OwnedMachineFact, OwnedSetFact, RolloutNodeFact, SetOwner,
};
use crate::machine_deployment::rollout::strategy::RolloutBounds;

#[derive(Clone, Debug)]
pub(crate) struct Tally<'a> {
    pub set: &'a OwnedSetFact,
    /// The number of Machines that it wants.
    pub wanted: u32,
    /// Existing Machines that are not being deleted.
    pub live: u32,
    /// Machines that are being deleted.
    pub deleting: u32,
    /// The most Machines of it that may exist now.
    pub occupied: u32,
    /// Returns how many Machines of it are available and stay.
    pub available: u32,
    /// The cost of each further Machine less, in order.
    pub costs: Vec<Cost>,
}

/// The cost of one Machine less of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cost {
    /// No Machine is deleted, or an unavailable one.
    Nothing,
    /// An available one is deleted.
    Available,
    /// An available one is deleted that the autoscaler has marked.
    Marked,
}

pub(crate) fn is_available(machine: &OwnedMachineFact) -> bool {
    let is_being_updated = machine.node.as_ref().is_some_and(RolloutNodeFact::is_out_of_service);
    !machine.is_terminating()
        && !is_being_updated
        && matches!(machine.phase, Phase::Running | Phase::Available)
}

fn is_marked(machine: &OwnedMachineFact) -> bool {
    machine.marked_at.is_some() || machine.priority <= FIRST_PRIORITY
}

impl<'a> Tally<'a> {
    fn of(set: &'a OwnedSetFact, now: Timestamp) -> Self {
        let wanted = if set.is_deleting { 0 } else { set.wanted };
        let deleting = count(set.machines.iter().filter(|machine| machine.is_terminating()));
        let live = count(set.machines.iter()).saturating_sub(deleting);
        let in_order = in_deletion_order(&set.machines, now);
        let unreadable =
            set.machines.iter().filter(|machine| machine.is_unreadable && !machine.is_terminating());
        // They count in the number, and others are deleted instead.
        let wanted_of_these = wanted.saturating_sub(count(unreadable.clone()));
        let condemned = in_order.len().saturating_sub(size(wanted_of_these));
        let staying = in_order.iter().skip(condemned);
        let updated = set.machines.iter().filter(|machine| machine.is_updated_in_place);
        let available = count(
            staying.clone().copied().chain(updated).chain(unreadable).filter(|machine| is_available(machine)),
        );
        let missing = wanted_of_these.saturating_sub(count(in_order.iter()));
        let costs = std::iter::repeat_n(Cost::Nothing, size(missing));
        let costs = costs.chain(staying.map(|machine| match (is_available(machine), is_marked(machine)) {
            (false, _) => Cost::Nothing,
            (true, false) => Cost::Available,
            (true, true) => Cost::Marked,
        }));
        Self {
            set,
            wanted,
            live,
            deleting,
            occupied: live.max(wanted).saturating_add(deleting).max(set.status.replicas),
            available: available.min(set.status.available),
            costs: costs.collect(),
        }
    }

    /// Returns whether it has and wants no Machines.
    pub(crate) fn is_empty(&self) -> bool {
        self.wanted == 0 && self.occupied == 0 && self.has_observed()
    }

    /// Returns whether it has observed its last change.
    pub(crate) fn has_observed(&self) -> bool {
        self.set.observed_generation.is_some_and(|observed| observed >= self.set.generation)
    }

    /// Returns by how many it can be lowered within the budget, at most `limit`, and reduces the budget by the cost.
    pub(crate) fn give_up(&self, from: u32, limit: u32, available: &mut u32) -> u32 {
        let mut fewer = 0;
        for cost in self.costs.iter().skip(size(self.wanted.saturating_sub(from))) {
            if fewer >= limit {
                break;
            }
            match cost {
                Cost::Nothing => {}
                Cost::Available | Cost::Marked if *available > 0 => *available -= 1,
                Cost::Available | Cost::Marked => break,
            }
            fewer += 1;
        }
        fewer
    }

    /// Returns how many of the next deletions have such a cost.
    pub(crate) fn leading(&self, from: u32, is_such: impl Fn(Cost) -> bool) -> u32 {
        let given_up = size(self.wanted.saturating_sub(from));
        count(self.costs.iter().skip(given_up).take_while(|cost| is_such(**cost)))
    }
}

/// The sets that a deployment owns.
#[derive(Clone, Debug)]
pub(crate) struct SetGroup<'a> {
    /// The oldest with the deployment's template.
    pub new: Option<Tally<'a>>,
    /// All others, the oldest first.
    pub old: Vec<Tally<'a>>,
    /// Those that are being deleted.
    pub leaving: Vec<Tally<'a>>,
}

impl<'a> SetGroup<'a> {
    pub(crate) fn of(view: &'a DeploymentView, now: Timestamp) -> Self {
        let mut owned: Vec<&OwnedSetFact> =
            view.sets.iter().filter(|set| set.owner == SetOwner::This).collect();
        owned.sort_by_key(|set| (set.created, set.name.clone()));
        let staying = owned.iter().filter(|set| !set.is_deleting).map(|set| SetCandidate {
            set: &set.uid,
            created: set.created,
            name: &set.name,
            template: &set.template,
        });
        let new = current(staying, &view.deployment.spec.template, view.names.template_hash);
        let mut group = Self { new: None, old: Vec::new(), leaving: Vec::new() };
        for set in owned {
            let tally = Tally::of(set, now);
            if set.is_deleting {
                group.leaving.push(tally);
            } else if new == Some(&set.uid) {
                group.new = Some(tally);
            } else {
                group.old.push(tally);
            }
        }
        group
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Tally<'a>> {
        self.new.iter().chain(&self.old).chain(&self.leaving)
    }

    /// Returns the sets that can be scaled.
    pub(crate) fn staying(&self) -> impl Iterator<Item = &Tally<'a>> {
        self.new.iter().chain(&self.old)
    }

    /// Returns the sets that want Machines, the larger first, then the older.
    pub(crate) fn active(&self) -> Vec<&Tally<'a>> {
        let mut active: Vec<_> = self.staying().filter(|tally| tally.wanted > 0).collect();
        active.sort_by_key(|tally| (Reverse(tally.wanted), tally.set.created, tally.set.name.clone()));
        active
    }

    /// Returns the first set that has not observed its last change.
    pub(crate) fn unobserved(&self) -> Option<&Tally<'a>> {
        self.staying().find(|tally| !tally.has_observed())
    }

    /// Returns the most Machines that may exist now.
    pub(crate) fn occupied(&self) -> u32 {
        sum(self.all().map(|tally| tally.occupied))
    }

    /// Returns the number of Machines that the sets want.
    pub(crate) fn wanted(&self) -> u32 {
        sum(self.all().map(|tally| tally.wanted))
    }

    /// Returns how many Machines are available and stay.
    pub(crate) fn available(&self) -> u32 {
        sum(self.all().map(|tally| tally.available))
    }

    /// Returns whether no set of another template is left.
    pub(crate) fn has_only_new(&self) -> bool {
        self.old.iter().chain(&self.leaving).all(Tally::is_empty)
    }

    /// Returns the number of failed, preserved Machines. They count in the number, are unavailable, and must not be
    /// deleted.
    pub(crate) fn preserved_failed(&self, now: Timestamp) -> u32 {
        let is_kept = |machine: &&OwnedMachineFact| {
            !machine.is_terminating() && machine.phase == Phase::Failed && machine.is_preserved(now)
        };
        sum(self.all().map(|tally| count(tally.set.machines.iter().filter(is_kept))))
    }

    /// Returns how many more available Machines there are than there must be.
    pub(crate) fn spare(&self, bounds: RolloutBounds, now: Timestamp) -> u32 {
        self.available().saturating_sub(self.fewest(bounds, now))
    }

    /// Returns how many Machines must be available.
    pub(crate) fn fewest(&self, bounds: RolloutBounds, now: Timestamp) -> u32 {
        bounds.fewest().saturating_sub(self.preserved_failed(now))
    }

    /// Returns how many more Machines may exist.
    pub(crate) fn room(&self, bounds: RolloutBounds) -> u32 {
        bounds.most().saturating_sub(self.occupied())
    }
}

/// Returns the Machines that a set's number counts, in the order of deletion.
///
/// Without Machines in deletion, those updated in place that the set does not count yet, and those that cannot be
/// decoded, which the set counts but does not delete.
pub(crate) fn in_deletion_order(machines: &[OwnedMachineFact], now: Timestamp) -> Vec<&OwnedMachineFact> {
    let counted = |machine: &&OwnedMachineFact| {
        !machine.is_terminating() && !machine.is_updated_in_place && !machine.is_unreadable
    };
    let mut machines: Vec<&OwnedMachineFact> = machines.iter().filter(counted).collect();
    machines.sort_by_cached_key(|machine| machine.deletion_rank(now));
    machines
}

pub(crate) fn count<T>(items: impl Iterator<Item = T>) -> u32 {
    u32::try_from(items.count()).unwrap_or(u32::MAX)
}

pub(crate) fn sum(numbers: impl Iterator<Item = u32>) -> u32 {
    numbers.fold(0, u32::saturating_add)
}

pub(crate) fn size(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
