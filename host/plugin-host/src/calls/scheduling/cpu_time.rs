//! What calls compute, and who pays for it.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tokio::sync::Notify;

use crate::calls::scheduling::cpu_share::Account;

/// What the calls of drivers in Rust and Go never need, those in Python seldom.
pub(crate) const LONG: Duration = Duration::from_millis(20);

thread_local! {
    /// Who pays for what is being polled.
    static PAYER: RefCell<Option<Payer>> = const { RefCell::new(None) };
}

struct Payer {
    effort: Effort,
    /// The processor time of this thread when it began to pay.
    since: Duration,
}

/// Puts the payer of before back, also when what was polled unwinds.
struct Restored(Option<Payer>);

impl Drop for Restored {
    fn drop(&mut self) {
        PAYER.set(self.0.take());
    }
}

/// Processor time of one call, wherever it ran: in the guest's code, in functions of the host that it called, and in
/// tasks of the host that work for it.
#[derive(Clone, Default)]
pub(crate) struct Effort {
    spent: Arc<Spent>,
    /// Of the driver with all of its calls.
    account: Arc<Account>,
}

struct Spent {
    nanos: AtomicU64,
    /// What the call may use.
    most_nanos: AtomicU64,
    /// A task beside the call has seen that it used more.
    over: Notify,
    /// It ran into a limit that lets it go on.
    has_exceeded: AtomicBool,
}

impl Default for Spent {
    fn default() -> Self {
        Self {
            nanos: AtomicU64::new(0),
            most_nanos: AtomicU64::new(u64::MAX),
            over: Notify::new(),
            has_exceeded: AtomicBool::new(false),
        }
    }
}

impl Effort {
    /// Of a call that this account pays for, too.
    pub(crate) fn of(account: Arc<Account>) -> Self {
        Self { account, ..Self::default() }
    }

    /// Of the call that is being polled on this thread; a new one where none is.
    pub(crate) fn current() -> Self {
        PAYER.with_borrow(|payer| payer.as_ref().map(|payer| payer.effort.clone())).unwrap_or_default()
    }

    /// From here on the call may use so much in all.
    pub(crate) fn limit(&self, most: Duration) {
        self.spent.most_nanos.store(nanos(most), Ordering::Relaxed);
    }

    /// True when others go first.
    pub(crate) fn is_long(&self) -> bool {
        Duration::from_nanos(self.spent.nanos.load(Ordering::Relaxed)) >= LONG
    }

    /// What it has used up to this moment.
    pub(crate) fn spent(&self) -> Duration {
        let before = Duration::from_nanos(self.spent.nanos.load(Ordering::Relaxed));
        before + self.since().map_or(Duration::ZERO, |since| own_cpu().saturating_sub(since))
    }

    /// True when it has used more than it may.
    pub(crate) fn is_over(&self) -> bool {
        nanos(self.spent()) > self.spent.most_nanos.load(Ordering::Relaxed)
    }

    /// Ends when a task beside the call has seen that it used more than it may.
    pub(crate) async fn over(&self) {
        self.spent.over.notified().await;
    }

    /// Records that the call ran into a limit and goes on: its answer was cut off, or lines of its log are dropped.
    pub(crate) fn note_excess(&self) {
        self.spent.has_exceeded.store(true, Ordering::Relaxed);
    }

    /// Returns whether the call ran into such a limit.
    pub(crate) fn has_exceeded(&self) -> bool {
        self.spent.has_exceeded.load(Ordering::Relaxed)
    }

    /// Polls the call, or a part of it, once, and counts what that took.
    pub(crate) fn poll<T>(&self, poll: impl FnOnce() -> Poll<T>) -> Poll<T> {
        // A part that the call itself polls is counted there.
        if self.since().is_some() {
            return poll();
        }
        let since = own_cpu();
        let restored = Restored(PAYER.replace(Some(Payer { effort: self.clone(), since })));
        let polled = poll();
        drop(restored);
        let spent = own_cpu().saturating_sub(since);
        self.spent.nanos.fetch_add(nanos(spent), Ordering::Relaxed);
        self.account.spend(spent, Instant::now());
        polled
    }

    /// When this thread began to compute for this call, while it does.
    fn since(&self) -> Option<Duration> {
        PAYER.with_borrow(|payer| {
            payer
                .as_ref()
                .filter(|payer| Arc::ptr_eq(&payer.effort.spent, &self.spent))
                .map(|payer| payer.since)
        })
    }
}

/// Processor time of this thread.
pub(crate) fn own_cpu() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Counted as the work of the call that is being polled. Once that has used more than it may, the task does nothing
/// more.
pub(crate) fn paid<T: Future + Unpin>(mut task: T) -> impl Future<Output = T::Output> {
    let effort = Effort::current();
    poll_fn(move |context| {
        let polled =
            if effort.is_over() { Poll::Pending } else { effort.poll(|| Pin::new(&mut task).poll(context)) };
        if polled.is_pending() && effort.is_over() {
            effort.spent.over.notify_one();
        }
        polled
    })
}

/// Counted as the work of the driver whose call is being polled, and of no call: for what outlives calls.
pub(crate) fn paid_by_driver<T: Future + Unpin>(mut task: T) -> impl Future<Output = T::Output> {
    let effort = Effort::of(Effort::current().account);
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

    /// Computes for so long by this thread's clock.
    fn compute(time: Duration) {
        let since = own_cpu();
        while own_cpu().saturating_sub(since) < time {
            std::hint::black_box(since);
        }
    }

    #[test]
    fn a_part_is_counted_once_and_while_it_computes() {
        let effort = Effort::default();
        effort.limit(LONG);
        let inner = effort.clone();
        let _polled = effort.poll(|| {
            inner.poll(|| {
                compute(LONG * 2);
                assert!(inner.spent() >= LONG * 2 && inner.is_over(), "it is not over yet, and counts");
                Poll::Ready(())
            })
        });
        let spent = effort.spent();
        assert!(spent >= LONG * 2 && spent < LONG * 4, "{spent:?}");
    }

    #[tokio::test]
    async fn attack_a_task_of_the_host_computes_beyond_what_its_call_may() {
        let effort = Effort::default();
        effort.limit(LONG);
        let mut turns = 0;
        let endless = poll_fn(move |context| {
            compute(LONG / 4);
            turns += 1;
            assert!(turns < 100, "nobody stops it");
            context.waker().wake_by_ref();
            Poll::<()>::Pending
        });
        let Poll::Ready(task) = effort.poll(|| Poll::Ready(paid(Box::pin(endless)))) else { panic!("ready") };
        let task = tokio::spawn(task);
        effort.over().await;
        let spent = effort.spent();
        assert!(spent > LONG && spent < LONG * 3, "{spent:?}");
        task.abort();
    }

    #[test]
    fn whoever_unwinds_pays_for_nobody_else() {
        let effort = Effort::default();
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            effort.poll(|| -> Poll<()> { panic!("by order") })
        }));
        assert!(caught.is_err() && effort.since().is_none());
    }
}
