//! The queue of the compiler: one component at a time, urgent work first.

use std::future::Future;

use tokio::sync::{Mutex, watch};

/// The queue, common to drivers and policies.
pub(crate) struct CompileQueue {
    running: Mutex<()>,
    /// Urgent work that is queued or running.
    urgent: watch::Sender<usize>,
}

struct UrgentWork<'a>(&'a watch::Sender<usize>);

impl<'a> UrgentWork<'a> {
    fn begin(urgent: &'a watch::Sender<usize>) -> Self {
        urgent.send_modify(|urgent| *urgent += 1);
        Self(urgent)
    }
}

impl Drop for UrgentWork<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|urgent| *urgent = urgent.saturating_sub(1));
    }
}

impl CompileQueue {
    pub(crate) fn new() -> Self {
        Self { running: Mutex::new(()), urgent: watch::Sender::new(0) }
    }

    /// Runs work that a caller waits for.
    pub(crate) async fn urgent<T>(&self, work: impl Future<Output = T>) -> T {
        let _urgent = UrgentWork::begin(&self.urgent);
        let _lock = self.running.lock().await;
        work.await
    }

    /// Runs work that no caller waits for. Urgent work interrupts it; it starts again afterwards.
    pub(crate) async fn background<T, W: Future<Output = T>>(&self, mut work: impl FnMut() -> W) -> T {
        let mut urgent = self.urgent.subscribe();
        loop {
            // It cannot fail: the sender is `self`'s.
            let _none = urgent.wait_for(|&urgent| urgent == 0).await.map(drop);
            let _lock = self.running.lock().await;
            tokio::select! {
                biased;
                _ = urgent.wait_for(|&urgent| urgent > 0) => {}
                done = work() => return done,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::poll;
    use tokio::sync::Notify;

    use super::*;

    #[tokio::test]
    async fn urgent_work_interrupts_background_work_which_starts_again() {
        let queue = CompileQueue::new();
        let (begun, may_end) = (AtomicUsize::new(0), Notify::new());
        let work = || async {
            begun.fetch_add(1, Ordering::Relaxed);
            may_end.notified().await;
            "background"
        };
        let mut background = pin!(queue.background(work));
        assert!(poll!(&mut background).is_pending());

        let hurried_may_end = Notify::new();
        let mut urgent = pin!(queue.urgent(hurried_may_end.notified()));
        assert!(poll!(&mut urgent).is_pending());
        assert!(poll!(&mut background).is_pending());
        assert!(poll!(&mut urgent).is_pending(), "it runs");
        assert_eq!(begun.load(Ordering::Relaxed), 1);
        hurried_may_end.notify_one();
        assert!(poll!(&mut urgent).is_ready());

        may_end.notify_one();
        assert_eq!(background.await, "background");
        assert_eq!(begun.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn one_component_compiles_at_a_time_and_dropped_work_frees_the_queue() {
        let queue = CompileQueue::new();
        let mut first = Box::pin(queue.urgent(pending::<()>()));
        assert!(poll!(&mut first).is_pending());
        let mut second = pin!(queue.urgent(ready(2)));
        let mut background = pin!(queue.background(|| ready(3)));
        assert!(poll!(&mut second).is_pending() && poll!(&mut background).is_pending());
        drop(first);
        assert_eq!(second.await, 2);
        assert_eq!(background.await, 3);
    }
}
