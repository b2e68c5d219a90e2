//! Pays for the calls of one version of a plugin.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::{Full, MemoryAccount, Taken};

/// The first call of a version starts with this much: components of Rust and Go need less.
const FIRST_BYTES: u64 = 4 << 20;

/// Remembers what calls used, so that a call starts only when it is likely to come to its end.
pub(crate) struct Purse {
    account: MemoryAccount,
    usual_bytes: AtomicU64,
}

impl Purse {
    pub(crate) fn new(account: MemoryAccount) -> Self {
        Self { account, usual_bytes: AtomicU64::new(FIRST_BYTES) }
    }

    /// Returns the account that pays for the requests of a call, too.
    pub(crate) fn account(&self) -> &MemoryAccount {
        &self.account
    }

    /// Takes what calls usually use, waiting for others to give it back. Half of the time is left for the call.
    pub(crate) async fn start(&self, now: Instant, deadline: Instant) -> Result<Taken, Full> {
        let until = now + deadline.saturating_duration_since(now) / 2;
        self.account.take_until(self.usual_bytes.load(Ordering::Relaxed), until).await
    }

    /// Learns from a call that has ended.
    pub(crate) fn note(&self, used_bytes: u64) {
        self.usual_bytes
            .store(usual(self.usual_bytes.load(Ordering::Relaxed), used_bytes), Ordering::Relaxed);
    }
}

/// Follows large calls at once and small ones slowly: a listing among many small calls counts.
fn usual(before: u64, used: u64) -> u64 {
    used.max(before - before / 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_calls_count_at_once_and_are_forgotten_slowly() {
        assert_eq!(usual(800, 1_000), 1_000);
        assert_eq!(usual(800, 10), 700);
        let after = (0..40).fold(800_000, |before, _| usual(before, 10));
        assert!(after < 5_000, "{after}");
    }
}
