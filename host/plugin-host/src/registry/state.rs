//! The states of a plugin, and the figures by which a broken one is left alone for a while.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

/// Where a source is on its way, or where that way ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PluginState {
    Declared,
    /// Its component is unpacked and has the right digest.
    Fetched,
    /// The component's outside fits this host; it is being compiled.
    Verified,
    /// Compiled and described. The newest Ready version of a plugin serves.
    Ready,
    /// Ready, and answers a part of the calls beside the version that serves.
    Trial,
    /// Ready, and answers no call: it broke, failed or was slow, and another version serves. The reason says which.
    Withdrawn,
    /// Something is wrong with it; the reason says what.
    Rejected,
    /// It broke again and again, and is not called until then.
    Quarantined {
        /// The end of it.
        until: Timestamp,
    },
}

impl PluginState {
    /// The state's name, for metrics and Events.
    pub fn name(self) -> &'static str {
        match self {
            Self::Declared => "Declared",
            Self::Fetched => "Fetched",
            Self::Verified => "Verified",
            Self::Ready => "Ready",
            Self::Trial => "Trial",
            Self::Withdrawn => "Withdrawn",
            Self::Rejected => "Rejected",
            Self::Quarantined { .. } => "Quarantined",
        }
    }
}

impl fmt::Display for PluginState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quarantined { until } => write!(f, "Quarantined until {until}"),
            Self::Declared
            | Self::Fetched
            | Self::Verified
            | Self::Ready
            | Self::Trial
            | Self::Withdrawn
            | Self::Rejected => f.write_str(self.name()),
        }
    }
}

/// When a plugin that breaks is left alone, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuarantineRule {
    /// So many broken calls of one function in a row …
    pub broken_calls: usize,
    pub window: SignedDuration,
    /// How long the first time; each time without a good call in between doubles it.
    pub first: SignedDuration,
    /// And no longer than this.
    pub longest: SignedDuration,
}

impl Default for QuarantineRule {
    fn default() -> Self {
        Self {
            // More than the retries of one unlucky machine within the window.
            broken_calls: 10,
            window: SignedDuration::from_mins(1),
            first: SignedDuration::from_secs(15),
            longest: SignedDuration::from_mins(5),
        }
    }
}
