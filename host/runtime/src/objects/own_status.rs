//! Whether the API server keeps `status.machinist`.

use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::{Semaphore, SemaphorePermit};

/// What is known of it. Under machine-controller-manager's CRDs the server drops it, which shows only when it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Known {
    Nothing = 0,
    Kept = 1,
    Dropped = 2,
}

/// Learns it by as few writes as possible: while nothing is known, one pass writes and the others wait for what comes of it.
#[derive(Debug)]
pub(crate) struct OwnStatus {
    known: AtomicU8,
    asking: Semaphore,
}

/// Whether to write it.
pub(crate) enum Sending<'a> {
    /// It is kept.
    Kept,
    /// It would be dropped.
    Dropped,
    /// This write tells. Others wait until this is let go of.
    Asks(#[expect(dead_code, reason = "held for as long as it is asked")] Option<SemaphorePermit<'a>>),
}

impl OwnStatus {
    pub(crate) fn new() -> Self {
        Self { known: AtomicU8::new(Known::Nothing as u8), asking: Semaphore::new(1) }
    }

    /// True when it is known to be dropped.
    pub(crate) fn is_dropped(&self) -> bool {
        self.known() == Known::Dropped
    }

    /// An object that was read has it.
    pub(crate) fn was_seen(&self) {
        let (nothing, kept) = (Known::Nothing as u8, Known::Kept as u8);
        // Whatever else is known was learnt by a write, which is better.
        let _ = self.known.compare_exchange(nothing, kept, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// The server's answer to a write has it, or has not.
    pub(crate) fn was_written(&self, is_kept: bool) {
        let known = if is_kept { Known::Kept } else { Known::Dropped };
        self.known.store(known as u8, Ordering::Relaxed);
    }

    /// Waits at most for one request of somebody else who asks, and its turn.
    pub(crate) async fn sending(&self) -> Sending<'_> {
        if let Some(sending) = self.settled() {
            return sending;
        }
        let turn = self.asking.acquire().await.ok();
        self.settled().unwrap_or(Sending::Asks(turn))
    }

    fn settled(&self) -> Option<Sending<'static>> {
        match self.known() {
            Known::Nothing => None,
            Known::Kept => Some(Sending::Kept),
            Known::Dropped => Some(Sending::Dropped),
        }
    }

    fn known(&self) -> Known {
        match self.known.load(Ordering::Relaxed) {
            1 => Known::Kept,
            2 => Known::Dropped,
            _ => Known::Nothing,
        }
    }
}
