//! The turn of a drain, for as long as its pass asks for something.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use machinist_core::drain::DrainSlots;
use machinist_core::value::id::ObjectKey;
use tokio::sync::mpsc;

use crate::event_loop::Message;

/// Drains that look and ask at a time. With the pods that one asks of in a pass they fill the room for requests several times, so
/// that none of it stays empty, and what one has to wait for is over within seconds.
const DRAINS_AT_A_TIME: usize = 25;

/// The line in front of an API server.
pub(super) struct Line {
    turns: Mutex<DrainSlots<ObjectKey>>,
    /// Who is called hears it from there.
    engine: mpsc::UnboundedSender<Message>,
}

/// Given back when it is dropped.
pub(crate) struct Turn(Arc<Line>);

impl Line {
    pub(super) fn new(engine: mpsc::UnboundedSender<Message>) -> Arc<Self> {
        Arc::new(Self { turns: Mutex::new(DrainSlots::new(DRAINS_AT_A_TIME)), engine })
    }

    /// `None`: the Machine stands in line, and is woken when it is its turn.
    pub(super) fn turn(self: &Arc<Self>, machine: &ObjectKey) -> Option<Turn> {
        self.turns().take(machine).then(|| Turn(self.clone()))
    }

    /// The Machine drains no more: the turn that it was called to, if it was, is the next one's.
    pub(super) fn leave(&self, machine: &ObjectKey) {
        let called = self.turns().leave(machine);
        self.call(called);
    }

    fn call(&self, called: Vec<ObjectKey>) {
        for machine in called {
            // A closed inbox means that the loop has ended.
            drop(self.engine.send(Message::TurnToDrain(machine)));
        }
    }

    fn turns(&self) -> MutexGuard<'_, DrainSlots<ObjectKey>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let called = self.0.turns().give_back();
        self.0.call(called);
    }
}
