//! The note on a deployment: Machines that may be or were deleted, and Machines whose replacement is awaited.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::disruption::budget::{Allowance, Budget, BudgetRoom, DisruptionHistory};
use crate::disruption::maintenance::left;
use crate::disruption::requests::DisruptionRequests;
use crate::value::id::Name;

use super::super::conclusion::DeploymentReason;
use super::super::effect::DeploymentChange;
use super::{DisruptionPlan, failed};
use crate::machine_deployment::facts::{DeploymentView, OwnedMachineFact};
use crate::machine_deployment::sets::group::SetGroup;

/// The note, while a reconcile decides.
pub(in crate::machine_deployment) struct Ledger<'a> {
    pub requests: DisruptionRequests,
    /// Machines that are not being deleted.
    living: BTreeMap<&'a Name, &'a OwnedMachineFact>,
    taken: DisruptionHistory,
    replacing: DisruptionHistory,
    /// Noted before this reconcile.
    taken_before: DisruptionHistory,
    /// The number that may still be deleted; `None` for no limit.
    left: Option<u32>,
    /// No deletion before this time.
    until: Option<Timestamp>,
    now: Timestamp,
}

impl<'a> Ledger<'a> {
    pub(super) fn read(view: &DeploymentView, group: &SetGroup<'a>, now: Timestamp) -> Self {
        let annotations = &view.deployment.annotations;
        let names = view.names.disruption;
        let list = |name: &str| DisruptionHistory::parse(annotations.get(name).map_or("", String::as_str));
        let requests = DisruptionRequests::read(annotations, names);
        let machines = group.all().flat_map(|tally| &tally.set.machines);
        let living: BTreeMap<&Name, &OwnedMachineFact> = machines
            .filter(|machine| !machine.is_terminating())
            .map(|machine| (&machine.name, machine))
            .collect();
        let (mut taken, mut replacing) = (list(names.taken), list(names.replacing));
        replacing.retain(|name, _| living.contains_key(name));
        taken.retain(|name, at| {
            let counts = requests.budget.is_some_and(|budget| budget.counts(*at, now));
            // A Machine that may be deleted and still exists can be deleted at any moment, so it counts as deleted at
            // this one.
            let is_open = || living.get(name).is_some_and(|machine| failed::is_given_up(machine, now));
            // Without a budget, Machines that are deleted after their replacement are noted too.
            let is_replaced = || replacing.get(name).is_some();
            let is_kept = counts || is_replaced() || (requests.needs_permits() && is_open());
            if is_kept && !counts && requests.budget.is_some() {
                *at = Timestamp::from_second(now.as_second()).unwrap_or(now);
            }
            is_kept
        });
        let allowance = requests.budget.map(|budget| budget.allowance(&taken, now));
        let reserved = replacing.names().filter(|name| taken.get(name).is_none()).count();
        let reserved = u32::try_from(reserved).unwrap_or(u32::MAX);
        let (left, until) = match allowance {
            None => (None, None),
            Some(Allowance::Machines(machines)) => (Some(machines.saturating_sub(reserved)), None),
            Some(Allowance::Later(until)) => (Some(0), Some(until)),
        };
        Self { requests, living, taken_before: taken.clone(), taken, replacing, left, until, now }
    }

    /// Returns whether its deletion was noted before this reconcile, or there is no budget.
    pub(super) fn was_taken(&self, machine: &OwnedMachineFact) -> bool {
        self.requests.budget.is_none() || self.taken_before.get(&machine.name).is_some()
    }

    /// Returns whether its deletion is noted.
    pub(super) fn is_noted(&self, machine: &OwnedMachineFact) -> bool {
        self.taken.get(&machine.name).is_some()
    }

    pub(super) fn is_replacing(&self, machine: &OwnedMachineFact) -> bool {
        self.replacing.get(&machine.name).is_some()
    }

    /// Returns the Machines whose replacement is awaited, the first noted first.
    pub(super) fn replacing(&self) -> Vec<(&'a OwnedMachineFact, Timestamp)> {
        let machine = |(name, at): (&Name, Timestamp)| Some((*self.living.get(name)?, at));
        self.replacing.in_order().into_iter().filter_map(machine).collect()
    }

    /// Permits a deletion, if the budget does.
    pub(super) fn take(&mut self, machine: &OwnedMachineFact) -> bool {
        if self.taken.get(&machine.name).is_some() {
            return true;
        }
        if self.left == Some(0) || self.taken.is_full() {
            return false;
        }
        self.left = self.left.map(|left| left.saturating_sub(1));
        self.note(machine);
        true
    }

    /// Permits the deletion of one whose replacement was awaited: its share of the budget is reserved. Returns false if
    /// the list is full: it is deleted later.
    pub(super) fn take_replaced(&mut self, machine: &OwnedMachineFact) -> bool {
        let is_noted = self.taken.get(&machine.name).is_some();
        if !is_noted && !self.taken.is_full() {
            self.taken.note(&machine.name, self.now);
            return true;
        }
        is_noted
    }

    /// Returns the Machines noted before this reconcile.
    pub(super) fn taken_before(&self) -> BTreeSet<Name> {
        self.taken_before.names().cloned().collect()
    }

    fn note(&mut self, machine: &OwnedMachineFact) {
        if self.requests.budget.is_some() || self.requests.needs_permits() {
            self.taken.note(&machine.name, self.now);
        }
    }

    /// Begins to replace one, if the budget permits its deletion then.
    pub(super) fn replace(&mut self, machine: &OwnedMachineFact) -> bool {
        let is_taken = self.taken.get(&machine.name).is_some();
        if (self.left == Some(0) && !is_taken) || self.replacing.is_full() {
            return false;
        }
        if !is_taken {
            self.left = self.left.map(|left| left.saturating_sub(1));
        }
        self.replacing.note(&machine.name, self.now);
        true
    }

    /// Ends the wait for its replacement.
    pub(super) fn ends_replacing_of(&mut self, machine: &OwnedMachineFact) {
        self.replacing.retain(|name, _| *name != machine.name);
    }

    /// Ends all waits for replacements: a rollout replaces all.
    pub(super) fn ends_replacing(&mut self) {
        let reserved = self.replacing.names().filter(|name| self.taken.get(name).is_none()).count();
        let reserved = u32::try_from(reserved).unwrap_or(u32::MAX);
        if self.until.is_none() {
            self.left = self.left.map(|left| left.saturating_add(reserved));
        }
        self.replacing = DisruptionHistory::default();
    }

    /// Returns whether all of these may be deleted.
    pub(super) fn has_room_for(&self, machines: &[&OwnedMachineFact]) -> bool {
        let new = machines.iter().filter(|machine| !self.is_noted(machine)).count();
        self.left.is_none_or(|left| usize::try_from(left).is_ok_and(|left| new <= left))
    }

    /// Reports when all of these may be deleted at once, if ever.
    pub(super) fn report_room_for(
        &self,
        view: &DeploymentView,
        machines: &[&OwnedMachineFact],
        disruptions: &mut DisruptionPlan,
    ) {
        let new = machines.iter().filter(|machine| !self.is_noted(machine)).count();
        let what = format!("the rollout waits until all {} Machines may go at once", machines.len());
        let room = self.requests.budget.map_or(BudgetRoom::Now, |budget| {
            budget.room_for(u32::try_from(new).unwrap_or(u32::MAX), &self.taken, self.now)
        });
        let budget = view.deployment.annotations.get(view.names.disruption.budget).map_or("", String::as_str);
        match room {
            BudgetRoom::Now => self.report_budget(view, &what, None, disruptions),
            BudgetRoom::Later(until) => {
                disruptions.report(None, &format!("{what}; the disruption budget of {budget} allows that at {until}"));
                disruptions.requeue_after(Some(left(until, self.now)));
            }
            BudgetRoom::Never => disruptions.report(
                None,
                &format!(
                    "{what}, and the disruption budget of {budget} never allows so many: raise it or remove it"
                ),
            ),
        }
    }

    /// Returns when the budget allows the next one, if known.
    pub(super) fn until(&self) -> Option<Timestamp> {
        let later = |budget: Budget| match budget.allowance(&self.taken, self.now) {
            Allowance::Later(until) => Some(until),
            Allowance::Machines(_) => None,
        };
        self.until.or_else(|| self.requests.budget.and_then(later))
    }

    /// Reports the work that waits for the budget.
    pub(super) fn report_budget(
        &self,
        view: &DeploymentView,
        what: &str,
        reason: Option<DeploymentReason>,
        disruptions: &mut DisruptionPlan,
    ) {
        let Some(budget) = view.deployment.annotations.get(view.names.disruption.budget) else {
            disruptions.report(reason, &format!("{what}; as many others as are noted at a time go first"));
            return;
        };
        let until = self.until();
        // If none is used up, it is reserved for Machines whose replacement is awaited.
        let next = match until {
            Some(until) => format!("allows the next one at {until}"),
            None => "is kept for Machines whose replacements are awaited".to_owned(),
        };
        disruptions.report(reason, &format!("{what}; the disruption budget of {budget} {next}"));
        disruptions.requeue_after(until.map(|until| left(until, self.now)));
    }

    /// Writes the changed notes.
    pub(super) fn write(&self, view: &DeploymentView, change: &mut DeploymentChange) {
        let names = view.names.disruption;
        for (name, list) in [(names.taken, &self.taken), (names.replacing, &self.replacing)] {
            let text = list.to_text();
            if view.deployment.annotations.get(name) != text.as_ref() {
                change.annotations.insert(name.to_owned(), text);
            }
        }
    }
}
