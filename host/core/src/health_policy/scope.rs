//! Which policies there are, and which Machines each is about.

use std::collections::{BTreeMap, BTreeSet};

use crate::value::id::PluginName;

use super::opinion::Mode;
use super::question::Subject;

/// A policy, as its operator declared it, and whether it can be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFact {
    /// Its name.
    pub policy: PluginName,
    /// Whether it decides.
    pub mode: Mode,
    /// Which Machines it is about.
    pub scope: Scope,
    /// Whether it can be asked.
    pub standing: PolicyState,
}

/// Whether a policy can be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyState {
    /// It can.
    Serving {
        /// Changes whenever the same question could get another answer.
        generation: u64,
    },
    /// It cannot: it is being loaded, rejected, or left alone for a while. It counts as one that does not know.
    NotServing {
        /// Why.
        reason: String,
    },
}

/// Which Machines a policy is about. Each part that is given has to fit; an empty one fits all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Names of MachineClasses.
    pub classes: BTreeSet<String>,
    /// Names of MachineDeployments.
    pub deployments: BTreeSet<String>,
    /// Labels of the Machine.
    pub labels: BTreeMap<String, String>,
}

impl Scope {
    /// True for Machines that the policy is about.
    pub fn covers(&self, machine: &Subject) -> bool {
        let is_one_of = |names: &BTreeSet<String>, name: Option<&str>| {
            names.is_empty() || name.is_some_and(|name| names.contains(name))
        };
        is_one_of(&self.classes, Some(machine.class.as_str()))
            && is_one_of(&self.deployments, machine.deployment.as_deref())
            && self.labels.iter().all(|(key, value)| machine.labels.get(key) == Some(value))
    }

    /// True when it is about all Machines.
    pub fn is_everything(&self) -> bool {
        self.classes.is_empty() && self.deployments.is_empty() && self.labels.is_empty()
    }
}
