//! The requests so far.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Older requests are forgotten.
const ENTRIES: usize = 100_000;

/// One request, and its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Method, service and path without version and ids, such as `POST compute/servers`.
    pub action: String,
    pub query: String,
    /// The status of the answer; zero if none left the proxy.
    pub status: u16,
    pub body: String,
}

#[derive(Debug, Default)]
pub(crate) struct Journal {
    entries: Mutex<Vec<Entry>>,
}

impl Journal {
    pub(crate) fn write(&self, entry: Entry) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() < ENTRIES {
            entries.push(entry);
        }
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn clear(&self) {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    pub(crate) fn counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for entry in self.entries() {
            *counts.entry(entry.action).or_default() += 1;
        }
        counts
    }
}

/// Returns the name of a request in rules and in the journal.
pub(crate) fn action(method: &str, path: &str) -> String {
    let named = path.split('/').filter(|segment| !segment.is_empty() && !is_version(segment));
    let plain = named.map(|segment| if is_id(segment) { "*" } else { segment });
    format!("{method} {}", plain.collect::<Vec<_>>().join("/"))
}

fn is_version(segment: &str) -> bool {
    let digits = segment.strip_prefix('v').unwrap_or_default();
    !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit() || c == '.')
}

fn is_id(segment: &str) -> bool {
    segment.len() >= 32 && segment.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_has_neither_version_nor_ids() {
        assert_eq!(action("POST", "/compute/v2.1/servers"), "POST compute/servers");
        let id = "0cd9f84b-3892-4614-8b9c-2f1e2f914005";
        assert_eq!(action("DELETE", &format!("/network/v2.0/ports/{id}")), "DELETE network/ports/*");
        assert_eq!(action("GET", "/identity/v3/auth/catalog"), "GET identity/auth/catalog");
    }
}
