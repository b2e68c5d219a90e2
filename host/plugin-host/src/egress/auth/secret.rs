//! Values of the call's Secret, by the lists of keys that grants name. Of a list the first key that is present counts; blanks
//! around a value do not, and a blank value is missing: nothing else is tried.

use zeroize::Zeroizing;

use crate::egress::failure::AuthReason;
use crate::vault::Vault;

/// The value as it is.
pub(super) fn present(vault: &Vault, names: &[String]) -> Option<Zeroizing<Vec<u8>>> {
    names.iter().find_map(|name| vault.credential(name))
}

/// A value that must be there.
pub(super) fn one(vault: &Vault, names: &[String]) -> Result<Zeroizing<String>, AuthReason> {
    present(vault, names).and_then(|value| text(&value)).ok_or(AuthReason::Keys)
}

/// A value that may be absent. An empty entry means that there is none.
pub(super) fn optional(vault: &Vault, names: &[String]) -> Result<Option<Zeroizing<String>>, AuthReason> {
    match present(vault, names) {
        Some(value) if !value.trim_ascii().is_empty() => text(&value).ok_or(AuthReason::Keys).map(Some),
        _ => Ok(None),
    }
}

/// `None` when it is blank or no text.
pub(super) fn text(value: &[u8]) -> Option<Zeroizing<String>> {
    let text = std::str::from_utf8(value).ok()?.trim();
    (!text.is_empty()).then(|| Zeroizing::new(text.to_owned()))
}

/// Values that stand in the path of a URL: one plain segment each, so that none of them makes another URL of it.
pub(super) fn segments(vault: &Vault, keys: &[String]) -> Result<Vec<String>, AuthReason> {
    let is_plain = |value: &str| {
        value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
            && !value.starts_with('.')
    };
    let segment = |key: &String| {
        let value = one(vault, std::slice::from_ref(key))?;
        if is_plain(&value) { Ok(value.to_string()) } else { Err(AuthReason::Keys) }
    };
    keys.iter().map(segment).collect()
}
