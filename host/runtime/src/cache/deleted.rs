//! Objects that are gone, as an answer of the API server said, and that the caches still show.
//!
//! A deletion that is carried out at once, or that finds nothing, is answered without a version, so that no barrier can
//! wait for the caches. Without this memory the next pass would ask for the same deletion again, and the one after it,
//! until the watch is back.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use machinist_core::value::id::Uid;

/// Uids of Machines and sets that are gone. A restarted process starts with an empty memory, and asks once more.
#[derive(Debug, Default)]
pub(crate) struct DeletedObjects(Mutex<BTreeSet<Uid>>);

impl DeletedObjects {
    /// Remembers an object that is gone for as long as the cache shows it, which `is_shown` tells after the object was
    /// noted: the cache drops an object before the engine forgets it, so that no uid stays for ever.
    pub(crate) fn add(&self, uid: &Uid, is_shown: impl FnOnce() -> bool) {
        self.lock().insert(uid.clone());
        if !is_shown() {
            self.forget(uid);
        }
    }

    /// Forgets an object that the cache has dropped.
    pub(crate) fn forget(&self, uid: &Uid) {
        self.lock().remove(uid);
    }

    /// Returns whether the object of this uid is gone.
    pub(crate) fn contains(&self, uid: Option<&str>) -> bool {
        let gone = self.lock();
        // There is hardly ever any.
        !gone.is_empty() && uid.is_some_and(|uid| gone.contains(&Uid::new(uid)))
    }

    /// Each change is one operation on the set, so that a panic elsewhere leaves it whole.
    fn lock(&self) -> MutexGuard<'_, BTreeSet<Uid>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_remembered_while_the_cache_shows_it() {
        let deleted = DeletedObjects::default();
        deleted.add(&Uid::new("a"), || true);
        deleted.add(&Uid::new("b"), || false);
        assert!(deleted.contains(Some("a")) && !deleted.contains(Some("b")) && !deleted.contains(None));
        deleted.forget(&Uid::new("a"));
        assert!(!deleted.contains(Some("a")));
    }
}
