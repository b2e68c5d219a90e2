//! Values by a property that many of them share.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

/// Values by their group. No group is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Groups<G, V>(BTreeMap<G, BTreeSet<V>>);

impl<G, V> Default for Groups<G, V> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<G: Ord, V: Ord + Clone> Groups<G, V> {
    /// Returns the values of a group, in their order.
    pub(crate) fn of<Q: Ord + ?Sized>(&self, group: &Q) -> Vec<V>
    where
        G: Borrow<Q>,
    {
        self.0.get(group).into_iter().flatten().cloned().collect()
    }

    /// Returns how many values a group has.
    pub(crate) fn count(&self, group: &G) -> usize {
        self.0.get(group).map_or(0, BTreeSet::len)
    }

    /// Moves a value to another group; `None`: it is in none.
    pub(crate) fn change(&mut self, value: &V, from: Option<G>, to: Option<G>) {
        if from == to {
            return;
        }
        if let Some(from) = from {
            self.remove(value, &from);
        }
        if let Some(to) = to {
            self.insert(value, to);
        }
    }

    /// Adds a value to a group; it may be in several.
    pub(crate) fn insert(&mut self, value: &V, group: G) {
        self.0.entry(group).or_default().insert(value.clone());
    }

    /// Removes a value from a group.
    pub(crate) fn remove(&mut self, value: &V, group: &G) {
        if let Some(values) = self.0.get_mut(group) {
            values.remove(value);
            if values.is_empty() {
                self.0.remove(group);
            }
        }
    }
}
