//! What one policy thinks of one Machine.

use std::fmt;

use jiff::Timestamp;

use crate::value::id::PluginName;

/// Whether a policy decides, or only tells what it would decide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// It tells. Nothing happens because of it.
    #[default]
    Observe,
    /// It decides instead of the built-in rule.
    Enforce,
}

impl Mode {
    /// As settings and texts have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Enforce => "enforce",
        }
    }
}

/// Healthy or not, by a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PolicyVerdict {
    /// The Machine works.
    Healthy,
    /// It does not.
    Unhealthy {
        /// Since when.
        since: Timestamp,
    },
    /// The policy cannot or does not want to tell: the Machine stays as it is.
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

/// What a policy suggests to do about a Machine that is not healthy. Ordered: the milder, the less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Wait.
    None,
    /// Start the VM anew, which keeps its disks, its Node and its pods' places.
    Reboot,
    /// Let the Machine fail when its health time-out is over, so that it is replaced.
    Replace,
}

impl Action {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Reboot => "reboot",
            Self::Replace => "replace",
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What one policy says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opinion {
    /// Who says it.
    pub policy: PluginName,
    /// Whether it decides.
    pub mode: Mode,
    /// Healthy or not.
    pub verdict: PolicyVerdict,
    /// Why, for people.
    pub reason: String,
    /// What to do. Counts only with [`PolicyVerdict::Unhealthy`].
    pub action: Action,
    /// The verdict is good until then, as long as nothing that the policy was shown changes.
    pub holds_until: Timestamp,
}
