//! The copies of one kind.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use kube::core::ObjectMeta;
use machinist_core::value::id::ObjectKey;

struct StoreState<T> {
    objects: BTreeMap<ObjectKey, Arc<T>>,
    /// Objects that exist and cannot be decoded, with their metadata. `objects` may have an earlier copy.
    unreadable: BTreeMap<ObjectKey, Arc<ObjectMeta>>,
    is_synced: bool,
}

/// The writing side; belongs to the feed.
pub(crate) struct Store<T> {
    state: Arc<RwLock<StoreState<T>>>,
}

/// The reading side, for reconciles.
pub(crate) struct StoreReader<T> {
    state: Arc<RwLock<StoreState<T>>>,
}

impl<T> Clone for StoreReader<T> {
    fn clone(&self) -> Self {
        Self { state: self.state.clone() }
    }
}

impl<T> Default for Store<T> {
    fn default() -> Self {
        Self {
            state: Arc::new(RwLock::new(StoreState {
                objects: BTreeMap::new(),
                unreadable: BTreeMap::new(),
                is_synced: false,
            })),
        }
    }
}

impl<T> Store<T> {
    pub(crate) fn reader(&self) -> StoreReader<T> {
        StoreReader { state: self.state.clone() }
    }

    /// Puts an object in and gives back the one that was there.
    pub(crate) fn insert(&self, key: ObjectKey, object: Arc<T>) -> Option<Arc<T>> {
        self.write(|state| state.objects.insert(key, object))
    }

    /// Takes an object out.
    pub(super) fn remove(&self, key: &ObjectKey) -> Option<Arc<T>> {
        self.write(|state| state.objects.remove(key))
    }

    /// Notes that an object is there and cannot be decoded. The copy of it that was there stays, and is given back.
    pub(super) fn mark(&self, key: ObjectKey, metadata: Arc<ObjectMeta>) -> Option<Arc<T>> {
        self.write(|state| {
            let copy = state.objects.get(&key).cloned();
            state.unreadable.insert(key, metadata);
            copy
        })
    }

    /// Notes that an object is gone, or can be decoded. Returns its metadata if it could not be.
    pub(super) fn unmark(&self, key: &ObjectKey) -> Option<Arc<ObjectMeta>> {
        self.write(|state| state.unreadable.remove(key))
    }

    /// The first complete listing is in.
    pub(super) fn mark_synced(&self) {
        self.write(|state| state.is_synced = true);
    }

    /// Keys of all objects, unreadable ones too.
    pub(super) fn keys(&self) -> Vec<ObjectKey> {
        self.write(|state| state.objects.keys().chain(state.unreadable.keys()).cloned().collect())
    }

    fn write<R>(&self, change: impl FnOnce(&mut StoreState<T>) -> R) -> R {
        change(&mut self.state.write().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<T> StoreReader<T> {
    /// The object of that key.
    pub(crate) fn get(&self, key: &ObjectKey) -> Option<Arc<T>> {
        self.read(|state| state.objects.get(key).cloned())
    }

    /// All objects, by key.
    pub(crate) fn all(&self) -> Vec<(ObjectKey, Arc<T>)> {
        self.read(|state| state.objects.iter().map(|(key, object)| (key.clone(), object.clone())).collect())
    }

    /// Those that are wanted. The others are not copied.
    pub(crate) fn select(&self, is_wanted: impl Fn(&ObjectKey, &T) -> bool) -> Vec<(ObjectKey, Arc<T>)> {
        let chosen = |(key, object): &(&ObjectKey, &Arc<T>)| is_wanted(key, object);
        let copied = |(key, object): (&ObjectKey, &Arc<T>)| (key.clone(), object.clone());
        self.read(|state| state.objects.iter().filter(chosen).map(copied).collect())
    }

    /// Objects that are there and cannot be decoded, by key, with their metadata.
    pub(crate) fn unreadable(&self) -> Vec<(ObjectKey, Arc<ObjectMeta>)> {
        self.read(|state| {
            state.unreadable.iter().map(|(key, metadata)| (key.clone(), metadata.clone())).collect()
        })
    }

    /// Returns whether this object is there and cannot be decoded.
    pub(crate) fn is_unreadable(&self, key: &ObjectKey) -> bool {
        self.read(|state| state.unreadable.contains_key(key))
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.read(|state| state.objects.len())
    }

    /// True once the first complete listing is in.
    pub(crate) fn is_synced(&self) -> bool {
        self.read(|state| state.is_synced)
    }

    fn read<R>(&self, read: impl FnOnce(&StoreState<T>) -> R) -> R {
        read(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }
}
