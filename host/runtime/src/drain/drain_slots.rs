//! The slot of a drain, while its reconcile lists and evicts pods.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use machinist_core::drain::DrainSlots;
use machinist_core::value::id::ObjectKey;
use tokio::sync::mpsc;

use crate::message::Message;

/// Drains that list and evict at once. Their evictions in one reconcile fill the request limit several times, so that
/// no permit stays unused, and a queued drain waits for seconds.
const CONCURRENT_DRAINS: usize = 25;

/// The queue of drains in front of an API server.
pub(super) struct DrainQueue {
    slots: Mutex<DrainSlots<ObjectKey>>,
    /// The channel that notifies a Machine of its slot.
    engine: mpsc::UnboundedSender<Message>,
}

/// Given back when it is dropped.
pub(crate) struct DrainSlot(Arc<DrainQueue>);

impl DrainQueue {
    pub(super) fn new(engine: mpsc::UnboundedSender<Message>) -> Arc<Self> {
        Arc::new(Self { slots: Mutex::new(DrainSlots::new(CONCURRENT_DRAINS)), engine })
    }

    /// Takes a slot; `None` if the Machine is queued, and requeued when a slot is free.
    pub(super) fn take_slot(self: &Arc<Self>, machine: &ObjectKey) -> Option<DrainSlot> {
        self.slots().take(machine).then(|| DrainSlot(self.clone()))
    }

    /// The Machine drains no more: the turn that it was called to, if it was, is the next one's.
    pub(super) fn leave(&self, machine: &ObjectKey) {
        let next = self.slots().leave(machine);
        self.wake(next);
    }

    fn wake(&self, next: Vec<ObjectKey>) {
        for machine in next {
            // A closed inbox means that the loop has ended.
            drop(self.engine.send(Message::DrainSlotFree(machine)));
        }
    }

    fn slots(&self) -> MutexGuard<'_, DrainSlots<ObjectKey>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for DrainSlot {
    fn drop(&mut self) {
        let next = self.0.slots().give_back();
        self.0.wake(next);
    }
}
