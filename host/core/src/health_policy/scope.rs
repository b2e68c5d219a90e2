//! The policies, the Machines that each applies to, and the facts of a reconcile about them.

use std::collections::{BTreeMap, BTreeSet};

use crate::value::id::PluginName;

use super::opinion::{Mode, Opinion};
use super::question::Subject;
use super::reboots::Reboots;

/// A policy as its operator declared it, and whether it can be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFact {
    pub policy: PluginName,
    pub mode: Mode,
    /// The Machines that it applies to.
    pub scope: Scope,
    /// Whether it can be asked.
    pub state: ServingState,
}

/// Whether a policy can be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServingState {
    Serving {
        /// Changes whenever the same question could get another answer.
        generation: u64,
    },
    /// It cannot: it is being loaded, rejected, or quarantined. It counts as one without a verdict.
    NotServing { reason: String },
}

/// The Machines that a policy applies to. Each given part must match; an empty one matches all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    pub classes: BTreeSet<String>,
    pub deployments: BTreeSet<String>,
    pub labels: BTreeMap<String, String>,
}

impl Scope {
    /// Returns true for Machines that the policy applies to.
    pub fn covers(&self, machine: &Subject) -> bool {
        let is_one_of = |names: &BTreeSet<String>, name: Option<&str>| {
            names.is_empty() || name.is_some_and(|name| names.contains(name))
        };
        is_one_of(&self.classes, Some(machine.class.as_str()))
            && is_one_of(&self.deployments, machine.deployment.as_deref())
            && self.labels.iter().all(|(key, value)| machine.labels.get(key) == Some(value))
    }

    /// Returns true when it applies to all Machines.
    pub fn is_everything(&self) -> bool {
        self.classes.is_empty() && self.deployments.is_empty() && self.labels.is_empty()
    }
}

/// The policies of one Machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoliciesFact {
    /// Valid opinions, also those of policies that cannot be asked.
    pub opinions: Vec<Opinion>,
    /// Policies to ask: their last answer was to another question, or has expired.
    pub to_ask: Vec<PluginName>,
    /// When the Machine's VM was rebooted.
    pub reboots: Reboots,
    /// Its condition `PolicyObserved` reports a different decision.
    pub is_reported: bool,
}

impl PoliciesFact {
    /// Returns true when a policy applies to the Machine.
    pub fn is_any(&self) -> bool {
        !self.opinions.is_empty() || !self.to_ask.is_empty()
    }
}
