//! Whether the API server keeps `status.machinist`.

use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::{Semaphore, SemaphorePermit};

/// What is known of it. Under machine-controller-manager's CRDs the server drops it, which shows only when it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Support {
    Unknown = 0,
    Kept = 1,
    Dropped = 2,
}

/// Learns it by as few writes as possible: while nothing is known, one pass writes and the others wait for what comes of it.
#[derive(Debug)]
pub(crate) struct OwnStatus {
    known: AtomicU8,
    probe: Semaphore,
}

/// Whether to write it.
pub(crate) enum SendMode<'a> {
    /// It is kept.
    Kept,
    /// It would be dropped.
    Dropped,
    /// This write tells. Others wait until this is let go of.
    Probing(#[expect(dead_code, reason = "held for as long as it is asked")] Option<SemaphorePermit<'a>>),
}

impl OwnStatus {
    pub(crate) fn new() -> Self {
        Self { known: AtomicU8::new(Support::Unknown as u8), probe: Semaphore::new(1) }
    }

    /// True when it is known to be dropped.
    pub(crate) fn is_dropped(&self) -> bool {
        self.known() == Support::Dropped
    }

    /// An object that was read has it.
    pub(crate) fn was_seen(&self) {
        let (nothing, kept) = (Support::Unknown as u8, Support::Kept as u8);
        // Whatever else is known was learnt by a write, which is better.
        let _ = self.known.compare_exchange(nothing, kept, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// The server's answer to a write has it, or has not.
    pub(crate) fn was_written(&self, is_kept: bool) {
        let known = if is_kept { Support::Kept } else { Support::Dropped };
        self.known.store(known as u8, Ordering::Relaxed);
    }

    /// Waits at most for one request of somebody else who asks, and its turn.
    pub(crate) async fn send_mode(&self) -> SendMode<'_> {
        if let Some(send_mode) = self.known_mode() {
            return send_mode;
        }
        let permit = self.probe.acquire().await.ok();
        self.known_mode().unwrap_or(SendMode::Probing(permit))
    }

    fn known_mode(&self) -> Option<SendMode<'static>> {
        match self.known() {
            Support::Unknown => None,
            Support::Kept => Some(SendMode::Kept),
            Support::Dropped => Some(SendMode::Dropped),
        }
    }

    fn known(&self) -> Support {
        match self.known.load(Ordering::Relaxed) {
            1 => Support::Kept,
            2 => Support::Dropped,
            _ => Support::Unknown,
        }
    }
}
