//! The threads that drivers run on. Most calls compute for a moment and wait for their cloud. A call that computes for
//! long continues on threads with low priority, so that others do not wait for it. So do the calls of a driver that
//! exceeds its share by many short calls while others are called.

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

use crate::resources::cpu_share::Priority;
use crate::resources::cpu_time::{CpuTime, paid, paid_by_driver};
use crate::resources::low_priority::lower_own_priority;
use crate::resources::penalty::Penalty;

pub(crate) struct Threads {
    normal: Runtime,
    low_priority: Runtime,
}

/// Handles to the threads on which calls run.
#[derive(Clone)]
pub(crate) struct Guests {
    pub(crate) normal: Handle,
    low_priority: Handle,
}

impl Threads {
    /// Starts `count` threads of each kind, but at most one thread of low priority less than there are processors: a
    /// thread that wakes would otherwise wait for the kernel's next tick.
    pub(crate) fn start(count: usize) -> io::Result<Self> {
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        let normal = Builder::new_multi_thread()
            .worker_threads(count)
            .thread_name("plugin-guest")
            .enable_all()
            .build()?;
        let low_priority = Builder::new_multi_thread()
            .worker_threads(count.min(processors - 1).max(1))
            .thread_name("plugin-patient")
            // A guest that computes yields after milliseconds. The runtime polls for events then, not after many polls.
            .event_interval(1)
            .enable_all()
            .on_thread_start(|| {
                if let Err(error) = lower_own_priority() {
                    warn!(%error, "drivers that compute for long compete with others");
                }
                LOW_PRIORITY.set(true);
            })
            .build()?;
        Ok(Self { normal, low_priority })
    }

    pub(crate) fn guests(&self) -> Guests {
        Guests { normal: self.normal.handle().clone(), low_priority: self.low_priority.handle().clone() }
    }

    /// Ends them without waiting: this may happen on a thread of another runtime, where waiting is forbidden.
    pub(crate) fn end(self) {
        self.low_priority.shutdown_background();
        self.normal.shutdown_background();
    }
}

impl Guests {
    /// Runs the call to its end: on the normal threads until it has computed for long, then at low priority. Dropping
    /// the future ends the call.
    pub(crate) async fn run<C>(
        &self,
        call: C,
        cpu_time: &CpuTime,
        (penalty, priority): (&Penalty, Priority),
    ) -> Result<C::Output, JoinError>
    where
        C: Future<Output: Send> + Send + Unpin + 'static,
    {
        let mut call = call;
        if priority == Priority::Normal {
            let normal = AbortOnDropHandle::new(self.normal.spawn(until_long(call, cpu_time.clone())));
            match normal.await? {
                Ok(output) => return Ok(output),
                Err(rest) => call = rest,
            }
            penalty.impose(Instant::now());
        }
        let cpu_time = cpu_time.clone();
        let counted = poll_fn(move |context| {
            give_way();
            cpu_time.poll(|| Pin::new(&mut call).poll(context))
        });
        AbortOnDropHandle::new(self.low_priority.spawn(counted)).await
    }
}

thread_local! {
    static LOW_PRIORITY: Cell<bool> = const { Cell::new(false) };
}

/// True on a thread with low priority.
pub(crate) fn is_low_priority() -> bool {
    LOW_PRIORITY.get()
}

/// Yields the processor to a normal thread that waits for it, where the calling thread has low priority. The kernel may
/// prefer such a thread to a normal one that has just run, and then keeps it running until the next tick, for
/// milliseconds.
pub(crate) fn give_way() {
    if is_low_priority() {
        #[cfg(test)]
        tests::YIELDS.set(tests::YIELDS.get() + 1);
        thread::yield_now();
    }
}

/// Spawns a task of the call that is polled. The task may outlive the call, such as a connection: its driver pays for
/// it, and it has the priority of the call, since it runs on the same threads.
pub(crate) fn spawn<T>(task: T) -> JoinHandle<T::Output>
where
    T: Future<Output: Send> + Send + 'static,
{
    let mut task = paid_by_driver(Box::pin(task));
    tokio::spawn(poll_fn(move |context| {
        give_way();
        Pin::new(&mut task).poll(context)
    }))
}

/// Runs `task` as a part of the call that is polled, also where a task of its own polls it: the call pays, and the task
/// has the priority of the call.
pub(crate) fn beside<T>(task: T) -> impl Future<Output = T::Output> + Send
where
    T: Future<Output: Send> + Send + Unpin + 'static,
{
    let task = if is_low_priority() {
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

/// Returns the output of the call, or the call itself once it has computed for long.
async fn until_long<C: Future + Unpin>(mut call: C, cpu_time: CpuTime) -> Result<C::Output, C> {
    let ended = poll_fn(|context| match cpu_time.poll(|| Pin::new(&mut call).poll(context)) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if cpu_time.is_long() => Poll::Ready(None),
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
    use crate::resources::cpu_share::CpuAccount;
    use crate::resources::cpu_time::{LONG, own_cpu};
    use crate::resources::low_priority::NICE_INCREMENT;

    thread_local! {
        /// How often this thread has let others go first.
        pub(super) static YIELDS: Cell<u64> = const { Cell::new(0) };
    }

    #[test]
    fn calls_and_tasks_at_low_priority_let_others_go_first_at_each_poll() {
        let threads = Threads::start(1).unwrap();
        let guests = threads.guests();
        let runtime = Builder::new_current_thread().build().unwrap();
        let yields = |priority| {
            let call = async {
                let before = YIELDS.get();
                for _ in 0..5 {
                    tokio::task::yield_now().await;
                }
                let between = YIELDS.get();
                spawn(async {}).await.unwrap();
                // The poll of the task, and the next one of the call.
                (between - before, YIELDS.get() - between)
            };
            let penalty = Penalty::default();
            runtime.block_on(guests.run(call.boxed(), &CpuTime::default(), (&penalty, priority))).unwrap()
        };
        assert_eq!(yields(Priority::Normal), (0, 0));
        let (of_the_call, of_a_task) = yields(Priority::Low);
        assert!(of_the_call >= 5 && of_a_task >= 2, "{of_the_call}, {of_a_task}");
        threads.end();
    }

    /// Computes for this time in steps of a millisecond, as a guest that yields at each tick. Returns the name of the
    /// thread on which it ended.
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

    fn ran(threads: &Threads, time: Duration, priority: Priority) -> String {
        let runtime = Builder::new_current_thread().build().unwrap();
        let (guests, cpu_time) = (threads.guests(), CpuTime::default());
        runtime
            .block_on(guests.run(computes(time).boxed(), &cpu_time, (&Penalty::default(), priority)))
            .unwrap()
    }

    #[test]
    fn a_call_that_computes_for_long_ends_at_low_priority() {
        let threads = Threads::start(1).unwrap();
        assert_eq!(ran(&threads, Duration::from_millis(1), Priority::Normal), "plugin-guest");
        assert_eq!(ran(&threads, 3 * LONG, Priority::Normal), "plugin-patient");
        assert_eq!(ran(&threads, Duration::from_millis(1), Priority::Low), "plugin-patient");
        threads.end();
    }

    #[test]
    fn only_low_priority_threads_have_a_lower_priority() {
        let threads = Threads::start(1).unwrap();
        let priority = || rustix::process::getpriority_process(None).unwrap();
        let own = priority();
        let runtime = Builder::new_current_thread().build().unwrap();
        let guests = threads.guests();
        let (normal, lowered) = runtime.block_on(async {
            let normal = guests.normal.spawn(async move { priority() }).await.unwrap();
            (normal, guests.low_priority.spawn(async move { priority() }).await.unwrap())
        });
        assert_eq!((normal, lowered), (own, (own + NICE_INCREMENT).min(19)));
        threads.end();
    }

    #[test]
    fn tasks_of_a_call_have_its_priority() {
        let threads = Threads::start(1).unwrap();
        let guests = threads.guests();
        let runtime = Builder::new_current_thread().build().unwrap();
        let ran = |priority| {
            let call = async {
                let (own, of_a_task) = (is_low_priority(), spawn(async { is_low_priority() }).await.unwrap());
                let waited = spawn(tokio::time::sleep(Duration::from_millis(1)));
                waited.await.unwrap();
                (
                    own,
                    of_a_task,
                    spawn(async { spawn(async { is_low_priority() }).await.unwrap() }).await.unwrap(),
                )
            };
            let penalty = Penalty::default();
            runtime.block_on(guests.run(call.boxed(), &CpuTime::default(), (&penalty, priority))).unwrap()
        };
        assert_eq!(ran(Priority::Normal), (false, false, false));
        assert_eq!(ran(Priority::Low), (true, true, true));
        threads.end();
    }

    #[test]
    fn a_task_at_low_priority_does_not_wait_for_many_turns_of_others() {
        const SLEEPS: u32 = 10;
        let threads = Threads::start(1).unwrap();
        let (turns, counted) = (Arc::new(AtomicU32::new(0)), |turns: &AtomicU32| turns.load(Relaxed));
        let greedy = Arc::clone(&turns);
        let greedy = threads.low_priority.spawn(poll_fn(move |context| {
            let since = own_cpu();
            while own_cpu() - since < Duration::from_millis(1) {
                std::hint::black_box(since);
            }
            greedy.fetch_add(1, Relaxed);
            context.waker().wake_by_ref();
            Poll::<()>::Pending
        }));
        let others = Arc::clone(&turns);
        let waits = threads.low_priority.spawn(async move {
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
    fn tasks_beside_a_call_have_its_priority_whatever_thread_polls_them() {
        let threads = Threads::start(1).unwrap();
        let guests = threads.guests();
        let runtime = Builder::new_current_thread().build().unwrap();
        let ran = |priority| {
            let call = poll_fn(|_| Poll::Ready(beside(async { is_low_priority() }.boxed())));
            let (penalty, cpu_time) = (Penalty::default(), CpuTime::default());
            runtime.block_on(async {
                let call = guests.run(call.boxed(), &cpu_time, (&penalty, priority));
                guests.normal.spawn(call.await.unwrap()).await.unwrap()
            })
        };
        assert!(!ran(Priority::Normal) && ran(Priority::Low));
        threads.end();
    }

    #[test]
    fn a_driver_pays_for_the_tasks_of_its_calls() {
        let threads = Threads::start(1).unwrap();
        let guests = threads.guests();
        let runtime = Builder::new_current_thread().build().unwrap();
        for priority in [Priority::Normal, Priority::Low] {
            let (account, begin) = (Arc::new(CpuAccount::default()), Instant::now());
            let call = async {
                let inner = spawn(async { spawn(computes(2 * LONG)).await });
                beside(async { spawn(computes(LONG)).await }.boxed()).await.unwrap();
                inner.await.unwrap().unwrap();
            };
            let (penalty, cpu_time) = (Penalty::default(), CpuTime::of(Arc::clone(&account)));
            runtime.block_on(guests.run(call.boxed(), &cpu_time, (&penalty, priority))).unwrap();
            let now = Instant::now();
            // On a processor that has much else to do the tasks take long, and their first part has decayed.
            let (spent, least) = (account.spent(now), CpuAccount::left_of(3 * LONG, now - begin));
            assert!(spent >= least, "{spent:?}, not {least:?}");
            assert!(!cpu_time.is_long() && !penalty.is_active(Instant::now()), "the call itself was short");
        }
        threads.end();
    }
}
