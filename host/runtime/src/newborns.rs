//! Machines that this process has made and has not asked a VM for: their first pass need not look for one.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use machinist_core::id::Uid;

/// Their uids. Lost with the process, after which Machines are looked for.
#[derive(Debug, Default)]
pub(crate) struct Newborns(Mutex<BTreeSet<Uid>>);

impl Newborns {
    /// It was made, with our finalizer on it.
    pub(crate) fn made(&self, machine: Uid) {
        self.lock().insert(machine);
    }

    /// A VM may have been asked for it from here on, or it is gone.
    pub(crate) fn asked(&self, machine: &Uid) {
        self.lock().remove(machine);
    }

    /// Nobody has asked for its VM.
    pub(crate) fn contains(&self, machine: &Uid) -> bool {
        self.lock().contains(machine)
    }

    /// Each change is one operation on the set, so that a panic elsewhere leaves it whole.
    fn lock(&self) -> MutexGuard<'_, BTreeSet<Uid>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
