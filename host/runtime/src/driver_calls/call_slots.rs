//! A limit for the Machines of one cloud account in driver calls. Their reconciles hold no slots of
//! `--concurrent-syncs` meanwhile, so memory needs this bound. Each account has separate slots for creations, deletions
//! and probes: none waits for another.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use machinist_api::MachineClass;
use machinist_core::scheduling::call_room::CallRoom;
use machinist_core::value::id::{ObjectKey, ProviderName};
use tokio::sync::mpsc;

use crate::cache::fields::secret_keys;
use crate::context::key::Key;
use crate::message::Message;

/// The driver, and the Secrets that its credentials come from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CloudAccount {
    provider: ProviderName,
    secrets: Vec<ObjectKey>,
}

impl CloudAccount {
    /// The account of this provider with the credentials of these Secrets.
    pub(crate) fn new(provider: ProviderName, secrets: Vec<ObjectKey>) -> Self {
        Self { provider, secrets }
    }

    /// The account that Machines of this class use.
    pub(crate) fn of(class: &MachineClass) -> Self {
        let provider = ProviderName::folded(class.provider.as_deref().unwrap_or_default());
        Self::new(provider, secret_keys(class))
    }
}

/// Machines of one account in calls for one purpose. Each takes some kilobytes and its request, user data included.
const MAX_MACHINES: usize = 1_000;

/// Why a driver is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Purpose {
    /// To make a VM.
    Creation,
    Deletion,
    Probe,
}

impl Purpose {
    pub(crate) fn of(is_deleting: bool, has_vm: bool) -> Self {
        match (is_deleting, has_vm) {
            (true, _) => Self::Deletion,
            (false, false) => Self::Creation,
            (false, true) => Self::Probe,
        }
    }

    /// Returns whether a reconcile needs a slot before its next effects; `calls`: they call the driver. A creation asks
    /// before its first effect: nothing may wait between its note of a create and the call. Any other reconcile that
    /// has begun continues; deletions can begin again at any time.
    pub(crate) fn must_ask(self, is_first: bool, calls: bool) -> bool {
        match self {
            Self::Deletion => calls,
            Self::Creation => is_first,
            Self::Probe => is_first && calls,
        }
    }
}

type Rooms = BTreeMap<(CloudAccount, Purpose), CallRoom<ObjectKey>>;

pub(crate) struct CallSlots {
    rooms: Mutex<Rooms>,
    outbox: mpsc::UnboundedSender<Message>,
    key_of: fn(ObjectKey) -> Key,
}

impl CallSlots {
    /// Sends a message to `outbox` for each object with a free slot. `key_of` makes its key.
    pub(crate) fn new(outbox: mpsc::UnboundedSender<Message>, key_of: fn(ObjectKey) -> Key) -> Self {
        Self { rooms: Mutex::default(), outbox, key_of }
    }

    /// Returns the slots of one reconcile of this Machine.
    pub(crate) fn slots_of(self: &Arc<Self>, machine: &ObjectKey) -> MachineCallSlots {
        MachineCallSlots { rooms: Arc::clone(self), machine: machine.clone() }
    }

    /// The Machine is gone.
    pub(crate) fn forget(&self, machine: &ObjectKey) {
        self.all(|room| room.forget(machine));
    }

    fn all(&self, leave: impl Fn(&mut CallRoom<ObjectKey>) -> Option<ObjectKey>) {
        let mut rooms = self.rooms();
        let called: Vec<ObjectKey> = rooms.values_mut().filter_map(leave).collect();
        rooms.retain(|_, room| !room.is_empty());
        drop(rooms);
        for machine in called {
            // A closed inbox means that the loop has ended, and nobody waits any more.
            let _ = self.outbox.send(Message::CallSlotFree((self.key_of)(machine)));
        }
    }

    fn rooms(&self) -> MutexGuard<'_, Rooms> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The call slots of one reconcile of a Machine. When it ends, the next Machine gets them.
pub(crate) struct MachineCallSlots {
    rooms: Arc<CallSlots>,
    machine: ObjectKey,
}

impl MachineCallSlots {
    /// Returns true if the reconcile may call the driver for this account now. Otherwise its Machine is queued, and
    /// requeued when a slot is free.
    pub(crate) fn enter(&self, account: CloudAccount, purpose: Purpose) -> bool {
        let mut rooms = self.rooms.rooms();
        let room = rooms.entry((account, purpose)).or_insert_with(|| CallRoom::new(MAX_MACHINES));
        room.enter(&self.machine)
    }
}

impl Drop for MachineCallSlots {
    fn drop(&mut self) {
        self.rooms.all(|room| room.leave(&self.machine));
    }
}
