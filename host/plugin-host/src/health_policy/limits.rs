//! How much one call of a policy may use.

use std::time::Duration;

use serde::Deserialize;

use crate::calls::limits::{self, Limits};

const MIB: u64 = 1024 * 1024;
const KIB: u64 = 1024;
/// About a minute of work. A policy that needs it holds up everything else.
const MOST_FUEL: u64 = 100_000_000_000;
const MOST_MILLISECONDS: u64 = 60_000;
const MOST_COPIED_KIB: u64 = 4 * KIB;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyLimits {
    /// Units of work of one call; about one for each instruction.
    pub fuel: u64,
    /// Linear memory of one call.
    pub memory_bytes: u64,
    /// Time on the wall of one call.
    pub deadline: Duration,
    /// Bytes that may cross the boundary towards the host at once, the answer included.
    pub copied_bytes: u64,
}

impl Default for PolicyLimits {
    fn default() -> Self {
        Self {
            // The policies of this tree use below 100,000; runtimes of scripting languages start with tens of millions.
            fuel: 200_000_000,
            memory_bytes: 64 * MIB,
            deadline: Duration::from_secs(2),
            copied_bytes: 256 * KIB,
        }
    }
}

/// As `policy.yaml` has them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawPolicyLimits {
    fuel: Option<u64>,
    memory_mib: Option<u64>,
    deadline_ms: Option<u64>,
    copied_kib: Option<u64>,
}

/// No policy needs more, and the engine reserves this much for each that runs.
pub(crate) const MOST_MEMORY_BYTES: u64 = 256 * MIB;

impl RawPolicyLimits {
    pub(crate) fn checked(&self) -> Result<PolicyLimits, limits::Error> {
        let mut checked = PolicyLimits::default();
        if let Some(fuel) = limits::checked("fuel", self.fuel, MOST_FUEL)? {
            checked.fuel = fuel;
        }
        if let Some(mib) = limits::checked("memory_mib", self.memory_mib, MOST_MEMORY_BYTES / MIB)? {
            checked.memory_bytes = mib * MIB;
        }
        if let Some(ms) = limits::checked("deadline_ms", self.deadline_ms, MOST_MILLISECONDS)? {
            checked.deadline = Duration::from_millis(ms);
        }
        if let Some(kib) = limits::checked("copied_kib", self.copied_kib, MOST_COPIED_KIB)? {
            checked.copied_bytes = kib * KIB;
        }
        Ok(checked)
    }
}

impl PolicyLimits {
    /// The limits that drivers have too, in the form that all sandboxes take.
    pub(crate) fn common(&self) -> Limits {
        Limits {
            memory_bytes: self.memory_bytes,
            deadline: self.deadline,
            copied_bytes: self.copied_bytes,
            ..Limits::default()
        }
    }
}
