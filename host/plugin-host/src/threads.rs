//! The threads that drivers run on. Most calls compute for a moment and wait for their cloud. One that computes for long goes on on patient threads,
//! which the kernel lets stand back where others want the processor: they do not wait behind it.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use rustix::process::nice;
use rustix::time::{ClockId, clock_gettime};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinError;
use tokio_util::task::AbortOnDropHandle;
use tracing::warn;

/// What the calls of drivers in Rust and Go never need, those in Python seldom.
const LONG: Duration = Duration::from_millis(20);
/// As the compiler's: far enough back for others to go first, not so far that a call never ends on a processor that is always busy.
const PATIENCE: i32 = 10;

/// Owns the threads.
pub(crate) struct Threads {
    usual: Runtime,
    patient: Runtime,
}

/// Where calls run.
#[derive(Clone)]
pub(crate) struct Guests {
    /// With everything that calls wait for: timers, connections.
    pub(crate) usual: Handle,
    patient: Handle,
}

impl Threads {
    /// So many of each kind.
    pub(crate) fn start(count: usize) -> io::Result<Self> {
        let usual = Builder::new_multi_thread()
            .worker_threads(count)
            .thread_name("plugin-guest")
            .enable_all()
            .build()?;
        let patient = Builder::new_multi_thread()
            .worker_threads(count)
            .thread_name("plugin-patient")
            .on_thread_start(|| {
                // Of this thread only, as the kernel counts.
                if let Err(error) = nice(PATIENCE) {
                    warn!(%error, "drivers that compute for long compete with others");
                }
            })
            .build()?;
        Ok(Self { usual, patient })
    }

    pub(crate) fn guests(&self) -> Guests {
        Guests { usual: self.usual.handle().clone(), patient: self.patient.handle().clone() }
    }

    /// Ends them without waiting: this may happen on a thread of another runtime, where waiting is forbidden.
    pub(crate) fn end(self) {
        self.patient.shutdown_background();
        self.usual.shutdown_background();
    }
}

/// Processor time of one call, wherever it ran.
#[derive(Clone, Default)]
pub(crate) struct Effort(Arc<AtomicU64>);

impl Effort {
    /// True when others go first.
    pub(crate) fn is_long(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= u64::try_from(LONG.as_nanos()).unwrap_or(u64::MAX)
    }

    fn add(&self, spent: Duration) {
        self.0.fetch_add(u64::try_from(spent.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Polls the call once, and counts what that took.
    pub(crate) fn poll<T>(&self, poll: impl FnOnce() -> Poll<T>) -> Poll<T> {
        let before = own_cpu();
        let polled = poll();
        self.add(own_cpu().saturating_sub(before));
        polled
    }
}

/// Processor time of this thread.
fn own_cpu() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// Whether the calls of a driver begin behind others, by how its last one ended.
#[derive(Default)]
pub(crate) struct Manners(AtomicBool);

impl Manners {
    pub(crate) fn gives_way(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// It has computed for long, or broke.
    pub(crate) fn note(&self, gives_way: bool) {
        self.0.store(gives_way, Ordering::Relaxed);
    }
}

impl Guests {
    /// Runs the call to its end: on the usual threads until it has computed for long, then on the patient ones. Dropping the
    /// future ends it.
    pub(crate) async fn run<C>(
        &self,
        call: C,
        effort: &Effort,
        manners: &Manners,
    ) -> Result<C::Output, JoinError>
    where
        C: Future<Output: Send> + Send + Unpin + 'static,
    {
        let mut call = call;
        if !manners.gives_way() {
            let usual = AbortOnDropHandle::new(self.usual.spawn(until_long(call, effort.clone())));
            match usual.await? {
                Ok(output) => return Ok(output),
                Err(rest) => call = rest,
            }
            manners.note(true);
        }
        let (home, effort) = (self.usual.clone(), effort.clone());
        let patient = poll_fn(move |context| {
            // What the call waits for belongs to the usual threads.
            let _at_home = home.enter();
            effort.poll(|| Pin::new(&mut call).poll(context))
        });
        AbortOnDropHandle::new(self.patient.spawn(patient)).await
    }
}

/// The end of the call, or the call itself once it has computed for long.
async fn until_long<C: Future + Unpin>(mut call: C, effort: Effort) -> Result<C::Output, C> {
    let ended = poll_fn(|context| match effort.poll(|| Pin::new(&mut call).poll(context)) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if effort.is_long() => Poll::Ready(None),
        Poll::Pending => Poll::Pending,
    });
    match ended.await {
        Some(output) => Ok(output),
        None => Err(call),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use futures::FutureExt as _;

    use super::*;

    /// Computes for so long in steps of a millisecond, as a guest does that gives way at each tick. Says on which thread it ended.
    async fn computes(time: Duration) -> String {
        let mut spent = Duration::ZERO;
        while spent < time {
            let since = own_cpu();
            while own_cpu() - since < Duration::from_millis(1) {
                std::hint::black_box(since);
            }
            spent += own_cpu() - since;
            tokio::task::yield_now().await;
        }
        std::thread::current().name().unwrap_or_default().to_owned()
    }

    fn ran(threads: &Threads, time: Duration, manners: &Manners) -> String {
        let runtime = Builder::new_current_thread().build().unwrap();
        let (guests, effort) = (threads.guests(), Effort::default());
        runtime.block_on(guests.run(computes(time).boxed(), &effort, manners)).unwrap()
    }

    #[test]
    fn who_computes_for_long_ends_behind_the_others_and_begins_there_the_next_time() {
        let (threads, manners) = (Threads::start(1).unwrap(), Manners::default());
        assert_eq!(ran(&threads, Duration::from_millis(1), &manners), "plugin-guest");
        assert!(!manners.gives_way());
        assert_eq!(ran(&threads, 3 * LONG, &manners), "plugin-patient");
        assert!(manners.gives_way());
        assert_eq!(ran(&threads, Duration::from_millis(1), &manners), "plugin-patient");
        threads.end();
    }

    #[test]
    fn patient_threads_stand_back_and_usual_ones_do_not() {
        let threads = Threads::start(1).unwrap();
        let priority = || rustix::process::getpriority_process(None).unwrap();
        let own = priority();
        let runtime = Builder::new_current_thread().build().unwrap();
        let guests = threads.guests();
        let (usual, patient) = runtime.block_on(async {
            let usual = guests.usual.spawn(async move { priority() }).await.unwrap();
            (usual, guests.patient.spawn(async move { priority() }).await.unwrap())
        });
        assert_eq!((usual, patient), (own, (own + PATIENCE).min(19)));
        threads.end();
    }

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
