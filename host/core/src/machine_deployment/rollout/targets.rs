//! The wanted number of each set, while it is being decided.

use std::collections::BTreeMap;

use crate::value::id::Name;

use crate::machine_deployment::sets::group::{SetGroup, Tally, sum};

/// A number for each set, at first its current one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Targets(BTreeMap<Name, u32>);

impl Targets {
    pub(crate) fn of(group: &SetGroup<'_>) -> Self {
        Self(group.staying().map(|tally| (tally.set.name.clone(), tally.wanted)).collect())
    }

    pub(crate) fn get(&self, tally: &Tally<'_>) -> u32 {
        self.0.get(&tally.set.name).copied().unwrap_or(tally.wanted)
    }

    pub(crate) fn set(&mut self, tally: &Tally<'_>, wanted: u32) {
        self.0.insert(tally.set.name.clone(), wanted);
    }

    pub(crate) fn raise(&mut self, tally: &Tally<'_>, more: u32) {
        self.set(tally, self.get(tally).saturating_add(more));
    }

    /// Lowers the set by up to `limit`, as far as the budget of available Machines allows. Returns by how many.
    pub(crate) fn lower(&mut self, tally: &Tally<'_>, limit: u32, available: &mut u32) -> u32 {
        let from = self.get(tally);
        let fewer = tally.give_up(from, limit.min(from), available);
        self.set(tally, from - fewer);
        fewer
    }

    pub(crate) fn total(&self) -> u32 {
        sum(self.0.values().copied())
    }

    /// Returns the sets whose number changes.
    pub(crate) fn changes<'a, 'b>(
        &'a self,
        group: &'a SetGroup<'b>,
    ) -> impl Iterator<Item = (&'a Tally<'b>, u32)> + 'a {
        let change = |tally: &'a Tally<'b>| (tally, self.get(tally));
        group.staying().map(change).filter(|(tally, wanted)| tally.wanted != *wanted)
    }
}
