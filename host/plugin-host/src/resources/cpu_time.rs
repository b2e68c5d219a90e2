//! Accounts processor time to calls and drivers.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tokio::sync::Notify;

use crate::resources::cpu_share::CpuAccount;

/// A longer call continues at low priority. Calls of drivers in Rust and Go never take so long, calls of drivers in
/// Python rarely.
pub(crate) const LONG: Duration = Duration::from_millis(20);

thread_local! {
    /// The call that pays for the task that is polled.
    static PAYER: RefCell<Option<Payer>> = const { RefCell::new(None) };
}

struct Payer {
    cpu_time: CpuTime,
    /// The processor time of this thread when it began to pay.
    since: Duration,
}

/// Puts the payer of before back, also when the polled task unwinds.
struct Restored(Option<Payer>);

impl Drop for Restored {
    fn drop(&mut self) {
        PAYER.set(self.0.take());
    }
}

/// Processor time of one call, wherever it ran: in the guest's code, in functions of the host that it called, and in
/// tasks of the host that work for it.
#[derive(Clone, Default)]
pub(crate) struct CpuTime {
    spent: Arc<Spent>,
    /// The account of the driver, common to all of its calls.
    account: Arc<CpuAccount>,
}

struct Spent {
    nanos: AtomicU64,
    /// The limit of the call.
    most_nanos: AtomicU64,
    /// A task beside the call has seen that it used more.
    over: Notify,
    /// The call ran into a limit that lets it go on.
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

impl CpuTime {
    /// Creates the time of a call that also counts in this account.
    pub(crate) fn of(account: Arc<CpuAccount>) -> Self {
        Self { account, ..Self::default() }
    }

    /// Returns the time of the call that is polled on this thread; a new one if there is none.
    pub(crate) fn current() -> Self {
        PAYER.with_borrow(|payer| payer.as_ref().map(|payer| payer.cpu_time.clone())).unwrap_or_default()
    }

    /// Sets the limit for the whole call.
    pub(crate) fn limit(&self, most: Duration) {
        self.spent.most_nanos.store(nanos(most), Ordering::Relaxed);
    }

    /// True when the call continues at low priority.
    pub(crate) fn is_long(&self) -> bool {
        Duration::from_nanos(self.spent.nanos.load(Ordering::Relaxed)) >= LONG
    }

    /// Returns the time that was used so far.
    pub(crate) fn spent(&self) -> Duration {
        let before = Duration::from_nanos(self.spent.nanos.load(Ordering::Relaxed));
        before + self.since().map_or(Duration::ZERO, |since| own_cpu().saturating_sub(since))
    }

    /// True when the limit is exceeded.
    pub(crate) fn is_over(&self) -> bool {
        nanos(self.spent()) > self.spent.most_nanos.load(Ordering::Relaxed)
    }

    /// Waits until a task beside the call has seen that the limit is exceeded.
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

    /// Polls the call, or a part of it, once, and counts the time.
    pub(crate) fn poll<T>(&self, poll: impl FnOnce() -> Poll<T>) -> Poll<T> {
        // A part that the call itself polls is counted there.
        if self.since().is_some() {
            return poll();
        }
        let since = own_cpu();
        let restored = Restored(PAYER.replace(Some(Payer { cpu_time: self.clone(), since })));
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
                .filter(|payer| Arc::ptr_eq(&payer.cpu_time.spent, &self.spent))
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

/// Counts the task as work of the call that is polled. Once that call has exceeded its limit, the task does nothing
/// more.
pub(crate) fn paid<T: Future + Unpin>(mut task: T) -> impl Future<Output = T::Output> {
    let cpu_time = CpuTime::current();
    poll_fn(move |context| {
        let polled = if cpu_time.is_over() {
            Poll::Pending
        } else {
            cpu_time.poll(|| Pin::new(&mut task).poll(context))
        };
        if polled.is_pending() && cpu_time.is_over() {
            cpu_time.spent.over.notify_one();
        }
        polled
    })
}

/// Counts the task as work of the driver whose call is polled, and of no call: for tasks that outlive calls.
pub(crate) fn paid_by_driver<T: Future + Unpin>(mut task: T) -> impl Future<Output = T::Output> {
    let cpu_time = CpuTime::of(CpuTime::current().account);
    poll_fn(move |context| cpu_time.poll(|| Pin::new(&mut task).poll(context)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_no_cpu_time() {
        let cpu_time = CpuTime::default();
        let since = Instant::now();
        let _waited = cpu_time.poll(|| {
            std::thread::sleep(2 * LONG);
            Poll::Ready(())
        });
        assert!(since.elapsed() >= 2 * LONG && !cpu_time.is_long());
    }

    /// Computes for this time by this thread's clock.
    fn compute(time: Duration) {
        let since = own_cpu();
        while own_cpu().saturating_sub(since) < time {
            std::hint::black_box(since);
        }
    }

    #[test]
    fn a_part_is_counted_once_and_while_it_computes() {
        let cpu_time = CpuTime::default();
        cpu_time.limit(LONG);
        let inner = cpu_time.clone();
        let _polled = cpu_time.poll(|| {
            inner.poll(|| {
                compute(LONG * 2);
                assert!(inner.spent() >= LONG * 2 && inner.is_over(), "it is not over yet, and counts");
                Poll::Ready(())
            })
        });
        let spent = cpu_time.spent();
        assert!(spent >= LONG * 2 && spent < LONG * 4, "{spent:?}");
    }

    #[tokio::test]
    async fn attack_a_task_of_the_host_computes_beyond_what_its_call_may() {
        let cpu_time = CpuTime::default();
        cpu_time.limit(LONG);
        let mut turns = 0;
        let endless = poll_fn(move |context| {
            compute(LONG / 4);
            turns += 1;
            assert!(turns < 100, "nobody stops it");
            context.waker().wake_by_ref();
            Poll::<()>::Pending
        });
        let Poll::Ready(task) = cpu_time.poll(|| Poll::Ready(paid(Box::pin(endless)))) else {
            panic!("ready")
        };
        let task = tokio::spawn(task);
        cpu_time.over().await;
        let spent = cpu_time.spent();
        assert!(spent > LONG && spent < LONG * 3, "{spent:?}");
        task.abort();
    }

    #[test]
    fn a_task_that_unwinds_pays_for_no_other() {
        let cpu_time = CpuTime::default();
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            cpu_time.poll(|| -> Poll<()> { panic!("by order") })
        }));
        assert!(caught.is_err() && cpu_time.since().is_none());
    }
}
