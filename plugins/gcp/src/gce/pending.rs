//! The state of a machine between calls: `last-known-state`.

use serde_json::{Value, json};

use crate::names::{is_name, is_place, is_project};

/// Where and how far a create or a deletion is. Text of another program counts as none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pending {
    /// The number of this machine's inserts that are proven to have no instance. The next insert needs another request
    /// id, since Google answers a known one with its old operation.
    pub(crate) attempt: u32,
    pub(crate) project: Option<String>,
    /// The zone of the insert.
    pub(crate) zone: Option<String>,
    /// The operation of the insert, while it is not known to have ended.
    pub(crate) insert: Option<String>,
    /// How often operations were looked at.
    pub(crate) looks: u32,
    /// The number of the instance that the insert made. Nobody else writes it, so that it proves whose the instance is.
    pub(crate) instance: Option<u64>,
    /// Deletions that have not ended: zone and operation.
    pub(crate) deletions: Vec<(String, String)>,
}

impl Pending {
    pub(crate) fn parse(text: Option<&str>) -> Self {
        let value: Value = text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let own = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let number = |name: &str| value.get(name).and_then(Value::as_u64);
        let small = |name: &str| number(name).and_then(|number| u32::try_from(number).ok()).unwrap_or(0);
        let deletion = |entry: &Value| {
            let (zone, name) = (entry.get(0)?.as_str()?, entry.get(1)?.as_str()?);
            (is_place(zone) && is_name(name)).then(|| (zone.to_owned(), name.to_owned()))
        };
        let deletions = value.get("deletions").and_then(Value::as_array);
        Self {
            attempt: small("attempt"),
            project: own("project").filter(|name| is_project(name)),
            zone: own("zone").filter(|name| is_place(name)),
            insert: own("insert").filter(|name| is_name(name)),
            looks: small("looks"),
            instance: number("instance"),
            deletions: deletions.into_iter().flatten().filter_map(deletion).collect(),
        }
    }

    pub(crate) fn text(&self) -> String {
        let mut state = json!({ "attempt": self.attempt });
        for (name, value) in [("project", &self.project), ("zone", &self.zone), ("insert", &self.insert)] {
            if let Some(value) = value {
                state[name] = json!(value);
            }
        }
        if let Some(number) = self.instance {
            state["instance"] = json!(number);
        }
        if self.looks > 0 {
            state["looks"] = json!(self.looks);
        }
        if !self.deletions.is_empty() {
            state["deletions"] = json!(self.deletions);
        }
        state.to_string()
    }

    /// The insert has no instance for certain: the next one needs another request id.
    pub(crate) fn next_attempt(&self) -> Self {
        Self {
            attempt: self.attempt.saturating_add(1),
            insert: None,
            instance: None,
            looks: 0,
            ..self.clone()
        }
    }

    /// Returns the time until an operation is worth another look: it takes ten seconds as a rule.
    pub(crate) fn look_again_ms(&self) -> u64 {
        match self.looks {
            0..=2 => 1_000,
            3..=5 => 2_000,
            _ => 5_000,
        }
    }
}

/// Returns the request id of an attempt: a UUID that is the same for the same key and attempt. Google refuses the zero
/// UUID.
pub(crate) fn request_id(key: &str, attempt: u32) -> String {
    // FNV-1a of 128 bits. The id only has to differ between keys, and an id that comes twice is refused, not obeyed.
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for byte in key.bytes().chain([0]).chain(attempt.to_be_bytes()) {
        hash = (hash ^ u128::from(byte)).wrapping_mul(PRIME);
    }
    // Shaped like a random UUID, which every parser takes. That also keeps the id from being zero.
    let id = (hash & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    let digits = format!("{id:032x}");
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| digits.get(part).unwrap_or_default());
    parts.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_back_as_it_was_written() {
        let states = [
            Pending::default(),
            Pending {
                attempt: 3,
                project: Some("lab".into()),
                zone: Some("europe-west1-b".into()),
                insert: Some("operation-1".into()),
                looks: 4,
                instance: Some(u64::MAX),
                deletions: vec![("europe-west1-b".into(), "operation-2".into())],
            },
        ];
        for state in states {
            assert_eq!(Pending::parse(Some(&state.text())), state);
        }
    }

    #[test]
    fn what_others_write_is_no_state() {
        let invalid = r#"{"attempt": -1, "project": "a/b", "zone": "../x", "insert": "a?b", "instance": "1",
            "deletions": [["z", "a/b"], ["/", "a"], "x"]}"#;
        for text in [None, Some(""), Some("Created 7"), Some("[]"), Some("null"), Some(invalid)] {
            assert_eq!(Pending::parse(text), Pending::default(), "{text:?}");
        }
    }

    #[test]
    fn request_ids_are_uuids_and_differ_by_key_and_attempt() {
        let ids: std::collections::BTreeSet<String> = ["", "a", "b", "uid-1"]
            .into_iter()
            .flat_map(|key| (0..50).map(move |attempt| request_id(key, attempt)))
            .collect();
        assert_eq!(ids.len(), 200);
        for id in &ids {
            let parts: Vec<usize> = id.split('-').map(str::len).collect();
            assert_eq!(parts, [8, 4, 4, 4, 12], "{id}");
            assert_eq!((&id[14..15], "89ab".contains(&id[19..20])), ("4", true), "{id}");
        }
        assert_eq!(request_id("uid-1", 0), request_id("uid-1", 0));
    }
}
