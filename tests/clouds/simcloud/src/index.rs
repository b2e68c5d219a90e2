//! Finds objects by account, name or tag without looking at all of them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// The terms by which objects are found. Each term applies within one account.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Term {
    Any,
    Name(String),
    TagKey(String),
    Tag(String, String),
}

impl Term {
    /// All terms under which an object with this name and these tags is found.
    pub(crate) fn of(name: &str, tags: &BTreeMap<String, String>) -> impl Iterator<Item = Self> {
        [Self::Any, Self::Name(name.to_owned())].into_iter().chain(
            tags.iter()
                .flat_map(|(key, value)| [Self::TagKey(key.clone()), Self::Tag(key.clone(), value.clone())]),
        )
    }

    /// Whether an object with this name and these tags is found under the term.
    pub(crate) fn holds(&self, name: &str, tags: &BTreeMap<String, String>) -> bool {
        match self {
            Self::Any => true,
            Self::Name(wanted) => wanted == name,
            Self::TagKey(key) => tags.contains_key(key),
            Self::Tag(key, value) => tags.get(key) == Some(value),
        }
    }

    /// The term of a `tag=key:value` or `tag=key` query.
    pub(crate) fn tag(text: &str) -> Self {
        match text.split_once(':') {
            Some((key, value)) => Self::Tag(key.to_owned(), value.to_owned()),
            None => Self::TagKey(text.to_owned()),
        }
    }
}

/// Sequence numbers by account and term, in order of creation.
#[derive(Debug, Default)]
pub(crate) struct Index {
    entries: HashMap<(Arc<str>, Term), BTreeSet<u64>>,
}

impl Index {
    pub(crate) fn insert(&mut self, account: &Arc<str>, term: Term, seq: u64) {
        self.entries.entry((Arc::clone(account), term)).or_default().insert(seq);
    }

    pub(crate) fn remove(&mut self, account: &Arc<str>, term: Term, seq: u64) {
        let key = (Arc::clone(account), term);
        if let Some(found) = self.entries.get_mut(&key) {
            found.remove(&seq);
            if found.is_empty() {
                self.entries.remove(&key);
            }
        }
    }

    /// How many terms find anything.
    #[cfg(test)]
    pub(crate) fn terms(&self) -> usize {
        self.entries.len()
    }

    /// Candidates after `cursor` for objects that are found under all `terms`, oldest first: those of the rarest
    /// term. The caller checks the other terms.
    pub(crate) fn candidates<'a>(
        &'a self,
        account: &Arc<str>,
        terms: &[Term],
        cursor: u64,
    ) -> impl Iterator<Item = u64> + use<'a> {
        let rarest = terms
            .iter()
            .map(|term| self.entries.get(&(Arc::clone(account), term.clone())))
            .min_by_key(|found| found.map_or(0, BTreeSet::len))
            .flatten();
        rarest.into_iter().flat_map(move |found| found.range(cursor.saturating_add(1)..).copied())
    }
}
