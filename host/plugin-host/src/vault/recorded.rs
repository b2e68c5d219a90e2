//! Values that recordings show. If a replay had other values than the driver was shown, its requests would be others
//! than the recorded ones. So a recording shows a value that the grants reveal. Masked stay user data, values that look
//! like keys or tokens, and values that a call of the plugin has under a key that the grants do not reveal.

use std::borrow::Cow;
use std::sync::Arc;

use super::search::Search;
use super::{Secret, Vault, forms};
use crate::grants::SecretKey;

impl Vault {
    /// Returns `text` as recordings show it.
    pub(crate) fn scrub_recorded<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.search_for_recordings().scrub(text.as_bytes()) {
            None => Cow::Borrowed(text),
            Some(scrubbed) => Cow::Owned(String::from_utf8_lossy(&scrubbed).into_owned()),
        }
    }

    /// Returns `bytes` as recordings show them.
    pub(crate) fn scrub_recorded_bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        self.search_for_recordings().scrub(bytes).map_or(Cow::Borrowed(bytes), Cow::Owned)
    }

    /// Returns the value of this key as a recording shows it; `None` where it masks the value.
    pub(crate) fn recorded_value(&self, key: &str) -> Option<String> {
        let secret = self.open(key).and_then(|id| self.secret(id)).filter(|secret| is_recorded(secret))?;
        let text = std::str::from_utf8(&secret.value).ok()?;
        match self.scrub_recorded(text) {
            Cow::Borrowed(text) => Some(text.to_owned()),
            Cow::Owned(_) => None,
        }
    }

    fn search_for_recordings(&self) -> Search {
        let mut issued = self.issued();
        let known = issued.for_recordings.take();
        let is_hidden = |key: &SecretKey| !self.records(key);
        let exact = known.unwrap_or_else(|| Arc::new(self.needles(&issued, is_hidden)));
        issued.for_recordings = Some(Arc::clone(&exact));
        let is_unrecorded = |secret: &Secret| secret.is_shown && !is_recorded(secret);
        let own = self.0.unrecorded_index.get_or_init(|| self.index_of(is_unrecorded)).clone();
        Search { exact, known: self.0.known.memories(), own, shown: Arc::default() }
    }

    fn records(&self, key: &SecretKey) -> bool {
        self.0.secrets.iter().any(|secret| secret.key == *key && is_recorded(secret))
    }
}

fn is_recorded(secret: &Secret) -> bool {
    secret.is_shown
        && secret.key != SecretKey::UserData
        && !forms::is_like_a_credential(secret.value.trim_ascii())
}
