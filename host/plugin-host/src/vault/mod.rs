//! The secrets of one call. Values stay here; the component holds placeholders, which are worthless outside this call.
//!
//! The host replaces placeholders after the request has left the sandbox, in granted places and towards granted hosts.
//! Anywhere else it refuses the whole request.
//!
//! Answers, logs, errors, panics and recordings are scrubbed of all values of the call's Secret that are not revealed
//! (logs and errors also of those that are), of user data (rendered, and its template), of bootstrap tokens, access
//! tokens and signatures, and of all that other calls of the plugin had to hide within one hour. Text is scrubbed
//! first and cut afterwards. A scrubber asks the vault at each search, so that a token that becomes known late is
//! removed from an answer that has begun.
//!
//! | module | what it does |
//! | --- | --- |
//! | `scrub`, `scrubber` | removes known values from texts, and from streams |
//! | `search` | one search, for exact spellings and for pieces in a folded view |
//! | `fold` | a view of bytes in which the spellings of a value are the same |
//! | `forms`, `index` | the pieces of each value, and the search for many of them at once |
//! | `beginnings` | finds many exact spellings in one pass |
//! | `known` | values that every call of the plugin hides |
//! | `encode` | encodings of a placeholder |
//! | `recorded` | values that recordings show |
//! | `reveal_tests` | parts of documents, and values in recordings |
//! | `spelling_tests` | spellings of clouds and careless programs, and honest answers that stay as they are |

mod beginnings;
mod encode;
mod fold;
mod forms;
mod index;
mod known;
mod recorded;
mod scrub;
mod scrubber;
mod search;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use jiff::Timestamp;
use machinist_core::driver::SecretValues;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::grants::{Grants, PLACEHOLDER_PREFIX, PartValue, SecretKey};

pub use encode::PlaceholderEncoding;
pub use scrub::MASK;
pub(crate) use scrub::SCRUBBED_FROM_BYTES;
pub(crate) use scrubber::Scrubber;

pub(crate) use known::{KnownTo, KnownValues, WallClock};

use forms::ValueKind;
use index::{NeedleIndex, ValueId};
use scrub::{Needles, masked};
use search::Search;

/// How many placeholders one call may hold, as the contract says.
pub(crate) const PLACEHOLDERS_PER_CALL: usize = 256;
/// The limit of all encodings together: the host makes each of them, keeps it, and searches each answer and log line
/// for it. The largest user data of any cloud fits twice in two encodings; 256 placeholders of a token are 50 KB.
const ENCODED_BYTES_PER_CALL: usize = 2 << 20;
/// How many encodings one placeholder may have.
pub(crate) const ENCODINGS_PER_PLACEHOLDER: usize = 4;
/// How many bytes of the user data's beginning a component may compare.
pub(crate) const PREFIX_BYTES: usize = 64;

/// Digits of base 36 behind the prefix: enough for 128 bits.
const PLACEHOLDER_DIGITS: usize = 25;
/// The length of every placeholder.
pub(crate) const PLACEHOLDER_BYTES: usize = PLACEHOLDER_PREFIX.len() + PLACEHOLDER_DIGITS;

/// Why the host did not do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("not granted")]
    NotGranted,
    /// An encoding does not fit behind the one before it, or there are more than four.
    #[error("the encodings do not fit")]
    Encodings,
    #[error("too many placeholders")]
    TooMany,
}

/// A secret of this vault. Means nothing in another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretId(usize);

/// The secrets of one call. A clone is the same vault. `Debug` shows the keys only.
#[derive(Clone)]
pub struct Vault(Arc<VaultState>);

struct VaultState {
    /// Sorted by name, user data last.
    secrets: Vec<Secret>,
    /// User data that the call may not send.
    hidden_user_data: Option<Zeroizing<Vec<u8>>>,
    grants: Arc<Grants>,
    /// Values that other calls look for, and this one.
    known: KnownTo,
    /// Values that the component may see.
    shown: Arc<BTreeSet<ValueId>>,
    /// Pieces of these are looked for in logs.
    shown_index: OnceLock<Option<Arc<NeedleIndex>>>,
    /// Pieces of these are looked for in recordings.
    unrecorded_index: OnceLock<Option<Arc<NeedleIndex>>>,
    issued: Mutex<Issued>,
    reveals: AtomicU64,
    refusals: AtomicU64,
}

struct Secret {
    key: SecretKey,
    value: Zeroizing<Vec<u8>>,
    /// Whether the component may see the value.
    is_shown: bool,
}

impl Secret {
    /// Returns the values of a Secret and the parts of documents that the grants reveal, sorted by name.
    fn all(values: BTreeMap<String, Vec<u8>>, grants: &Grants) -> Vec<Self> {
        let parts: Vec<Self> = grants.revealed().iter().filter_map(|key| Self::part(key, &values)).collect();
        let whole = values.into_iter().map(|(key, value)| Self::whole(SecretKey::Key(key), value, grants));
        let mut all: Vec<Self> = whole.chain(parts).collect();
        all.sort_by_cached_key(|secret| secret.key.to_string());
        all
    }

    fn whole(key: SecretKey, value: Vec<u8>, grants: &Grants) -> Self {
        Self { is_shown: grants.reveals(&key), key, value: Zeroizing::new(value) }
    }

    /// A part is no needle of its own. It is a member of its document, whose needles find it if it looks random; a name
    /// such as that of a project stays readable in errors.
    fn is_whole(&self) -> bool {
        match self.key {
            SecretKey::Key(_) | SecretKey::UserData => true,
            SecretKey::Part(_) => false,
        }
    }

    /// Returns `None` for a key that is no part, and for a part that the Secret does not have.
    fn part(key: &SecretKey, values: &BTreeMap<String, Vec<u8>>) -> Option<Self> {
        let SecretKey::Part(part) = key else { return None };
        let (value, is_shown) = match part.value(values.get(part.key())?) {
            PartValue::Absent => return None,
            PartValue::Text(text) => (text.as_bytes().to_vec(), true),
            PartValue::Refused => (Vec::new(), false),
        };
        Some(Self { key: key.clone(), value: Zeroizing::new(value), is_shown })
    }
}

#[derive(Default)]
struct Issued {
    tokens: HashMap<(SecretId, Vec<PlaceholderEncoding>), String>,
    expansions: HashMap<String, Expansion>,
    /// The size of all encodings.
    encoded_bytes: usize,
    /// Values that came into the call beside its Secret: keys of a session, its token.
    hidden: Vec<Zeroizing<Vec<u8>>>,
    /// Built at first use, dropped when there is more to look for.
    for_guest: Option<Arc<Needles>>,
    for_logs: Option<Arc<Needles>>,
    for_recordings: Option<Arc<Needles>>,
}

impl Issued {
    fn forget_needles(&mut self) {
        self.for_guest = None;
        self.for_logs = None;
        self.for_recordings = None;
    }
}

/// The value behind a placeholder.
#[derive(Clone)]
pub(crate) struct Expansion {
    pub(crate) key: SecretKey,
    /// The result of each encoding; the last one is sent.
    pub(crate) steps: Arc<Vec<Zeroizing<Vec<u8>>>>,
}

impl Vault {
    /// A vault for one call under these grants, which knows nothing of other calls.
    pub fn new(values: SecretValues, grants: Arc<Grants>) -> Self {
        Self::knowing(values, grants, KnownTo::alone())
    }

    /// A vault for one call under these grants. All that it hides is known from now on.
    pub(crate) fn knowing(values: SecretValues, grants: Arc<Grants>, known: KnownTo) -> Self {
        let SecretValues { values, user_data, hidden, plugins: _ } = values;
        let mut secrets = Secret::all(values, &grants);
        secrets.extend(user_data.map(|value| Secret::whole(SecretKey::UserData, value, &grants)));
        let template = hidden.template.map(Zeroizing::new);
        let hidden_user_data = hidden.rendered.map(Zeroizing::new);
        let user_data = secrets.iter().find(|secret| secret.key == SecretKey::UserData);
        let user_data = user_data.map(|secret| &secret.value);
        let user_data: Vec<&Zeroizing<Vec<u8>>> =
            user_data.into_iter().chain(&hidden_user_data).chain(&template).collect();
        let tokens: Vec<_> = user_data.iter().flat_map(|text| forms::bootstrap_tokens(text)).collect();
        tokens.iter().for_each(|token| known.bootstrap_token(token));
        let mut shown = BTreeSet::new();
        if grants.reveals(&SecretKey::UserData) {
            shown.extend(user_data.iter().map(|text| known::id(text)));
            shown.extend(tokens.iter().map(|token| known::id(token)));
        } else if let Some(text) = template.as_ref().or(user_data.first().copied()) {
            // User data is its template, tokens and a name: pieces of one are pieces of the other.
            known.text(text);
        }
        for secret in secrets.iter().filter(|secret| secret.key != SecretKey::UserData) {
            let value = secret.value.trim_ascii();
            if secret.is_shown {
                shown.insert(known::id(value));
            } else if value.len() >= SCRUBBED_FROM_BYTES {
                known.credential(value, None);
            }
        }
        Self(Arc::new(VaultState {
            secrets,
            hidden_user_data,
            grants,
            known,
            shown: Arc::new(shown),
            shown_index: OnceLock::new(),
            unrecorded_index: OnceLock::new(),
            issued: Mutex::default(),
            reveals: AtomicU64::new(0),
            refusals: AtomicU64::new(0),
        }))
    }

    /// The keys of the Secret and the parts that it has of those that the grants reveal, sorted, without user data.
    pub fn keys(&self) -> Vec<String> {
        let key = |secret: &Secret| match &secret.key {
            key @ (SecretKey::Key(_) | SecretKey::Part(_)) => Some(key.to_string()),
            SecretKey::UserData => None,
        };
        self.0.secrets.iter().filter_map(key).collect()
    }

    /// `None` when there is no such key, and no such part among those that the grants reveal.
    pub fn open(&self, key: &str) -> Option<SecretId> {
        self.position(|secret| match &secret.key {
            SecretKey::Key(name) => name == key,
            SecretKey::Part(part) => part.to_string() == key,
            SecretKey::UserData => false,
        })
    }

    /// Returns the user data that a VM gets at boot, if the call has it.
    pub fn user_data(&self) -> Option<SecretId> {
        self.position(|secret| secret.key == SecretKey::UserData)
    }

    /// The length of the value in bytes; 0 for an id of another vault.
    pub fn length(&self, id: SecretId) -> u64 {
        self.secret(id).map_or(0, |secret| secret.value.len() as u64)
    }

    /// Returns whether user data starts with these bytes; the first [`PREFIX_BYTES`] are compared. Always false for a
    /// credential, whose bytes could be guessed one after the other.
    pub fn starts_with(&self, id: SecretId, prefix: &[u8]) -> bool {
        let prefix = prefix.get(..PREFIX_BYTES).unwrap_or(prefix);
        match self.secret(id) {
            Some(secret) if secret.key == SecretKey::UserData => secret.value.starts_with(prefix),
            Some(_) | None => {
                self.refused();
                false
            }
        }
    }

    /// Returns a token of letters and digits for the encoded value. The same encodings give the same token.
    pub fn placeholder(&self, id: SecretId, encodings: &[PlaceholderEncoding]) -> Result<String, Refusal> {
        self.issue(id, encodings).inspect_err(|_| self.refused())
    }

    fn issue(&self, id: SecretId, encodings: &[PlaceholderEncoding]) -> Result<String, Refusal> {
        let secret = self.secret(id).ok_or(Refusal::NotGranted)?;
        if self.0.grants.secret(&secret.key).next().is_none() {
            return Err(Refusal::NotGranted);
        }
        if encodings.len() > ENCODINGS_PER_PLACEHOLDER {
            return Err(Refusal::Encodings);
        }
        let mut issued = self.issued();
        let wanted = (id, encodings.to_vec());
        if let Some(token) = issued.tokens.get(&wanted) {
            return Ok(token.clone());
        }
        let begun_bytes = issued.encoded_bytes.saturating_add(secret.value.len());
        if issued.tokens.len() >= PLACEHOLDERS_PER_CALL || begun_bytes > ENCODED_BYTES_PER_CALL {
            return Err(Refusal::TooMany);
        }
        let steps = Arc::new(encode::steps(&secret.value, encodings).ok_or(Refusal::Encodings)?);
        let made_bytes = steps.iter().fold(0_usize, |bytes, step| bytes.saturating_add(step.len()));
        issued.encoded_bytes = issued.encoded_bytes.saturating_add(made_bytes);
        let token = fresh_token();
        issued.expansions.insert(token.clone(), Expansion { key: secret.key.clone(), steps });
        issued.tokens.insert(wanted, token.clone());
        issued.forget_needles();
        Ok(token)
    }

    /// The value itself, for keys that the operator granted. Each call that succeeds is counted.
    pub fn reveal(&self, id: SecretId) -> Result<Vec<u8>, Refusal> {
        let granted = self.secret(id).filter(|secret| secret.is_shown);
        let Some(secret) = granted else {
            self.refused();
            return Err(Refusal::NotGranted);
        };
        self.0.reveals.fetch_add(1, Ordering::Relaxed);
        Ok(secret.value.to_vec())
    }

    /// How often a secret was asked for what its grants do not give.
    pub fn refusals(&self) -> u64 {
        self.0.refusals.load(Ordering::Relaxed)
    }

    fn refused(&self) {
        self.0.refusals.fetch_add(1, Ordering::Relaxed);
    }

    /// How often a value was revealed.
    pub fn reveals(&self) -> u64 {
        self.0.reveals.load(Ordering::Relaxed)
    }

    /// `text` for logs, Events and errors: every known value in every spelling becomes [`MASK`].
    pub fn scrub_text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.search_for_logs().scrub(text.as_bytes()) {
            None => Cow::Borrowed(text),
            Some(scrubbed) => Cow::Owned(String::from_utf8_lossy(&scrubbed).into_owned()),
        }
    }

    /// `bytes` for logs, Events and errors.
    pub fn scrub_bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        self.search_for_logs().scrub(bytes).map_or(Cow::Borrowed(bytes), Cow::Owned)
    }

    /// The same for the bytes behind `from`. A value that begins before and ends behind is masked as a whole.
    pub(crate) fn scrub_behind(&self, bytes: &[u8], from: usize) -> Vec<u8> {
        let mut ranges = self.search_for_logs().find(bytes).ranges;
        ranges.retain(|range| range.end > from);
        let start = ranges.first().map_or(from, |range| range.start.min(from));
        let shifted: Vec<_> = ranges.iter().map(|range| range.start - start..range.end - start).collect();
        masked(bytes.get(start..).unwrap_or_default(), &shifted)
    }

    /// Returns a scrubber for a stream to the component. Values that the component may see stay.
    pub fn scrubber(&self) -> Scrubber {
        Scrubber::new(self.clone())
    }

    /// True if no value has to be hidden from the component.
    pub(crate) fn is_idle(&self) -> bool {
        self.search_for_guest().is_idle()
    }

    /// True when the call may come to have a token that it has not yet.
    pub(crate) fn may_learn(&self) -> bool {
        !self.0.grants.auth().is_empty()
    }

    /// Which secret it is, as grants write it.
    pub(crate) fn name(&self, id: SecretId) -> String {
        self.secret(id).map(|secret| secret.key.to_string()).unwrap_or_default()
    }

    /// Returns the replacement of a value during a replay, whose vault has none.
    pub(crate) fn stand_in(&self, id: SecretId) -> Vec<u8> {
        self.secret(id).map(|secret| secret.value.to_vec()).unwrap_or_default()
    }

    /// The value of a key of the Secret, for the host to sign with.
    pub(crate) fn credential(&self, key: &str) -> Option<Zeroizing<Vec<u8>>> {
        let is_it = |secret: &&Secret| matches!(&secret.key, SecretKey::Key(name) if name == key);
        self.0.secrets.iter().find(is_it).map(|secret| secret.value.clone())
    }

    /// Scrubs these values, too, from now on, in each call of the plugin for an hour and as long as they are good.
    pub(crate) fn hide<'a>(&self, values: impl IntoIterator<Item = &'a [u8]>, ends: Option<Timestamp>) {
        for value in values.into_iter().filter(|value| value.len() >= SCRUBBED_FROM_BYTES) {
            self.0.known.credential(value.trim_ascii(), ends);
            let mut issued = self.issued();
            if !issued.hidden.iter().any(|hidden| hidden.as_slice() == value) {
                issued.hidden.push(Zeroizing::new(value.to_vec()));
                issued.forget_needles();
            }
        }
    }

    /// Scrubs this signature from now on, in each call of the plugin as long as clouds take it; a server that refuses
    /// one likes to echo it.
    pub(crate) fn hide_signature(&self, signature: &str) {
        self.0.known.signature(signature.as_bytes());
    }

    /// Names the credentials among these secrets by a digest of their values; `None` when there are none.
    pub(crate) fn digest(&self, keys: &BTreeSet<SecretKey>) -> Option<[u8; 32]> {
        let is_used = |secret: &&Secret| secret.key != SecretKey::UserData && keys.contains(&secret.key);
        let mut used = self.0.secrets.iter().filter(is_used).peekable();
        used.peek()?;
        let mut hasher = Sha256::new();
        for secret in used {
            hasher.update(secret.value.len().to_le_bytes());
            hasher.update(&*secret.value);
        }
        Some(hasher.finalize().into())
    }

    /// Returns the value behind a placeholder of this call.
    pub(crate) fn expand(&self, token: &str) -> Option<Expansion> {
        self.issued().expansions.get(token).cloned()
    }

    fn position(&self, is_it: impl Fn(&Secret) -> bool) -> Option<SecretId> {
        self.0.secrets.iter().position(is_it).map(SecretId)
    }

    fn secret(&self, id: SecretId) -> Option<&Secret> {
        self.0.secrets.get(id.0)
    }

    /// A panic elsewhere leaves the state consistent, so a poisoned lock is usable.
    fn issued(&self) -> MutexGuard<'_, Issued> {
        self.0.issued.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn search_for_guest(&self) -> Search {
        let mut issued = self.issued();
        let known = issued.for_guest.take();
        let exact =
            known.unwrap_or_else(|| Arc::new(self.needles(&issued, |key| !self.0.grants.reveals(key))));
        issued.for_guest = Some(Arc::clone(&exact));
        Search { exact, known: self.0.known.memories(), own: None, shown: Arc::clone(&self.0.shown) }
    }

    fn search_for_logs(&self) -> Search {
        let mut issued = self.issued();
        let known = issued.for_logs.take();
        let exact = known.unwrap_or_else(|| Arc::new(self.needles(&issued, |_| true)));
        issued.for_logs = Some(Arc::clone(&exact));
        let own = self.0.shown_index.get_or_init(|| self.index_of(|secret| secret.is_shown)).clone();
        Search { exact, known: self.0.known.memories(), own, shown: Arc::default() }
    }

    /// Over values that the component may see, and the reader of a log or of a recording may not.
    fn index_of(&self, is_in: impl Fn(&Secret) -> bool) -> Option<Arc<NeedleIndex>> {
        let mut index = NeedleIndex::default();
        for secret in self.0.secrets.iter().filter(|secret| secret.is_whole() && is_in(secret)) {
            let kind = match secret.key {
                SecretKey::UserData => ValueKind::Text,
                SecretKey::Key(_) | SecretKey::Part(_) => ValueKind::Credential,
            };
            if secret.value.len() >= SCRUBBED_FROM_BYTES {
                forms::needles(kind, &secret.value).into_iter().for_each(|needle| index.add(0, needle));
            }
        }
        (!index.is_empty()).then(|| Arc::new(index))
    }

    fn needles(&self, issued: &Issued, is_hidden: impl Fn(&SecretKey) -> bool) -> Needles {
        let mut needles = Needles::default();
        for secret in self.0.secrets.iter().filter(|secret| secret.is_whole() && is_hidden(&secret.key)) {
            needles.add_value(&secret.value, |value| self.0.known.source(value));
        }
        for expansion in issued.expansions.values().filter(|expansion| is_hidden(&expansion.key)) {
            for step in expansion.steps.iter() {
                needles.add_encoded(step);
            }
        }
        for value in &issued.hidden {
            needles.add_value(value, |value| self.0.known.source(value));
        }
        if is_hidden(&SecretKey::UserData)
            && let Some(user_data) = &self.0.hidden_user_data
        {
            needles.add_value(user_data, |_| None);
        }
        needles
    }
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<String> = self.0.secrets.iter().map(|secret| secret.key.to_string()).collect();
        f.debug_struct("Vault").field("keys", &keys).finish_non_exhaustive()
    }
}

/// 128 random bits, written in base 36 with leading zeros.
fn fresh_token() -> String {
    let mut bits: u128 = rand::random();
    let mut digits = [b'0'; PLACEHOLDER_DIGITS];
    for digit in digits.iter_mut().rev() {
        let value = u8::try_from(bits % 36).unwrap_or_default();
        *digit = if value < 10 { b'0' + value } else { b'a' + value - 10 };
        bits /= 36;
    }
    digits.iter().fold(PLACEHOLDER_PREFIX.to_owned(), |mut token, digit| {
        token.push(char::from(*digit));
        token
    })
}

#[cfg(test)]
mod reveal_tests;
#[cfg(test)]
mod spelling_tests;
#[cfg(test)]
mod tests;
