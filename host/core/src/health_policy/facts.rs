//! Facts of a reconcile about the policies that apply to its Machine.

use crate::value::id::PluginName;

use super::opinion::Opinion;
use super::reboots::Reboots;

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
    pub is_told: bool,
}

impl PoliciesFact {
    /// Returns true when a policy applies to the Machine.
    pub fn is_any(&self) -> bool {
        !self.opinions.is_empty() || !self.to_ask.is_empty()
    }
}
