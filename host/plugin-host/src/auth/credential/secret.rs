//! Reads the Secret of a call by the lists of keys that grants name. Of a list the first key that is present counts.
//! Blanks around a value do not count, and a blank value is missing: no other key takes its place.

use zeroize::Zeroizing;

use crate::auth::AuthReason;

/// The Secret of a call: returns the value of a key.
#[derive(Clone, Copy)]
pub(crate) struct SecretReader<'a>(pub(crate) &'a dyn Fn(&str) -> Option<Zeroizing<Vec<u8>>>);

impl SecretReader<'_> {
    /// Returns the value as it is.
    pub(in crate::auth) fn present(self, keys: &[String]) -> Option<Zeroizing<Vec<u8>>> {
        keys.iter().find_map(|key| (self.0)(key))
    }

    /// Returns a value that must be there.
    pub(in crate::auth) fn one(self, keys: &[String]) -> Result<Zeroizing<String>, AuthReason> {
        self.present(keys).and_then(|value| text(&value)).ok_or(AuthReason::Keys)
    }

    /// Returns a value that may be absent. An empty entry counts as absent.
    pub(in crate::auth) fn optional(self, keys: &[String]) -> Result<Option<Zeroizing<String>>, AuthReason> {
        match self.present(keys) {
            Some(value) if !value.trim_ascii().is_empty() => text(&value).ok_or(AuthReason::Keys).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns values for the path of a URL. Each must be a plain segment, so that none changes the URL.
    pub(in crate::auth) fn segments(self, keys: &[String]) -> Result<Vec<String>, AuthReason> {
        let is_plain = |value: &str| {
            value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
                && !value.starts_with('.')
        };
        let segment = |key: &String| {
            let value = self.one(std::slice::from_ref(key))?;
            if is_plain(&value) { Ok(value.to_string()) } else { Err(AuthReason::Keys) }
        };
        keys.iter().map(segment).collect()
    }
}

/// Returns `None` if the value is blank or no text.
pub(in crate::auth) fn text(value: &[u8]) -> Option<Zeroizing<String>> {
    let text = std::str::from_utf8(value).ok()?.trim();
    (!text.is_empty()).then(|| Zeroizing::new(text.to_owned()))
}
