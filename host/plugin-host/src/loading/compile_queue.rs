//! Whose turn it is to compile: one at a time, and what somebody waits for goes first.

use std::future::Future;

use tokio::sync::{Mutex, watch};

/// Shared by all who compile.
pub(crate) struct Turns {
    one: Mutex<()>,
    /// How many wait for their turn, or have it, for somebody who waits for them.
    hurried: watch::Sender<usize>,
}

/// One of those who hurry.
struct Hurry<'a>(&'a watch::Sender<usize>);

impl<'a> Hurry<'a> {
    fn begin(hurried: &'a watch::Sender<usize>) -> Self {
        hurried.send_modify(|hurried| *hurried += 1);
        Self(hurried)
    }
}

impl Drop for Hurry<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|hurried| *hurried = hurried.saturating_sub(1));
    }
}

impl Turns {
    pub(crate) fn new() -> Self {
        Self { one: Mutex::new(()), hurried: watch::Sender::new(0) }
    }

    /// Work that somebody waits for.
    pub(crate) async fn hurried<T>(&self, work: impl Future<Output = T>) -> T {
        let _hurry = Hurry::begin(&self.hurried);
        let _turn = self.one.lock().await;
        work.await
    }

    /// Work that nobody waits for: given up as soon as somebody hurries, and begun anew afterwards.
    pub(crate) async fn patient<T, W: Future<Output = T>>(&self, mut work: impl FnMut() -> W) -> T {
        let mut hurried = self.hurried.subscribe();
        loop {
            // It cannot fail: the sender is `self`'s.
            let _none = hurried.wait_for(|&hurried| hurried == 0).await.map(drop);
            let _turn = self.one.lock().await;
            tokio::select! {
                biased;
                _ = hurried.wait_for(|&hurried| hurried > 0) => {}
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
    async fn patient_work_is_given_up_for_hurried_work_and_begun_anew() {
        let turns = Turns::new();
        let (begun, may_end) = (AtomicUsize::new(0), Notify::new());
        let work = || async {
            begun.fetch_add(1, Ordering::Relaxed);
            may_end.notified().await;
            "patient"
        };
        let mut patient = pin!(turns.patient(work));
        assert!(poll!(&mut patient).is_pending());

        let hurried_may_end = Notify::new();
        let mut hurried = pin!(turns.hurried(hurried_may_end.notified()));
        assert!(poll!(&mut hurried).is_pending());
        assert!(poll!(&mut patient).is_pending());
        assert!(poll!(&mut hurried).is_pending(), "it runs");
        assert_eq!(begun.load(Ordering::Relaxed), 1);
        hurried_may_end.notify_one();
        assert!(poll!(&mut hurried).is_ready());

        may_end.notify_one();
        assert_eq!(patient.await, "patient");
        assert_eq!(begun.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn one_works_at_a_time_and_who_gives_up_frees_the_turn() {
        let turns = Turns::new();
        let mut first = Box::pin(turns.hurried(pending::<()>()));
        assert!(poll!(&mut first).is_pending());
        let mut second = pin!(turns.hurried(ready(2)));
        let mut patient = pin!(turns.patient(|| ready(3)));
        assert!(poll!(&mut second).is_pending() && poll!(&mut patient).is_pending());
        drop(first);
        assert_eq!(second.await, 2);
        assert_eq!(patient.await, 3);
    }
}
