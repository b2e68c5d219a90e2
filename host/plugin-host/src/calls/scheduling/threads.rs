//! The threads that drivers run on. Most calls compute for a moment and wait for their cloud. One that computes for long goes on on patient threads,
//! which the kernel lets stand back where others want the processor: they do not wait behind it. So do the calls of a driver that computes
//! for more than its share in many short ones, while others are called.

use std::cell::Cell;
use std::future::{pending, poll_fn};
use std::io;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::Poll;
use std::thread;
use std::time::Instant;

use futures::future::Either;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::{JoinError, JoinHandle};
use tokio_util::task::AbortOnDropHandle;
use tracing::warn;

use crate::calls::scheduling::cpu_time::{Effort, paid, paid_by_driver};
use crate::calls::scheduling::low_priority::run_when_idle;
use crate::calls::scheduling::penalty::Manners;

/// Owns the threads.
pub(crate) struct Threads {
    usual: Runtime,
    patient: Runtime,
}

/// Where calls run.
#[derive(Clone)]
pub(crate) struct Guests {
    pub(crate) usual: Handle,
    patient: Handle,
}

impl Threads {
    /// So many of each kind, but patient ones on all processors but one: a thread that wakes waits for the kernel's next tick
    /// to drive them from the last.
    pub(crate) fn start(count: usize) -> io::Result<Self> {
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        let usual = Builder::new_multi_thread()
            .worker_threads(count)
            .thread_name("plugin-guest")
            .enable_all()
            .build()?;
        let patient = Builder::new_multi_thread()
            .worker_threads(count.min(processors - 1).max(1))
            .thread_name("plugin-patient")
            // A guest that computes gives way after milliseconds. What has come meanwhile is looked at then, and not after many turns.
            .event_interval(1)
            .enable_all()
            .on_thread_start(|| {
                if let Err(error) = run_when_idle() {
                    warn!(%error, "drivers that compute for long compete with others");
                }
                PATIENT.set(true);
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
            manners.note(Instant::now());
        }
        let effort = effort.clone();
        let counted = poll_fn(move |context| effort.poll(|| Pin::new(&mut call).poll(context)));
        AbortOnDropHandle::new(self.patient.spawn(counted)).await
    }
}

thread_local! {
    static PATIENT: Cell<bool> = const { Cell::new(false) };
}

/// True on a thread that lets others go first.
pub(crate) fn is_patient() -> bool {
    PATIENT.get()
}

/// A task that the call which is being polled has begun, and that may outlive it, such as a connection: its driver pays
/// for it, and it lets others go first if the call does, being on the same threads.
pub(crate) fn spawn<T>(task: T) -> JoinHandle<T::Output>
where
    T: Future<Output: Send> + Send + 'static,
{
    tokio::spawn(paid_by_driver(Box::pin(task)))
}

/// Goes on as a part of the call that is being polled, also where a task of its own polls it: the call pays, and it
/// lets others go first if the call does.
pub(crate) fn beside<T>(task: T) -> impl Future<Output = T::Output> + Send
where
    T: Future<Output: Send> + Send + Unpin + 'static,
{
    let task = if is_patient() {
        Either::Left(AbortOnDropHandle::new(tokio::spawn(paid(task))))
    } else {
        Either::Right(paid(task))
    };
    async move {
        match task {
            Either::Right(task) => task.await,
            Either::Left(task) => match task.await {
                Ok(output) => output,
                Err(ended) => match ended.try_into_panic() {
                    Ok(panic) => resume_unwind(panic),
                    // The threads are ending, and the call with them.
                    Err(_) => pending().await,
                },
            },
        }
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
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    use std::time::Duration;

    use futures::FutureExt as _;

    use super::*;
    use crate::calls::scheduling::cpu_share::Account;
    use crate::calls::scheduling::cpu_time::{LONG, own_cpu};
    use crate::calls::scheduling::low_priority::PATIENCE;

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
        thread::current().name().unwrap_or_default().to_owned()
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
    fn tasks_of_a_call_let_others_go_first_as_it_does() {
        let threads = Threads::start(1).unwrap();
        let guests = threads.guests();
        let runtime = Builder::new_current_thread().build().unwrap();
        let ran = |gives_way| {
            let call = async {
                let (own, of_a_task) = (is_patient(), spawn(async { is_patient() }).await.unwrap());
                let waited = spawn(tokio::time::sleep(Duration::from_millis(1)));
                waited.await.unwrap();
                (own, of_a_task, spawn(async { spawn(async { is_patient() }).await.unwrap() }).await.unwrap())
            };
            let manners = Manners::default();
            runtime.block_on(guests.run(call.boxed(), &Effort::default(), (&manners, gives_way))).unwrap()
        };
        assert_eq!(ran(false), (false, false, false));
        assert_eq!(ran(true), (true, true, true));
        threads.end();
    }

    #[test]
    fn who_waits_on_patient_threads_does_not_wait_for_many_turns_of_others() {
        const SLEEPS: u32 = 10;
        let threads = Threads::start(1).unwrap();
        let (turns, counted) = (Arc::new(AtomicU32::new(0)), |turns: &AtomicU32| turns.load(Relaxed));
        let greedy = Arc::clone(&turns);
        let greedy = threads.patient.spawn(poll_fn(move |context| {
            let since = own_cpu();
            while own_cpu() - since < Duration::from_millis(1) {
                std::hint::black_box(since);
            }
            greedy.fetch_add(1, Relaxed);
            context.waker().wake_by_ref();
            Poll::<()>::Pending
        }));
        let others = Arc::clone(&turns);
        let waits = threads.patient.spawn(async move {
            let before = counted(&others);
            for _ in 0..SLEEPS {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            counted(&others) - before
        });
        let runtime = Builder::new_current_thread().build().unwrap();
        let waited = runtime.block_on(waits).unwrap();
        assert!(waited < 10 * SLEEPS, "{waited} turns of the other for {SLEEPS} short waits");
        greedy.abort();
        threads.end();
    }

    #[test]
    fn what_goes_on_beside_a_call_does_so_whoever_waits_for_it() {
        let threads = Threads::start(1).unwrap();
        let guests = threads.guests();
        let runtime = Builder::new_current_thread().build().unwrap();
        let ran = |gives_way| {
            let call = poll_fn(|_| Poll::Ready(beside(async { is_patient() }.boxed())));
            let (manners, effort) = (Manners::default(), Effort::default());
            runtime.block_on(async {
                let call = guests.run(call.boxed(), &effort, (&manners, gives_way));
                guests.usual.spawn(call.await.unwrap()).await.unwrap()
            })
        };
        assert!(!ran(false) && ran(true));
        threads.end();
    }

    #[test]
    fn a_driver_pays_for_the_tasks_of_its_calls() {
        let threads = Threads::start(1).unwrap();
        let guests = threads.guests();
        let runtime = Builder::new_current_thread().build().unwrap();
        for gives_way in [false, true] {
            let (account, begin) = (Arc::new(Account::default()), Instant::now());
            let call = async {
                let inner = spawn(async { spawn(computes(2 * LONG)).await });
                beside(async { spawn(computes(LONG)).await }.boxed()).await.unwrap();
                inner.await.unwrap().unwrap();
            };
            let (manners, effort) = (Manners::default(), Effort::of(Arc::clone(&account)));
            runtime.block_on(guests.run(call.boxed(), &effort, (&manners, gives_way))).unwrap();
            let now = Instant::now();
            // On a processor that has much else to do the tasks take long, and what they did first has faded.
            let (spent, least) = (account.spent(now), Account::left_of(3 * LONG, now - begin));
            assert!(spent >= least, "{spent:?}, not {least:?}");
            assert!(!effort.is_long() && !manners.is_rude(Instant::now()), "the call itself was short");
        }
        threads.end();
    }
}
