//! How much of the host one call, and one plugin, may use.

use std::time::Duration;

use crate::grants::RawLimits;
use crate::recording::LimitsTaken;

const MIB: u64 = 1024 * 1024;
const KIB: u64 = 1024;

/// The limits of one plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Linear memory of one call, all memories of the component together.
    pub memory_bytes: u64,
    pub table_elements: u64,
    /// Processor time of one call. Waiting for the cloud does not count.
    pub cpu: Duration,
    /// Time on the wall of one call; the contract's own deadline holds when it is shorter.
    pub deadline: Duration,
    /// Bytes that may cross the boundary towards the host at once, the answer included.
    pub copied_bytes: u64,
    /// Handles of host resources that one call may hold at the same time.
    pub handles: usize,
    /// Calls at the same time.
    pub calls_in_flight: usize,
    /// Calls in a minute; `None` is no limit.
    pub calls_per_minute: Option<u32>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // Enough for the runtimes of Go, JavaScript and Python, which start at 3 to 13 MiB.
            memory_bytes: 128 * MIB,
            // JavaScript's engine needs 7,780.
            table_elements: 20_000,
            // A call works for milliseconds. Seconds are for a slow node under load.
            cpu: Duration::from_secs(10),
            deadline: Duration::from_secs(300),
            // A page of ten thousand machines is about 2 MiB.
            copied_bytes: 4 * MIB,
            handles: 1_024,
            calls_in_flight: 64,
            calls_per_minute: None,
        }
    }
}

/// The most that a grants document may ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ceilings {
    /// The memory of a slot of the pool.
    pub memory_bytes: u64,
    /// The elements of a table of the pool.
    pub table_elements: u64,
    /// As many as the host runs at all.
    pub calls_in_flight: usize,
}

/// A limit in the grants that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("limit {name} is 0")]
    Zero {
        /// As the document names it.
        name: &'static str,
    },
    #[error("limit {name} is {asked}, the host allows {most}")]
    TooMuch {
        name: &'static str,
        /// The value in the document.
        asked: u64,
        most: u64,
    },
}

/// No single call may hold a copy larger than this.
const MOST_COPIED_KIB: u64 = 64 * KIB;
const MOST_HANDLES: u64 = 100_000;
const MOST_MILLISECONDS: u64 = 3_600_000;
/// More than a host makes.
const MOST_CALLS_PER_MINUTE: u64 = 1_000_000;

impl Limits {
    /// `defaults` with what `raw` says instead.
    ///
    /// Fails when a limit is zero or above its ceiling: a document that asks for too much is wrong, not cut.
    pub fn from_raw(raw: &RawLimits, defaults: &Self, ceilings: &Ceilings) -> Result<Self, Error> {
        let mut limits = defaults.clone();
        let most_mib = ceilings.memory_bytes / MIB;
        if let Some(mib) = checked("memory_mib", raw.memory_mib, most_mib)? {
            limits.memory_bytes = mib * MIB;
        }
        let elements = raw.table_elements;
        if let Some(elements) = checked("table_elements", elements, ceilings.table_elements)? {
            limits.table_elements = elements;
        }
        if let Some(ms) = checked("cpu_ms", raw.cpu_ms, MOST_MILLISECONDS)? {
            limits.cpu = Duration::from_millis(ms);
        }
        if let Some(ms) = checked("deadline_ms", raw.deadline_ms, MOST_MILLISECONDS)? {
            limits.deadline = Duration::from_millis(ms);
        }
        if let Some(kib) = checked("copied_kib", raw.copied_kib, MOST_COPIED_KIB)? {
            limits.copied_bytes = kib * KIB;
        }
        if let Some(handles) = checked("handles", raw.handles, MOST_HANDLES)? {
            limits.handles = usize::try_from(handles).unwrap_or(usize::MAX);
        }
        let most_calls = u64::try_from(ceilings.calls_in_flight).unwrap_or(u64::MAX);
        if let Some(calls) = checked("calls_in_flight", raw.calls_in_flight, most_calls)? {
            limits.calls_in_flight = usize::try_from(calls).unwrap_or(usize::MAX);
        }
        if let Some(calls) = checked("calls_per_minute", raw.calls_per_minute, MOST_CALLS_PER_MINUTE)? {
            limits.calls_per_minute = u32::try_from(calls).ok();
        }
        Ok(limits)
    }

    /// As a recording has them.
    pub(crate) fn taken(&self, deadline_ms: u64) -> LimitsTaken {
        LimitsTaken {
            memory_bytes: self.memory_bytes,
            table_elements: self.table_elements,
            cpu_ms: u64::try_from(self.cpu.as_millis()).unwrap_or(u64::MAX),
            deadline_ms,
            copied_bytes: self.copied_bytes,
            handles: u64::try_from(self.handles).unwrap_or(u64::MAX),
        }
    }

    /// The recorded ones, as far as this host has room.
    pub(crate) fn with_recorded(&self, taken: &LimitsTaken, ceilings: &Ceilings) -> Self {
        Self {
            memory_bytes: taken.memory_bytes.min(ceilings.memory_bytes),
            table_elements: taken.table_elements.min(ceilings.table_elements),
            cpu: Duration::from_millis(taken.cpu_ms),
            copied_bytes: taken.copied_bytes,
            handles: usize::try_from(taken.handles).unwrap_or(usize::MAX),
            ..self.clone()
        }
    }
}

pub(crate) fn checked(name: &'static str, asked: Option<u64>, most: u64) -> Result<Option<u64>, Error> {
    match asked {
        Some(0) => Err(Error::Zero { name }),
        Some(asked) if asked > most => Err(Error::TooMuch { name, asked, most }),
        other => Ok(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ceilings() -> Ceilings {
        Ceilings { memory_bytes: 256 * MIB, table_elements: 20_000, calls_in_flight: 100 }
    }

    fn from_raw(raw: &RawLimits) -> Result<Limits, Error> {
        Limits::from_raw(raw, &Limits::default(), &ceilings())
    }

    #[test]
    fn a_limit_that_is_not_named_keeps_its_default() {
        let limits = from_raw(&RawLimits { memory_mib: Some(16), ..RawLimits::default() });
        assert_eq!(limits, Ok(Limits { memory_bytes: 16 * MIB, ..Limits::default() }));
    }

    #[test]
    fn zero_and_too_much_are_refused_by_name() {
        let zero = from_raw(&RawLimits { cpu_ms: Some(0), ..RawLimits::default() });
        assert_eq!(zero, Err(Error::Zero { name: "cpu_ms" }));
        let much = from_raw(&RawLimits { memory_mib: Some(257), ..RawLimits::default() });
        assert_eq!(much, Err(Error::TooMuch { name: "memory_mib", asked: 257, most: 256 }));
    }
}
