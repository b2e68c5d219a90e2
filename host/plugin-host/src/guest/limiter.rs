//! Memory and tables of one call, with errors that say which limit it was.

use wasmtime::{ResourceLimiter, Result};

use crate::limits::Limits;

/// What a component asked for beyond its limit. Found by type in the error of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Exceeded {
    #[error("more than {limit_bytes} bytes of memory")]
    Memory { limit_bytes: u64 },
    #[error("more than {limit} table elements")]
    Tables { limit: u64 },
}

/// Counts over all memories and tables of the store. A refused growth ends the call: an allocator that only sees
/// "-1" would panic instead, and the limit would look like a bug of the component.
#[derive(Debug)]
pub(crate) struct Limiter {
    memory_limit_bytes: u64,
    memory_bytes: u64,
    table_limit: u64,
    table_elements: u64,
}

/// More than any tool chain makes (they make 3 to 40), and a bound for the allocator that has no pool.
const MOST_INSTANCES: usize = 128;

impl Limiter {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            memory_limit_bytes: limits.memory_bytes,
            memory_bytes: 0,
            table_limit: limits.table_elements,
            table_elements: 0,
        }
    }

    /// The most that the call has held, since memories only grow.
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
        self.memory_bytes = total;
        Ok(true)
    }

    fn table_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> Result<bool> {
        let total = self.table_elements.saturating_add(grown_by(current, desired));
        if total > self.table_limit {
            return Err(Exceeded::Tables { limit: self.table_limit }.into());
        }
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

fn grown_by(current: usize, desired: usize) -> u64 {
    u64::try_from(desired.saturating_sub(current)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_count_together() {
        let limits = Limits { memory_bytes: 100, ..Limits::default() };
        let mut limiter = Limiter::new(&limits);
        assert!(limiter.memory_growing(0, 60, None).is_ok());
        assert!(limiter.memory_growing(0, 40, None).is_ok());
        let error = limiter.memory_growing(40, 41, None).expect_err("one byte too many");
        assert_eq!(error.downcast_ref(), Some(&Exceeded::Memory { limit_bytes: 100 }));
        assert_eq!(limiter.memory_bytes(), 100);
    }
}
