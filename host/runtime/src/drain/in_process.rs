//! What drains have to remember, for API servers whose CRDs drop `status.machinist`.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use machinist_core::drain::Memory;
use machinist_core::value::id::ObjectKey;

/// By Machine. A restart loses it, which costs a wait and no safety.
#[derive(Default)]
pub(super) struct InProcessMemory(Mutex<BTreeMap<ObjectKey, Memory>>);

impl InProcessMemory {
    pub(super) fn get(&self, machine: &ObjectKey) -> Memory {
        self.all().get(machine).cloned().unwrap_or_default()
    }

    pub(super) fn store(&self, machine: &ObjectKey, memory: &Memory) {
        if memory.volumes.is_empty() {
            self.all().remove(machine);
        } else {
            self.all().insert(machine.clone(), memory.clone());
        }
    }

    pub(super) fn forget(&self, machine: &ObjectKey) {
        self.all().remove(machine);
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, Memory>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
