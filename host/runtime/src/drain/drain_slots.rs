//! The turn of a drain, for as long as its pass asks for something.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use machinist_core::drain::Turns;
use machinist_core::value::id::ObjectKey;
use tokio::sync::mpsc;

use crate::message::Message;

/// Drains that look and ask at a time. With the pods that one asks of in a pass they fill the room for requests several times, so
/// that none of it stays empty, and what one has to wait for is over within seconds.
const CONCURRENT_DRAINS: usize = 25;

/// The line in front of an API server.
pub(super) struct DrainQueue {
    slots: Mutex<Turns<ObjectKey>>,
    /// Who is called hears it from there.
    engine: mpsc::UnboundedSender<Message>,
}

/// Given back when it is dropped.
pub(crate) struct DrainSlot(Arc<DrainQueue>);

impl DrainQueue {
    pub(super) fn new(engine: mpsc::UnboundedSender<Message>) -> Arc<Self> {
        Arc::new(Self { slots: Mutex::new(Turns::new(CONCURRENT_DRAINS)), engine })
    }

    /// `None`: the Machine stands in line, and is woken when it is its turn.
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

    fn slots(&self) -> MutexGuard<'_, Turns<ObjectKey>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for DrainSlot {
    fn drop(&mut self) {
        let next = self.0.slots().give_back();
        self.0.wake(next);
    }
}
