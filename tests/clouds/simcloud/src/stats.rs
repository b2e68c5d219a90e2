//! Counts of calls and VMs.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::wire::VmState;

/// Answer of `GET /stats`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// Calls by operation and outcome: `ok`, an error code, or what a fault made of it.
    pub calls: BTreeMap<String, BTreeMap<String, u64>>,
    pub vms: VmCounts,
    /// Live VMs beyond the first of each machine.
    pub duplicates: u64,
    /// How often a VM became live while its machine had one.
    pub duplicates_ever: u64,
    pub created: u64,
    /// VMs that reached `terminated`.
    pub terminated: u64,
    /// How often each fault rule fired since it was set.
    pub faults_fired: BTreeMap<String, u64>,
}

impl Stats {
    /// Calls of an operation, whatever came of them.
    pub fn calls_of(&self, operation: &str) -> u64 {
        self.calls.get(operation).map_or(0, |outcomes| outcomes.values().sum())
    }

    /// Calls of an operation with this outcome.
    pub fn outcome(&self, operation: &str, outcome: &str) -> u64 {
        self.calls.get(operation).and_then(|outcomes| outcomes.get(outcome)).copied().unwrap_or(0)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VmCounts {
    pub pending: u64,
    pub running: u64,
    pub stopping: u64,
    /// Gone, but still to be read.
    pub terminated: u64,
}

impl VmCounts {
    /// VMs that work for somebody or are about to.
    pub fn live(&self) -> u64 {
        self.pending + self.running
    }

    pub(crate) fn of(&mut self, state: VmState) -> &mut u64 {
        match state {
            VmState::Pending => &mut self.pending,
            VmState::Running => &mut self.running,
            VmState::Stopping => &mut self.stopping,
            VmState::Terminated => &mut self.terminated,
        }
    }
}

/// Live VMs by account and machine tag.
#[derive(Debug, Default)]
pub(crate) struct Twins {
    live: HashMap<(Arc<str>, String), u64>,
    excess: u64,
    ever: u64,
}

impl Twins {
    pub(crate) fn appear(&mut self, account: &Arc<str>, machine: &str) {
        let live = self.live.entry((Arc::clone(account), machine.to_owned())).or_default();
        *live += 1;
        if *live > 1 {
            self.excess += 1;
            self.ever += 1;
        }
    }

    pub(crate) fn disappear(&mut self, account: &Arc<str>, machine: &str) {
        let key = (Arc::clone(account), machine.to_owned());
        match self.live.get_mut(&key) {
            Some(live) if *live > 1 => {
                *live -= 1;
                self.excess -= 1;
            }
            Some(_) => {
                self.live.remove(&key);
            }
            None => {}
        }
    }

    pub(crate) fn excess(&self) -> u64 {
        self.excess
    }

    pub(crate) fn ever(&self) -> u64 {
        self.ever
    }

    pub(crate) fn forget_ever(&mut self) {
        self.ever = 0;
    }
}

/// Calls as they are counted: no allocation but for the first of its kind.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    counts: BTreeMap<(&'static str, &'static str), u64>,
}

impl Calls {
    pub(crate) fn count(&mut self, operation: &'static str, outcome: &'static str) {
        *self.counts.entry((operation, outcome)).or_default() += 1;
    }

    pub(crate) fn reset(&mut self) {
        self.counts.clear();
    }

    pub(crate) fn by_operation(&self) -> BTreeMap<String, BTreeMap<String, u64>> {
        let mut calls: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
        for ((operation, outcome), count) in &self.counts {
            calls.entry((*operation).to_owned()).or_default().insert((*outcome).to_owned(), *count);
        }
        calls
    }
}
