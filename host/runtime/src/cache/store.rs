//! The copies of one kind.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use kube::core::ObjectMeta;
use machinist_core::value::id::ObjectKey;

struct Contents<T> {
    objects: BTreeMap<ObjectKey, Arc<T>>,
    /// Objects that are there and cannot be decoded, with their metadata. `objects` may hold an earlier copy.
    unreadable: BTreeMap<ObjectKey, Arc<ObjectMeta>>,
    is_synced: bool,
}

/// The writing side; belongs to the feed.
pub(crate) struct Store<T> {
    contents: Arc<RwLock<Contents<T>>>,
}

/// The reading side.
pub(crate) struct StoreReader<T> {
    contents: Arc<RwLock<Contents<T>>>,
}

impl<T> Clone for StoreReader<T> {
    fn clone(&self) -> Self {
        Self { contents: self.contents.clone() }
    }
}

impl<T> Default for Store<T> {
    fn default() -> Self {
        Self {
            contents: Arc::new(RwLock::new(Contents {
                objects: BTreeMap::new(),
                unreadable: BTreeMap::new(),
                is_synced: false,
            })),
        }
    }
}

impl<T> Store<T> {
    /// A reader of this store.
    pub(crate) fn reader(&self) -> StoreReader<T> {
        StoreReader { contents: self.contents.clone() }
    }

    /// Puts an object in and gives back the one that was there.
    pub(crate) fn insert(&self, key: ObjectKey, object: Arc<T>) -> Option<Arc<T>> {
        self.write(|contents| contents.objects.insert(key, object))
    }

    /// Takes an object out.
    pub(super) fn remove(&self, key: &ObjectKey) -> Option<Arc<T>> {
        self.write(|contents| contents.objects.remove(key))
    }

    /// Notes that an object is there and cannot be decoded. The copy of it that was there stays, and is given back.
    pub(super) fn mark(&self, key: ObjectKey, metadata: Arc<ObjectMeta>) -> Option<Arc<T>> {
        self.write(|contents| {
            let copy = contents.objects.get(&key).cloned();
            contents.unreadable.insert(key, metadata);
            copy
        })
    }

    /// Notes that an object is gone, or can be decoded. Returns its metadata if it could not be.
    pub(super) fn unmark(&self, key: &ObjectKey) -> Option<Arc<ObjectMeta>> {
        self.write(|contents| contents.unreadable.remove(key))
    }

    /// The first complete listing is in.
    pub(super) fn mark_synced(&self) {
        self.write(|contents| contents.is_synced = true);
    }

    /// Keys of all objects.
    pub(super) fn keys(&self) -> Vec<ObjectKey> {
        self.write(|contents| contents.objects.keys().chain(contents.unreadable.keys()).cloned().collect())
    }

    fn write<R>(&self, change: impl FnOnce(&mut Contents<T>) -> R) -> R {
        change(&mut self.contents.write().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<T> StoreReader<T> {
    /// The object of that key.
    pub(crate) fn get(&self, key: &ObjectKey) -> Option<Arc<T>> {
        self.read(|contents| contents.objects.get(key).cloned())
    }

    /// All objects, by key.
    pub(crate) fn all(&self) -> Vec<(ObjectKey, Arc<T>)> {
        self.read(|contents| {
            contents.objects.iter().map(|(key, object)| (key.clone(), object.clone())).collect()
        })
    }

    /// Those that are wanted. The others are not copied.
    pub(crate) fn select(&self, is_wanted: impl Fn(&ObjectKey, &T) -> bool) -> Vec<(ObjectKey, Arc<T>)> {
        let chosen = |(key, object): &(&ObjectKey, &Arc<T>)| is_wanted(key, object);
        let copied = |(key, object): (&ObjectKey, &Arc<T>)| (key.clone(), object.clone());
        self.read(|contents| contents.objects.iter().filter(chosen).map(copied).collect())
    }

    /// Objects that are there and cannot be decoded, by key, with their metadata.
    pub(crate) fn unreadable(&self) -> Vec<(ObjectKey, Arc<ObjectMeta>)> {
        self.read(|contents| {
            contents.unreadable.iter().map(|(key, metadata)| (key.clone(), metadata.clone())).collect()
        })
    }

    /// Returns whether this object is there and cannot be decoded.
    pub(crate) fn is_unreadable(&self, key: &ObjectKey) -> bool {
        self.read(|contents| contents.unreadable.contains_key(key))
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.read(|contents| contents.objects.len())
    }

    /// True once the first complete listing is in.
    pub(crate) fn is_synced(&self) -> bool {
        self.read(|contents| contents.is_synced)
    }

    fn read<R>(&self, look: impl FnOnce(&Contents<T>) -> R) -> R {
        look(&self.contents.read().unwrap_or_else(PoisonError::into_inner))
    }
}
