//! How many Machines of one cloud account are in calls of its driver at a time. Their passes hold no places meanwhile, so
//! memory needs a bound of its own. Each account has rooms of its own for creations, deletions and looks: none waits for
//! another.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use machinist_core::scheduling::call_room::Room;
use machinist_core::value::id::ObjectKey;
use tokio::sync::mpsc;

use crate::driver_calls::cloud_account::CloudAccount;
use crate::message::Message;

/// Machines of one account in one room. Each takes some kilobytes and its request, user data included.
const MAX_MACHINES: usize = 1_000;

/// Why a driver is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Purpose {
    /// To make a VM.
    Creation,
    /// To remove a VM.
    Deletion,
    /// To look at a VM.
    Probe,
}

type Rooms = BTreeMap<(CloudAccount, Purpose), Room<ObjectKey>>;

/// All rooms.
pub(crate) struct CallSlots {
    rooms: Mutex<Rooms>,
    outbox: mpsc::UnboundedSender<Message>,
}

impl CallSlots {
    /// Those that are called hear of it through `outbox`.
    pub(crate) fn new(outbox: mpsc::UnboundedSender<Message>) -> Self {
        Self { rooms: Mutex::default(), outbox }
    }

    /// A pass of this Machine, which may go in.
    pub(crate) fn slots_of(self: &Arc<Self>, machine: &ObjectKey) -> MachineCallSlots {
        MachineCallSlots { rooms: Arc::clone(self), machine: machine.clone() }
    }

    /// The Machine is gone.
    pub(crate) fn forget(&self, machine: &ObjectKey) {
        self.all(|room| room.forget(machine));
    }

    fn all(&self, leave: impl Fn(&mut Room<ObjectKey>) -> Option<ObjectKey>) {
        let mut rooms = self.rooms();
        let called: Vec<ObjectKey> = rooms.values_mut().filter_map(leave).collect();
        rooms.retain(|_, room| !room.is_empty());
        drop(rooms);
        for machine in called {
            // A closed inbox means that the loop has ended, and nobody waits any more.
            let _ = self.outbox.send(Message::CallSlotFree(machine));
        }
    }

    fn rooms(&self) -> MutexGuard<'_, Rooms> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One pass of a Machine. When it ends, the next Machine is called in.
pub(crate) struct MachineCallSlots {
    rooms: Arc<CallSlots>,
    machine: ObjectKey,
}

impl MachineCallSlots {
    /// True when the pass may call the driver for this account now. Otherwise its Machine stands in line, and is woken when
    /// there is room.
    pub(crate) fn enter(&self, account: CloudAccount, purpose: Purpose) -> bool {
        let mut rooms = self.rooms.rooms();
        let room = rooms.entry((account, purpose)).or_insert_with(|| Room::new(MAX_MACHINES));
        room.enter(&self.machine)
    }
}

impl Drop for MachineCallSlots {
    fn drop(&mut self) {
        self.rooms.all(|room| room.leave(&self.machine));
    }
}
