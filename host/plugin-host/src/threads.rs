//! The threads that drivers run on. Most calls compute for a moment and wait for their cloud. One that computes for long goes on on patient threads,
//! which the kernel lets stand back where others want the processor: they do not wait behind it. So do the calls of a driver that computes
//! for more than its share in many short ones, while others are called.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

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
        self.spent() >= LONG
    }

    /// So far.
    pub(crate) fn spent(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
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

/// Whether the calls of a driver begin behind others.
#[derive(Default)]
pub(crate) struct Manners {
    /// By how its last call ended.
    is_rude: AtomicBool,
    /// By all of its calls.
    spent: Mutex<Spent>,
}

impl Manners {
    /// Whether the next call lets others go first; `has_company` when there are others.
    pub(crate) fn gives_way(&self, has_company: bool) -> bool {
        self.is_rude.load(Ordering::Relaxed) || (has_company && self.spent().is_beyond_share(Instant::now()))
    }

    /// A call has computed for long, or broke.
    pub(crate) fn note(&self, is_rude: bool) {
        self.is_rude.store(is_rude, Ordering::Relaxed);
    }

    /// What a call has computed.
    pub(crate) fn spend(&self, effort: &Effort) {
        let mut spent = self.spent();
        *spent = spent.and(effort.spent(), Instant::now());
    }

    fn spent(&self) -> MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Processor time of a driver: its calls add to it, and time takes away its share.
#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    level: Duration,
    at: Option<Instant>,
}

/// A quarter of a processor: what a thousand Machines need, in a driver of any language.
const SHARE: u32 = 4;
/// So much may be spent at once.
const BURST: Duration = Duration::from_millis(100);
/// So much is remembered: who stops is as good as new four times as long after it.
const MEMORY: Duration = Duration::from_secs(1);

impl Spent {
    fn level(self, now: Instant) -> Duration {
        let since = self.at.map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        self.level.saturating_sub(since / SHARE)
    }

    fn and(self, more: Duration, now: Instant) -> Self {
        Self { level: self.level(now).saturating_add(more).min(MEMORY), at: Some(now) }
    }

    fn is_beyond_share(self, now: Instant) -> bool {
        self.level(now) > BURST
    }
}

/// Who was called last: a driver that is alone lets nobody go first.
#[derive(Default)]
pub(crate) struct Company(Mutex<[Option<(usize, Instant)>; 2]>);

/// So long after its last call a driver is company.
const LINGERS: Duration = Duration::from_secs(1);

impl Company {
    /// This one is called. Says whether another was lately.
    pub(crate) fn enter(&self, who: usize, now: Instant) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let [first, second] = *last;
        let other = [first, second].into_iter().flatten().find(|(other, _)| *other != who);
        *last = [Some((who, now)), other];
        other.is_some_and(|(_, at)| now.saturating_duration_since(at) < LINGERS)
    }
}

impl Guests {
    /// Runs the call to its end: on the usual threads until it has computed for long, then on the patient ones. Dropping the
    /// future ends it.
    pub(crate) async fn run<C>(
        &self,
        call: C,
        effort: &Effort,
        (manners, gives_way): (&Manners, bool),
    ) -> Result<C::Output, JoinError>
    where
        C: Future<Output: Send> + Send + Unpin + 'static,
    {
        let mut call = call;
        if !gives_way {
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

    fn ran(threads: &Threads, time: Duration, gives_way: bool) -> String {
        let runtime = Builder::new_current_thread().build().unwrap();
        let (guests, effort) = (threads.guests(), Effort::default());
        runtime
            .block_on(guests.run(computes(time).boxed(), &effort, (&Manners::default(), gives_way)))
            .unwrap()
    }

    #[test]
    fn who_computes_for_long_ends_behind_the_others_and_who_gives_way_begins_there() {
        let threads = Threads::start(1).unwrap();
        assert_eq!(ran(&threads, Duration::from_millis(1), false), "plugin-guest");
        assert_eq!(ran(&threads, 3 * LONG, false), "plugin-patient");
        assert_eq!(ran(&threads, Duration::from_millis(1), true), "plugin-patient");
        threads.end();
    }

    #[test]
    fn many_short_calls_are_as_much_as_a_long_one() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let call = Duration::from_millis(10);
        // One in 50 ms is below a quarter, one in 20 ms is not.
        let calls = |count: u32, pause: u64| {
            (0..count).fold(Spent::default(), |spent, call_number| {
                spent.and(call, at(u64::from(call_number) * pause))
            })
        };
        assert!(!calls(1_000, 50).is_beyond_share(at(50_000)));
        assert!(!calls(10, 20).is_beyond_share(at(200)), "a burst is nobody's trouble");
        let greedy = calls(1_000, 20);
        assert!(greedy.is_beyond_share(at(20_000)));
        assert!(greedy.is_beyond_share(at(21_000)) && !greedy.is_beyond_share(at(24_000)), "it ends");
    }

    #[test]
    fn manners_are_by_the_last_call_and_by_all_where_there_is_company() {
        let manners = Manners::default();
        assert!(!manners.gives_way(true));
        manners.note(true);
        assert!(manners.gives_way(false));
        manners.note(false);
        let effort = Effort::default();
        effort.add(Duration::from_millis(500));
        manners.spend(&effort);
        assert!(manners.gives_way(true) && !manners.gives_way(false));
    }

    #[test]
    fn company_is_whoever_else_was_called_lately() {
        let (company, start) = (Company::default(), Instant::now());
        let at = |ms: u64| start + Duration::from_millis(ms);
        assert!(!company.enter(1, at(0)));
        assert!(!company.enter(1, at(1)));
        assert!(company.enter(2, at(2)));
        assert!(company.enter(1, at(3)));
        assert!(company.enter(1, at(900)));
        assert!(!company.enter(1, at(1_100)), "the other was here too long ago");
        assert!(company.enter(3, at(1_200)));
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
