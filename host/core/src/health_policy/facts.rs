//! What a pass knows of the policies that are about its Machine.

use crate::value::id::PluginName;

use super::opinion::Opinion;
use super::reboots::Reboots;

/// The policies of one Machine, as a pass finds them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoliciesFact {
    /// Opinions that hold at the moment, also those of policies that cannot be asked.
    pub opinions: Vec<Opinion>,
    /// Policies that have to be asked: their last answer was to another question, or has ended.
    pub to_ask: Vec<PluginName>,
    /// When the Machine's VM was started anew.
    pub reboots: Reboots,
    /// Its condition `PolicyObserved` says that something would have been different.
    pub is_told: bool,
}

impl PoliciesFact {
    /// True when some policy is about the Machine.
    pub fn is_any(&self) -> bool {
        !self.opinions.is_empty() || !self.to_ask.is_empty()
    }
}
