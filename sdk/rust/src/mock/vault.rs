//! The secrets of one call, as the host keeps them: values inside, placeholders outside.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::rc::Rc;

use super::encode::{encoded, spellings};
use super::substitute::Place;
use crate::driver::{Encoding, Handle, Secret, SecretRefusal, Secrets, USER_DATA_KEY};

/// The beginning of every placeholder.
pub(super) const PREFIX: &str = "x0machinist0secret0x";
/// The number of letters and digits that follow.
pub(super) const DIGITS: usize = 25;
const PLACEHOLDERS_PER_CALL: usize = 256;
const PREFIX_BYTES: usize = 64;
/// Answers keep values that are shorter.
const SCRUBBED_FROM_BYTES: usize = 8;
const MASK: &[u8] = b"***";

/// A secret with its grants.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    pub(super) value: Vec<u8>,
    pub(super) places: Vec<Place>,
    pub(super) is_revealed: bool,
}

/// The value of a placeholder, with its encodings.
#[derive(Clone, Debug)]
pub(super) struct Expansion {
    pub(super) key: String,
    pub(super) value: Vec<u8>,
}

/// The secrets of one call.
#[derive(Clone, Debug)]
pub(super) struct Vault(Rc<Inside>);

#[derive(Debug)]
struct Inside {
    /// User data has a key of its own.
    secrets: BTreeMap<String, Kept>,
    tokens: RefCell<BTreeMap<(String, Vec<Encoding>), String>>,
    expansions: RefCell<BTreeMap<String, Expansion>>,
}

impl Vault {
    pub(super) fn new(secrets: BTreeMap<String, Kept>) -> Self {
        let (tokens, expansions) = (RefCell::default(), RefCell::default());
        Self(Rc::new(Inside { secrets, tokens, expansions }))
    }

    /// Returns the value of a token, if it may be at this place.
    pub(super) fn expansion(&self, token: &str, place: &Place) -> Option<Expansion> {
        let expansion = self.0.expansions.borrow().get(token).cloned()?;
        let places = &self.0.secrets.get(&expansion.key)?.places;
        places.contains(place).then_some(expansion)
    }

    /// Scrubs an answer: removes the values in all spellings that clouds use.
    pub(super) fn scrub(&self, content: &[u8]) -> Vec<u8> {
        let is_hidden = |key: &str| self.0.secrets.get(key).is_some_and(|kept| !kept.is_revealed);
        let hidden = self.0.secrets.values().filter(|kept| !kept.is_revealed);
        let mut words: Vec<Vec<u8>> = hidden.flat_map(|kept| spellings(&kept.value)).collect();
        let expansions = self.0.expansions.borrow();
        words.extend(expansions.values().filter(|sent| is_hidden(&sent.key)).map(|sent| sent.value.clone()));
        words.retain(|word| word.len() >= SCRUBBED_FROM_BYTES);
        words.sort_by_key(|word| std::cmp::Reverse(word.len()));
        words.iter().fold(content.to_vec(), |content, word| replaced(&content, word))
    }

    pub(super) fn scrub_text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.scrub(text.as_bytes())).into_owned()
    }

    fn token(&self, key: &str, encodings: &[Encoding]) -> Result<String, SecretRefusal> {
        let kept = self.0.secrets.get(key).filter(|kept| !kept.places.is_empty());
        let kept = kept.ok_or(SecretRefusal::NotGranted)?;
        let entry = (key.to_owned(), encodings.to_vec());
        if let Some(token) = self.0.tokens.borrow().get(&entry) {
            return Ok(token.clone());
        }
        let value = encoded(&kept.value, encodings).ok_or(SecretRefusal::Encodings)?;
        let mut tokens = self.0.tokens.borrow_mut();
        if tokens.len() >= PLACEHOLDERS_PER_CALL {
            return Err(SecretRefusal::TooMany);
        }
        let token = format!("{PREFIX}{}", random_digits());
        self.0.expansions.borrow_mut().insert(token.clone(), Expansion { key: key.to_owned(), value });
        tokens.insert(entry, token.clone());
        Ok(token)
    }

    fn handle(&self, key: &str) -> Option<Secret> {
        let is_there = self.0.secrets.contains_key(key);
        is_there.then(|| Secret::new(key, MockSecret { vault: self.clone(), key: key.to_owned() }))
    }
}

impl Secrets for Vault {
    fn keys(&self) -> Vec<String> {
        self.0.secrets.keys().filter(|key| *key != USER_DATA_KEY).cloned().collect()
    }

    fn open(&self, key: &str) -> Option<Secret> {
        self.handle(key).filter(|_| key != USER_DATA_KEY)
    }

    fn user_data(&self) -> Option<Secret> {
        self.handle(USER_DATA_KEY)
    }
}

struct MockSecret {
    vault: Vault,
    key: String,
}

impl MockSecret {
    fn kept(&self) -> Kept {
        self.vault.0.secrets.get(&self.key).cloned().unwrap_or_default()
    }
}

impl Handle for MockSecret {
    fn length(&self) -> u64 {
        self.kept().value.len() as u64
    }

    fn starts_with(&self, prefix: &[u8]) -> bool {
        let compared = prefix.get(..PREFIX_BYTES).unwrap_or(prefix);
        self.key == USER_DATA_KEY && self.kept().value.starts_with(compared)
    }

    fn placeholder(&self, encodings: &[Encoding]) -> Result<String, SecretRefusal> {
        self.vault.token(&self.key, encodings)
    }

    fn reveal(&self) -> Result<Vec<u8>, SecretRefusal> {
        let kept = self.kept();
        if kept.is_revealed { Ok(kept.value) } else { Err(SecretRefusal::NotGranted) }
    }
}

/// Nobody can guess the digits, so a test cannot depend on them.
fn random_digits() -> String {
    const ALPHABET: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let random = RandomState::new();
    let digit = |index: usize| {
        let which = usize::try_from(random.hash_one(index) % 36).unwrap_or_default();
        char::from(ALPHABET[which])
    };
    (0..DIGITS).map(digit).collect()
}

fn replaced(content: &[u8], word: &[u8]) -> Vec<u8> {
    let mut clean = Vec::with_capacity(content.len());
    let mut rest = content;
    while let Some(at) = rest.windows(word.len()).position(|window| window == word) {
        clean.extend_from_slice(&rest[..at]);
        clean.extend_from_slice(MASK);
        rest = &rest[at + word.len()..];
    }
    clean.extend_from_slice(rest);
    clean
}
