//! The policies, and the Machines that each applies to.

use std::collections::{BTreeMap, BTreeSet};

use crate::value::id::PluginName;

use super::opinion::Mode;
use super::question::Subject;

/// A policy as its operator declared it, and whether it can be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFact {
    pub policy: PluginName,
    pub mode: Mode,
    /// The Machines that it applies to.
    pub scope: Scope,
    /// Whether it can be asked.
    pub standing: ServingState,
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
    /// Labels of the Machine.
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
