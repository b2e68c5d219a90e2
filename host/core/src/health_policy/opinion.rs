//! One policy's opinion of one Machine.

use std::fmt;

use jiff::Timestamp;

use crate::value::id::PluginName;
use crate::value::words::words;

words! {
    /// Whether a policy decides, or only reports.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Mode with as_str {
        /// It only reports. Nothing happens because of it.
        #[default]
        Observe = "observe",
        /// It decides instead of the built-in rule.
        Enforce = "enforce",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PolicyVerdict {
    Healthy,
    Unhealthy {
        since: Timestamp,
    },
    /// The policy has no verdict: the Machine stays as it is.
    Unknown,
}

impl PolicyVerdict {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Unhealthy { .. } => "unhealthy",
            Self::Unknown => "unknown",
        }
    }
}

words! {
    /// The action that a policy suggests for an unhealthy Machine. Ordered: the milder, the less.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Action with as_str {
        None = "none",
        /// Reboot the VM, which keeps its disks, its Node and its pods.
        Reboot = "reboot",
        /// Let the Machine fail when its health timeout is over, so that it is replaced.
        Replace = "replace",
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The opinion of one policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opinion {
    pub policy: PluginName,
    pub mode: Mode,
    pub verdict: PolicyVerdict,
    pub reason: String,
    /// The suggested action. Counts only with [`PolicyVerdict::Unhealthy`].
    pub action: Action,
    /// The verdict is valid until then, as long as the question does not change.
    pub holds_until: Timestamp,
}
