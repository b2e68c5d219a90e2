//! Places for passes. A pass that waits for a driver gives its place away and comes back to one before passes that have
//! not begun: clouds that take their time hold up nobody else.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// All places. A clone is the same places.
#[derive(Clone)]
pub(crate) struct ReconcileSlots {
    free: Arc<Semaphore>,
    released: Arc<Notify>,
}

/// The place of one pass.
pub(crate) struct ReconcileSlot {
    all: ReconcileSlots,
    state: Mutex<SlotState>,
}

struct SlotState {
    permit: Option<OwnedSemaphorePermit>,
    /// Calls of the pass that it waits for.
    calls: usize,
}

tokio::task_local! {
    static SLOT: Arc<ReconcileSlot>;
}

impl ReconcileSlots {
    pub(crate) fn new(slots: usize) -> Self {
        let slots = slots.clamp(1, Semaphore::MAX_PERMITS);
        Self { free: Arc::new(Semaphore::new(slots)), released: Arc::default() }
    }

    /// A place, unless all are taken. Those that come back get theirs first: the semaphore is fair.
    pub(crate) fn take(&self) -> Option<ReconcileSlot> {
        let permit = Arc::clone(&self.free).try_acquire_owned().ok()?;
        Some(ReconcileSlot {
            all: self.clone(),
            state: Mutex::new(SlotState { permit: Some(permit), calls: 0 }),
        })
    }

    /// True while no pass can begin.
    pub(crate) fn are_full(&self) -> bool {
        self.free.available_permits() == 0
    }

    /// Waits until a pass that runs has given its place away.
    pub(crate) async fn released(&self) {
        self.released.notified().await;
    }
}

impl ReconcileSlot {
    /// Runs a pass here.
    pub(crate) async fn run<T>(self, reconcile: impl Future<Output = T>) -> T {
        SLOT.scope(Arc::new(self), reconcile).await
    }

    fn release(&self) -> Waiting<'_> {
        let mut state = self.state();
        state.calls += 1;
        let permit = state.permit.take();
        drop(state);
        if permit.is_some() {
            drop(permit);
            self.all.released.notify_one();
        }
        Waiting(self)
    }

    async fn reacquire(&self) {
        if self.state().calls > 0 {
            // The last of the calls brings the place back.
            return;
        }
        // It is never closed.
        let permit = Arc::clone(&self.all.free).acquire_owned().await.ok();
        self.state().permit = permit;
    }

    fn state(&self) -> MutexGuard<'_, SlotState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for a driver without the place of the pass that asks it. Whoever is no pass just waits.
pub(crate) async fn without_slot<T>(call: impl Future<Output = T>) -> T {
    let Ok(slot) = SLOT.try_with(Arc::clone) else { return call.await };
    let waiting = slot.release();
    let answer = call.await;
    drop(waiting);
    slot.reacquire().await;
    answer
}

/// A call that is waited for.
struct Waiting<'a>(&'a ReconcileSlot);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.state().calls -= 1;
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use futures::future::join;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn a_reconcile_that_waits_for_a_driver_holds_no_slot_and_gets_one_before_others_begin() {
        let slots = ReconcileSlots::new(1);
        let (answer, answers) = oneshot::channel();
        let mut reconcile =
            Box::pin(slots.take().unwrap().run(async { without_slot(answers).await.unwrap() }));
        assert!((&mut reconcile).now_or_never().is_none());
        slots.released().await;
        let other = slots.take().unwrap();
        assert!(slots.are_full());
        answer.send(7).unwrap();
        assert!((&mut reconcile).now_or_never().is_none(), "its place is taken");
        drop(other);
        assert!(slots.take().is_none(), "it is kept for the pass that has begun");
        assert_eq!(reconcile.await, 7);
        assert!(!slots.are_full());
    }

    #[tokio::test]
    async fn a_reconcile_with_two_calls_gets_its_slot_after_both() {
        let slots = ReconcileSlots::new(1);
        let (one, first) = oneshot::channel();
        let (two, second) = oneshot::channel();
        let calls = async { join(without_slot(first), without_slot(second)).await };
        let mut reconcile = Box::pin(slots.take().unwrap().run(calls));
        assert!((&mut reconcile).now_or_never().is_none());
        one.send(1).unwrap();
        assert!((&mut reconcile).now_or_never().is_none());
        assert!(!slots.are_full());
        two.send(2).unwrap();
        assert_eq!(reconcile.await, (Ok(1), Ok(2)));
    }

    #[tokio::test]
    async fn a_reconcile_that_is_cut_off_frees_its_slot() {
        let slots = ReconcileSlots::new(1);
        let mut reconcile = Box::pin(slots.take().unwrap().run(without_slot(std::future::pending::<()>())));
        assert!((&mut reconcile).now_or_never().is_none());
        drop(reconcile);
        assert!(slots.take().is_some());
    }
}
