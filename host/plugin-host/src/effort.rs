//! What calls compute, and who pays for it.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::company::Account;

/// What the calls of drivers in Rust and Go never need, those in Python seldom.
pub(crate) const LONG: Duration = Duration::from_millis(20);

thread_local! {
    /// Who pays for what is being polled.
    static PAYER: RefCell<Option<Arc<Account>>> = const { RefCell::new(None) };
}

/// Processor time of one call, wherever it ran.
#[derive(Clone, Default)]
pub(crate) struct Effort {
    nanos: Arc<AtomicU64>,
    /// Of the driver with all of its calls.
    account: Arc<Account>,
}

impl Effort {
    /// Of a call that this account pays for, too.
    pub(crate) fn of(account: Arc<Account>) -> Self {
        Self { account, ..Self::default() }
    }

    /// True when others go first.
    pub(crate) fn is_long(&self) -> bool {
        Duration::from_nanos(self.nanos.load(Ordering::Relaxed)) >= LONG
    }

    /// Polls the call once, and counts what that took.
    pub(crate) fn poll<T>(&self, poll: impl FnOnce() -> Poll<T>) -> Poll<T> {
        let outer = PAYER.replace(Some(Arc::clone(&self.account)));
        let before = own_cpu();
        let polled = poll();
        PAYER.set(outer);
        let spent = own_cpu().saturating_sub(before);
        self.nanos.fetch_add(u64::try_from(spent.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
        self.account.spend(spent, Instant::now());
        polled
    }
}

/// Processor time of this thread.
pub(crate) fn own_cpu() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// Counted as the work of whoever pays now.
pub(crate) fn paid<T: Future + Unpin>(mut task: T) -> impl Future<Output = T::Output> {
    let effort = Effort::of(PAYER.with_borrow(Clone::clone).unwrap_or_default());
    poll_fn(move |context| effort.poll(|| Pin::new(&mut task).poll(context)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_no_effort() {
        let effort = Effort::default();
        let since = Instant::now();
        let _waited = effort.poll(|| {
            std::thread::sleep(2 * LONG);
            Poll::Ready(())
        });
        assert!(since.elapsed() >= 2 * LONG && !effort.is_long());
    }
}
