//! Whether the API server keeps `status.machinist`.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};

/// Finds it out by as few writes as possible: while nothing is known, one reconcile writes and the others wait for the
/// result.
#[derive(Debug)]
pub(crate) struct OwnStatus {
    /// `None` while it is not known. Under machine-controller-manager's CRDs the server drops it, which shows only
    /// after a write.
    is_kept: Mutex<Option<bool>>,
    probe: Semaphore,
}

/// Whether to write it.
pub(crate) enum SendMode<'a> {
    Kept,
    /// It would be dropped.
    Dropped,
    /// This write probes. Others wait until the permit is dropped.
    Probing(#[expect(dead_code, reason = "held for as long as it is asked")] Option<SemaphorePermit<'a>>),
}

impl OwnStatus {
    pub(crate) fn new() -> Self {
        Self { is_kept: Mutex::default(), probe: Semaphore::new(1) }
    }

    /// True when it is known to be dropped.
    pub(crate) fn is_dropped(&self) -> bool {
        *self.is_kept() == Some(false)
    }

    /// An object that was read has it.
    pub(crate) fn was_seen(&self) {
        // Anything else was found out by a write, which is more reliable.
        self.is_kept().get_or_insert(true);
    }

    /// The server's answer to a write has it, or has not.
    pub(crate) fn was_written(&self, is_kept: bool) {
        *self.is_kept() = Some(is_kept);
    }

    /// Waits at most for one request of another reconcile that probes, and for its permit.
    pub(crate) async fn send_mode(&self) -> SendMode<'_> {
        if let Some(send_mode) = self.known_mode() {
            return send_mode;
        }
        let permit = self.probe.acquire().await.ok();
        self.known_mode().unwrap_or(SendMode::Probing(permit))
    }

    fn known_mode(&self) -> Option<SendMode<'static>> {
        self.is_kept().map(|is_kept| if is_kept { SendMode::Kept } else { SendMode::Dropped })
    }

    fn is_kept(&self) -> MutexGuard<'_, Option<bool>> {
        self.is_kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
