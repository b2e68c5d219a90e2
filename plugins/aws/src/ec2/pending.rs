//! The state of a machine's create between calls: `last-known-state`.

use serde_json::{Value, json};

use crate::ec2::region;

/// EC2's limit of ASCII characters in a client token.
const TOKEN_CHARACTERS: usize = 64;

/// The state that a call passes to the next one. Text of another program counts as none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PendingCreate {
    /// The number of this machine's launches that are proven to have no instance: instances that are gone, and zones
    /// without capacity. The next launch needs another token.
    pub(crate) attempt: u32,
    /// The zone of the launch, where the class has several. `None`: the class's own.
    pub(crate) zone: Option<String>,
    /// The instance that a launch returned.
    pub(crate) instance: Option<String>,
    pub(crate) region: Option<String>,
}

impl PendingCreate {
    pub(crate) fn parse(text: Option<&str>) -> Self {
        let value: Value = text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let own = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let attempt = value.get("attempt").and_then(Value::as_u64);
        Self {
            attempt: attempt.and_then(|attempt| u32::try_from(attempt).ok()).unwrap_or(0),
            instance: own("instance").filter(|id| is_instance(id)),
            zone: own("zone").filter(|name| region::is_region(name)),
            region: own("region").filter(|name| region::is_region(name)),
        }
    }

    pub(crate) fn text(&self) -> String {
        let Self { attempt, zone, instance, region } = self;
        let mut state = json!({ "attempt": attempt });
        for (name, value) in [("instance", instance), ("region", region), ("zone", zone)] {
            if let Some(value) = value {
                state[name] = json!(value);
            }
        }
        state.to_string()
    }
}

/// True if a text can be the id of an instance.
pub(crate) fn is_instance(id: &str) -> bool {
    let digits = id.strip_prefix("i-").unwrap_or_default();
    !digits.is_empty() && digits.len() <= 64 && digits.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Returns EC2's `ClientToken`: the key itself, and another one for each instance that is proven gone. `None` if EC2
/// does not accept the key.
pub(crate) fn token(key: &str, attempt: u32) -> Option<String> {
    let token = if attempt == 0 { key.to_owned() } else { format!("{key}-{attempt}") };
    let fits = !key.is_empty()
        && token.len() <= TOKEN_CHARACTERS
        && token.bytes().all(|byte| byte.is_ascii_graphic());
    fits.then_some(token)
}

/// True if this is one of the tokens that are derived from the key.
pub(crate) fn is_token_of(key: &str, token: &str) -> bool {
    let attempt = token.strip_prefix(key).filter(|_| !key.is_empty());
    attempt.is_some_and(|rest| {
        rest.is_empty()
            || rest
                .strip_prefix('-')
                .is_some_and(|number| number.parse::<u32>().is_ok_and(|number| number > 0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_back_as_it_was_written() {
        let states = [
            PendingCreate::default(),
            PendingCreate {
                attempt: 3,
                zone: Some("eu-west-1b".into()),
                instance: Some("i-0a1".into()),
                region: Some("eu-west-1".into()),
            },
        ];
        for state in states {
            assert_eq!(PendingCreate::parse(Some(&state.text())), state);
        }
    }

    #[test]
    fn what_another_program_left_is_nothing() {
        for text in
            [None, Some(""), Some("Created aws:///eu-west-1/i-1"), Some("[]"), Some("{\"attempt\": -1}")]
        {
            assert_eq!(PendingCreate::parse(text), PendingCreate::default(), "{text:?}");
        }
        let invalid = r#"{"attempt": 9999999999, "instance": "i-1&x", "region": "a.evil", "zone": "a&b"}"#;
        assert_eq!(PendingCreate::parse(Some(invalid)), PendingCreate::default());
    }

    #[test]
    fn each_attempt_has_a_token_of_its_own_that_ec2_takes() {
        let uid = "0b9f9e7c-33ab-4f0d-9f5a-3b8f5a0a1c11";
        assert_eq!(token(uid, 0).as_deref(), Some(uid));
        let last = token(uid, u32::MAX).unwrap();
        assert!(last.is_ascii() && last.len() <= TOKEN_CHARACTERS && last.ends_with("-4294967295"));
        for attempt in [0, 1, u32::MAX] {
            assert!(is_token_of(uid, &token(uid, attempt).unwrap()), "{attempt}");
        }
        for (key, other) in
            [("", ""), ("", "-1"), (uid, ""), (uid, "x"), ("uid-1", "uid-11"), ("uid-1", "uid-1-x")]
        {
            assert!(!is_token_of(key, other), "{key} {other}");
        }
        assert_eq!((token("", 0), token(&"k".repeat(65), 0), token("ü", 0)), (None, None, None));
    }
}
