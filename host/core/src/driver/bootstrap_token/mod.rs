//! The token with which the kubelet of a VM joins the target cluster, as the Secret that Kubernetes keeps for it.
//!
//! The token of a Machine never changes its value: user data of an earlier create may carry it, and the same
//! idempotency key must always go with the same bytes. Only its expiry is extended. Kubernetes removes the Secrets of
//! expired tokens; a new Secret then has a new value.

use std::collections::BTreeMap;
use std::fmt;

use jiff::{SignedDuration, Timestamp};

use crate::value::id::{Name, Uid};

/// The characters of ids and secrets.
const ALPHABET: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// Characters of an id, as Kubernetes wants them.
const ID_CHARS: usize = 6;

/// Characters of a secret, as Kubernetes wants them.
const SECRET_CHARS: usize = 16;

/// How many ids are tried for one Machine.
///
/// Among ten thousand tokens an id is taken with a chance of 1 in 200,000. Four in a row do not happen; a fifth attempt
/// would hide another problem.
pub const ATTEMPTS: u32 = 4;

/// Fields of the Secret.
pub mod field {
    pub const DESCRIPTION: &str = "description";
    pub const TOKEN_ID: &str = "token-id";
    pub const TOKEN_SECRET: &str = "token-secret";
    pub const EXPIRATION: &str = "expiration";
    pub const USAGE_AUTHENTICATION: &str = "usage-bootstrap-authentication";
    /// `true`: may sign the cluster's public information.
    pub const USAGE_SIGNING: &str = "usage-bootstrap-signing";
    /// Groups of the user, separated by commas.
    pub const EXTRA_GROUPS: &str = "auth-extra-groups";
}

/// A token: six characters of id, sixteen of secret. `Debug` shows the id only.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    id: String,
    secret: String,
}

impl Token {
    /// Returns a token of these halves; `None` when their form is invalid.
    pub fn new(id: &str, secret: &str) -> Option<Self> {
        let is_sound = |half: &str, chars: usize| {
            half.len() == chars && half.bytes().all(|byte| ALPHABET.contains(&byte))
        };
        let are_sound = is_sound(id, ID_CHARS) && is_sound(secret, SECRET_CHARS);
        are_sound.then(|| Self { id: id.to_owned(), secret: secret.to_owned() })
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns `id.secret`, as a kubelet presents it. Not for logs.
    pub fn reveal(&self) -> String {
        format!("{}.{}", self.id, self.secret)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.…", self.id)
    }
}

/// Returns the id for a Machine in the given attempt, counted from 0.
///
/// It never changes: 64-bit FNV-1a over the uid, a byte 0xff that no uid contains, and the attempt, stirred by the
/// finaliser of SplitMix64, in base 36. Two Machines can get the same id (there are 36^6, about two thousand million),
/// which the owner of the existing Secret shows: then the next attempt follows. It needs no cryptographic strength: an
/// id is public.
pub fn id(uid: &Uid, attempt: u32) -> String {
    let bytes = uid.as_str().bytes().chain([0xff]).chain(attempt.to_le_bytes());
    let folded = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mut left = stir(folded);
    let digits = (0..ID_CHARS).map(|_| {
        let digit = left % 36;
        left /= 36;
        // A digit of base 36 is in the alphabet.
        ALPHABET.get(digit as usize).copied().map_or('0', char::from)
    });
    digits.collect()
}

/// The finaliser of SplitMix64: every bit of the answer depends on every bit of the question.
fn stir(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// The name of the Secret of a token.
pub fn secret_name(id: &str) -> Name {
    Name::new(format!("bootstrap-token-{id}"))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRequest<'a> {
    pub uid: &'a Uid,
    /// Its name, for the description.
    pub machine_name: &'a Name,
    /// Which id to take, see [`id`].
    pub attempt: u32,
    pub expires: Timestamp,
    /// Value of the setting; empty: none.
    pub extra_groups: &'a str,
}

/// The Secret of a token, without the metadata that names its owner: the caller adds the uid as an annotation.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenSecret {
    pub name: Name,
    pub token: Token,
    /// Its fields, as plain text.
    pub fields: BTreeMap<&'static str, String>,
}

impl fmt::Debug for TokenSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenSecret")
            .field("name", &self.name)
            .field("token", &self.token)
            .finish_non_exhaustive()
    }
}

/// Too few random bytes were given, or they are not random.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to draw a token from {given} random bytes")]
pub struct NotEnoughRandomness {
    /// So many bytes were given.
    pub given: usize,
}

/// Describes the Secret of a new token.
///
/// `random` are bytes from a cryptographic source. 64 are enough: each is used with a chance of 252 in 256, so that all
/// characters are equally likely, and sixteen are needed.
///
/// # Errors
///
/// When `random` has too few bytes that can be used.
pub fn describe(request: &TokenRequest<'_>, random: &[u8]) -> Result<TokenSecret, NotEnoughRandomness> {
    let not_enough = NotEnoughRandomness { given: random.len() };
    let token = Token::new(&id(request.uid, request.attempt), &draw(random)).ok_or(not_enough)?;
    let mut fields = BTreeMap::from([
        (field::DESCRIPTION, format!("Lets machine {} join the cluster", request.machine_name)),
        (field::TOKEN_ID, token.id.clone()),
        (field::TOKEN_SECRET, token.secret.clone()),
        (field::EXPIRATION, expiration(request.expires)),
        (field::USAGE_AUTHENTICATION, "true".to_owned()),
        (field::USAGE_SIGNING, "true".to_owned()),
    ]);
    if !request.extra_groups.is_empty() {
        fields.insert(field::EXTRA_GROUPS, request.extra_groups.to_owned());
    }
    Ok(TokenSecret { name: secret_name(&token.id), token, fields })
}

/// As many characters as a secret needs, or fewer. Bytes from 252 on are left out: 252 is the largest multiple of 36.
fn draw(random: &[u8]) -> String {
    let fair = random.iter().filter(|byte| **byte < 252);
    let chars = fair.filter_map(|byte| ALPHABET.get(usize::from(byte % 36))).copied().map(char::from);
    chars.take(SECRET_CHARS).collect()
}

/// A time as the field has it: whole seconds.
pub fn expiration(at: Timestamp) -> String {
    Timestamp::from_second(at.as_second()).unwrap_or(at).to_string()
}

/// A Secret that is there under the name that was to be used.
#[derive(Clone, Copy, Debug)]
pub struct ExistingSecret<'a> {
    /// The uid of the Machine that it was made for, as its annotation says.
    pub owner: Option<&'a str>,
    pub fields: &'a BTreeMap<String, Vec<u8>>,
}

/// The decision about an existing Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Use it as it is.
    Keep { token: Token },
    /// Extend it, then use it. The value stays.
    Extend {
        token: Token,
        /// For [`field::EXPIRATION`], see [`expiration`].
        expires: Timestamp,
    },
    /// It belongs to another Machine or program: leave it alone and continue with the id of the next attempt.
    ForeignTryNext,
    /// It is this Machine's, and its token is damaged. The value is lost: delete it and create a new one, once no
    /// create is unresolved.
    Damaged,
}

/// Decides about the Secret that has the name of `uid`'s token in the given attempt.
///
/// The expiry is extended when less than half of the wanted time is left, so that a create which is retried often does
/// not write each time. It is never shortened. A token without a valid expiry gets one.
pub fn on_existing(
    existing: ExistingSecret<'_>,
    uid: &Uid,
    attempt: u32,
    now: Timestamp,
    wanted: Timestamp,
) -> Existing {
    if existing.owner != Some(uid.as_str()) {
        return Existing::ForeignTryNext;
    }
    let text = |name: &str| existing.fields.get(name).and_then(|value| std::str::from_utf8(value).ok());
    let halves = (text(field::TOKEN_ID), text(field::TOKEN_SECRET));
    let (Some(public), Some(secret)) = halves else { return Existing::Damaged };
    let token = match Token::new(public, secret) {
        Some(token) if token.id == id(uid, attempt) => token,
        Some(_) | None => return Existing::Damaged,
    };
    let ends = text(field::EXPIRATION).and_then(|text| text.parse::<Timestamp>().ok());
    let wanted_time = wanted.duration_since(now).max(SignedDuration::ZERO);
    match ends {
        Some(ends) if ends >= wanted => Existing::Keep { token },
        Some(ends) if ends.duration_since(now) >= wanted_time / 2 => Existing::Keep { token },
        Some(_) | None => Existing::Extend { token, expires: wanted },
    }
}

#[cfg(test)]
mod tests;
