//! The instances that were made through the proxy, by the operations of LXD.

use std::collections::BTreeMap;

use serde_json::Value;

/// The key of an instance's configuration with the uid of its Machine.
pub(crate) const UID_KEY: &str = "user.machinist-uid";

/// A change that LXD has accepted. It is done when its operation has succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The uid is empty if the instance carries none.
    Create {
        name: String,
        uid: String,
    },
    Delete {
        name: String,
    },
}

impl Change {
    /// Returns nothing for requests that neither make nor remove an instance.
    pub(crate) fn of(action: &str, path: &str, body: &[u8]) -> Option<Self> {
        match action {
            "create" => {
                let body: Value = serde_json::from_slice(body).ok()?;
                let name = body["name"].as_str()?.to_owned();
                let uid = body["config"][UID_KEY].as_str().unwrap_or_default().to_owned();
                Some(Self::Create { name, uid })
            }
            "delete" => Some(Self::Delete { name: path.rsplit('/').next()?.to_owned() }),
            _ => None,
        }
    }
}

/// All instances that LXD has made, whether or not a client got its answer.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// How many there were, by uid.
    created: BTreeMap<String, u64>,
    /// The uids of those that exist, by name.
    existing: BTreeMap<String, String>,
    /// Instances that were made while their Machine had another.
    duplicates: u64,
}

impl Ledger {
    /// Notes a change that is done.
    pub(crate) fn note(&mut self, change: Change) {
        match change {
            Change::Create { name, uid } => {
                if !uid.is_empty() && self.existing.values().any(|other| *other == uid) {
                    self.duplicates += 1;
                }
                *self.created.entry(uid.clone()).or_default() += 1;
                self.existing.insert(name, uid);
            }
            Change::Delete { name } => {
                self.existing.remove(&name);
            }
        }
    }

    pub(crate) fn created(&self) -> BTreeMap<String, u64> {
        self.created.clone()
    }

    pub(crate) fn duplicates(&self) -> u64 {
        self.duplicates
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn create(name: &str, uid: &str) -> Change {
        let body = json!({ "name": name, "config": { UID_KEY: uid } }).to_string();
        Change::of("create", "/1.0/instances", body.as_bytes()).unwrap()
    }

    #[test]
    fn a_second_instance_counts_as_a_duplicate_while_the_first_one_exists() {
        let mut ledger = Ledger::default();
        ledger.note(create("a", "uid-1"));
        ledger.note(create("b", "uid-2"));
        ledger.note(Change::of("delete", "/1.0/instances/a", b"").unwrap());
        ledger.note(create("a", "uid-1"));
        assert_eq!(ledger.duplicates(), 0);
        ledger.note(create("c", "uid-1"));
        assert_eq!(ledger.duplicates(), 1);
        let expected = BTreeMap::from([("uid-1".to_owned(), 3), ("uid-2".to_owned(), 1)]);
        assert_eq!(ledger.created(), expected);
    }

    #[test]
    fn requests_that_make_and_remove_nothing_are_no_changes() {
        assert_eq!(Change::of("start", "/1.0/instances/a/state", b"{}"), None);
        assert_eq!(Change::of("create", "/1.0/instances", b"{}"), None);
    }
}
