//! Memory and tables of one call, with errors that say which limit it was.

use wasmtime::{ResourceLimiter, Result};

use crate::calls::limits::Limits;
use crate::resources::budget::{Full, Taken};

/// The limit that a component exceeded. Found by type in the error of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Exceeded {
    #[error("more than {limit_bytes} bytes of memory")]
    Memory { limit_bytes: u64 },
    #[error("more than {limit} table elements")]
    Tables { limit: u64 },
    #[error(transparent)]
    Budget(Full),
}

/// Counts over all memories and tables of the store. A refused growth ends the call: an allocator that only sees
/// "-1" would panic instead, and the limit would look like a bug of the component.
pub(crate) struct Limiter {
    memory_limit_bytes: u64,
    memory_bytes: u64,
    table_limit: u64,
    table_elements: u64,
    /// Of the budget that all calls share, for all of these and the call itself.
    taken: Taken,
}

/// Stack, instance and handles of a call. More than most calls touch.
const CALL_BYTES: u64 = 512 << 10;
/// The size of a table's element.
const ELEMENT_BYTES: u64 = 16;

/// More than any tool chain makes (they make 3 to 40), and a bound for the allocator that has no pool.
const MOST_INSTANCES: usize = 128;

impl Limiter {
    /// `taken` is what the call has been given before it starts; more is taken when it needs more.
    pub(crate) fn new(limits: &Limits, taken: Taken) -> Self {
        Self {
            memory_limit_bytes: limits.memory_bytes,
            memory_bytes: 0,
            table_limit: limits.table_elements,
            table_elements: 0,
            taken,
        }
    }

    /// Returns the bytes of the host that the call uses by now.
    pub(crate) fn used_bytes(&self) -> u64 {
        used_bytes(self.memory_bytes, self.table_elements)
    }

    /// The highest memory of the call, since memories only grow.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> Result<bool> {
        let total = self.memory_bytes.saturating_add(grown_by(current, desired));
        if total > self.memory_limit_bytes {
            return Err(Exceeded::Memory { limit_bytes: self.memory_limit_bytes }.into());
        }
        self.taken.grow_to(used_bytes(total, self.table_elements)).map_err(Exceeded::Budget)?;
        self.memory_bytes = total;
        Ok(true)
    }

    fn table_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> Result<bool> {
        let total = self.table_elements.saturating_add(grown_by(current, desired));
        if total > self.table_limit {
            return Err(Exceeded::Tables { limit: self.table_limit }.into());
        }
        self.taken.grow_to(used_bytes(self.memory_bytes, total)).map_err(Exceeded::Budget)?;
        self.table_elements = total;
        Ok(true)
    }

    fn instances(&self) -> usize {
        MOST_INSTANCES
    }

    fn tables(&self) -> usize {
        MOST_INSTANCES
    }

    fn memories(&self) -> usize {
        MOST_INSTANCES
    }
}

/// Returns the bytes of the host that a call with so much memory uses.
pub(crate) fn used_bytes(memory_bytes: u64, table_elements: u64) -> u64 {
    memory_bytes.saturating_add(table_elements.saturating_mul(ELEMENT_BYTES)).saturating_add(CALL_BYTES)
}

fn grown_by(current: usize, desired: usize) -> u64 {
    u64::try_from(desired.saturating_sub(current)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use machinist_core::value::id::PluginName;
    use prometheus_client::metrics::gauge::Gauge;

    use super::*;
    use crate::metrics::Metrics;
    use crate::resources::budget::{Budget, MemoryAccount};

    #[test]
    fn memories_count_together() {
        let limits = Limits { memory_bytes: 100, ..Limits::default() };
        let mut limiter = Limiter::new(&limits, MemoryAccount::endless(&PluginName::new("one")).nothing());
        assert!(limiter.memory_growing(0, 60, None).is_ok());
        assert!(limiter.memory_growing(0, 40, None).is_ok());
        let error = limiter.memory_growing(40, 41, None).expect_err("one byte too many");
        assert_eq!(error.downcast_ref(), Some(&Exceeded::Memory { limit_bytes: 100 }));
        assert_eq!(limiter.memory_bytes(), 100);
    }

    #[test]
    fn growth_takes_from_the_budget_and_breaks_at_its_end() {
        let total_bytes = 4 << 20;
        let budget = Budget::new(Some(total_bytes), &Metrics::default());
        let account = budget.of_plugin(&PluginName::new("one"), Gauge::default());
        let mut limiter = Limiter::new(&Limits::default(), account.nothing());
        assert!(limiter.memory_growing(0, 2 << 20, None).is_ok());
        assert!(limiter.table_growing(0, 10_000, None).is_ok());
        let taken_bytes = (2 << 20) + 160_000 + CALL_BYTES;
        assert_eq!(limiter.used_bytes(), taken_bytes);
        let error = limiter.memory_growing(2 << 20, 4 << 20, None).expect_err("no room");
        assert_eq!(error.downcast_ref(), Some(&Exceeded::Budget(Full { total_bytes, taken_bytes })));
        drop(limiter);
        assert!(account.take(total_bytes).is_ok(), "all is given back");
    }
}
