//! The servers that were created through the proxy, by the answers of Nova.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::server::UID_MARK;

/// All servers that Nova agreed to create, whether or not a client got its answer.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// The uid of each server's Machine; empty if it has none.
    uids: BTreeMap<String, String>,
    /// Servers that Nova agreed to delete.
    deleted: BTreeSet<String>,
    /// Servers that were created while their Machine had another.
    duplicates: u64,
    /// How often each server was rebooted.
    resets: BTreeMap<String, u32>,
}

impl Ledger {
    /// Notes a request of which Nova said that it succeeds.
    pub(crate) fn note(&mut self, action: &str, path: &str, sent: &[u8], answer: &[u8]) {
        let mut segments = path.rsplit('/');
        match action {
            "POST compute/servers" => self.create(sent, answer),
            "DELETE compute/servers/*" => self.delete(segments.next().unwrap_or_default()),
            "POST compute/servers/*/action" if json(sent).get("reboot").is_some() => {
                *self.resets.entry(segments.nth(1).unwrap_or_default().to_owned()).or_default() += 1;
            }
            _ => {}
        }
    }

    fn create(&mut self, sent: &[u8], answer: &[u8]) {
        let Some(id) = json(answer)["server"]["id"].as_str().map(str::to_owned) else { return };
        let uid = json(sent)["server"]["metadata"][UID_MARK].as_str().unwrap_or_default().to_owned();
        let mut others = self.uids.iter().filter(|(other, _)| !self.deleted.contains(*other));
        if !uid.is_empty() && others.any(|(_, of)| *of == uid) {
            self.duplicates += 1;
        }
        self.uids.insert(id, uid);
    }

    pub(crate) fn delete(&mut self, id: &str) {
        self.deleted.insert(id.to_owned());
    }

    /// Returns how many servers were created, by the uid that they carried.
    pub(crate) fn created(&self) -> BTreeMap<String, u64> {
        let mut created = BTreeMap::new();
        for uid in self.uids.values() {
            *created.entry(uid.clone()).or_default() += 1;
        }
        created
    }

    pub(crate) fn duplicates(&self) -> u64 {
        self.duplicates
    }

    pub(crate) fn resets(&self) -> BTreeMap<String, u32> {
        self.resets.clone()
    }
}

fn json(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PATH: &str = "/compute/v2.1/servers";

    fn create(ledger: &mut Ledger, id: &str, uid: &str) {
        let sent = json!({ "server": { "metadata": { UID_MARK: uid } } }).to_string();
        let answer = json!({ "server": { "id": id } }).to_string();
        ledger.note("POST compute/servers", PATH, sent.as_bytes(), answer.as_bytes());
    }

    #[test]
    fn a_second_server_counts_as_a_duplicate_while_the_first_one_lives() {
        let mut ledger = Ledger::default();
        create(&mut ledger, "a", "uid-1");
        create(&mut ledger, "b", "uid-2");
        assert_eq!(ledger.duplicates(), 0);
        ledger.note("DELETE compute/servers/*", &format!("{PATH}/a"), b"", b"");
        create(&mut ledger, "c", "uid-1");
        assert_eq!(ledger.duplicates(), 0);
        create(&mut ledger, "d", "uid-1");
        assert_eq!(ledger.duplicates(), 1);
        let expected = BTreeMap::from([("uid-1".to_owned(), 3), ("uid-2".to_owned(), 1)]);
        assert_eq!(ledger.created(), expected);
    }

    #[test]
    fn reboots_are_counted_and_other_actions_are_not() {
        let mut ledger = Ledger::default();
        let path = format!("{PATH}/a/action");
        for body in [&br#"{"reboot": {"type": "HARD"}}"#[..], br#"{"lock": null}"#] {
            ledger.note("POST compute/servers/*/action", &path, body, b"");
        }
        assert_eq!(ledger.resets(), BTreeMap::from([("a".to_owned(), 1)]));
    }
}
