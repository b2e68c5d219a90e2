//! Where a secret may travel.

use std::fmt;

use http::HeaderName;

use super::SecretPart;
use super::part::SEPARATOR;
use crate::auth::AuthGrant;
use crate::target::{Error, Host, HostPattern};

/// The prefix of every placeholder of a secret. Only lower case and digits, so that nothing on the way changes it.
pub(crate) const PLACEHOLDER_PREFIX: &str = "x0machinist0secret0x";

/// Names a secret of a call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SecretKey {
    /// A key of the Secret.
    Key(String),
    /// A part of the JSON document under a key.
    Part(SecretPart),
    /// The user data that a VM gets at boot.
    UserData,
}

impl SecretKey {
    /// How grants write user data.
    pub const USER_DATA: &str = "userData";

    /// As grants write it.
    pub fn named(text: &str) -> Self {
        if text == Self::USER_DATA { Self::UserData } else { Self::Key(text.to_owned()) }
    }

    /// Parses an entry of `reveal`: a key of the Secret, or a part of the document under it.
    pub(super) fn revealed(text: &str, at: &str) -> Result<Self, Error> {
        match text.split_once(SEPARATOR) {
            None => Ok(Self::named(text)),
            Some((Self::USER_DATA, _)) => {
                Err(Error::invalid(at, "user data has no parts: write the key of a JSON document"))
            }
            Some((key, pointer)) => SecretPart::parse(key, pointer, at).map(Self::Part),
        }
    }
}

impl fmt::Display for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => f.write_str(key),
            Self::Part(part) => part.fmt(f),
            Self::UserData => f.write_str(Self::USER_DATA),
        }
    }
}

/// A JSON pointer (RFC 6901) to a string in a body, decoded into its segments.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JsonPointer(Vec<String>);

impl JsonPointer {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix('/')?;
        rest.split('/').map(segment).collect::<Option<Vec<_>>>().map(Self)
    }

    /// Whether these segments are the pointer's.
    pub(crate) fn is(&self, path: &[String]) -> bool {
        self.0 == path
    }
}

impl fmt::Display for JsonPointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|segment| write!(f, "/{}", segment.replace('~', "~0").replace('/', "~1")))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RequestPlace {
    /// The value of this header.
    Header(HeaderName),
    /// This string of a JSON body.
    Json(JsonPointer),
    /// The value of this field of a form body.
    Form(String),
}

/// A place that one secret may fill. The secret is all of it, or all behind a text that the operator wrote down: around
/// a placeholder a driver could wrap a script that sends the secret away.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GrantedPlace {
    pub(crate) place: RequestPlace,
    /// The text before the secret, not encoded; may be empty.
    pub(crate) prefix: String,
}

impl GrantedPlace {
    pub fn place(&self) -> &RequestPlace {
        &self.place
    }

    /// Returns the text before the secret; empty if the secret is the whole value.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }
}

/// Lets one secret travel in some places to some hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretGrant {
    pub(crate) key: SecretKey,
    pub(crate) places: Vec<GrantedPlace>,
    /// Empty: all hosts that the egress rules grant.
    pub(crate) hosts: Vec<HostPattern>,
}

impl SecretGrant {
    pub fn key(&self) -> &SecretKey {
        &self.key
    }

    pub fn places(&self) -> &[GrantedPlace] {
        &self.places
    }

    /// To which hosts; empty means all granted ones.
    pub fn hosts(&self) -> &[HostPattern] {
        &self.hosts
    }

    /// Whether the secret may go to this host, which the egress rules grant already.
    pub fn reaches(&self, host: &Host) -> bool {
        self.hosts.is_empty() || self.hosts.iter().any(|pattern| pattern.matches(host))
    }
}

fn segment(text: &str) -> Option<String> {
    let mut decoded = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '~' => decoded.push(match characters.next()? {
                '0' => '~',
                '1' => '/',
                _ => return None,
            }),
            other => decoded.push(other),
        }
    }
    Some(decoded)
}

/// Checks that keys which the host authenticates with have no placeholder and are not revealed: such grants would
/// contradict themselves. Parts of a document that the host signs with may be revealed, its private key may not.
/// Addresses of services may be revealed as well.
pub(super) fn check_host_keys(
    auth: &[AuthGrant],
    secrets: &[SecretGrant],
    reveal: &[SecretKey],
) -> Result<(), Error> {
    // A key that is an address for one line and a credential for another is a credential.
    let is_address = |key: &String| {
        let mut users = auth.iter().filter(|grant| grant.used_keys().contains(&key));
        users.all(|grant| grant.address_keys().contains(&key))
    };
    for (index, grant) in auth.iter().enumerate() {
        for used in grant.used_keys() {
            let key = SecretKey::named(used);
            if key == SecretKey::UserData {
                return Err(Error::invalid(
                    format!("auth[{index}].keys"),
                    format!("{used} is no credential"),
                ));
            }
            let contradicts = |place: String, what: &str| {
                let problem = format!(
                    "auth[{index}] signs with {used:?}, and such a key {what}: take it out of one of both"
                );
                Error::invalid(place, problem)
            };
            if let Some(at) = secrets.iter().position(|secret| *secret.key() == key) {
                return Err(contradicts(format!("secrets[{at}].key"), "has no placeholder"));
            }
            let is_shown = |revealed: &SecretKey| match revealed {
                SecretKey::Part(part) => part.is_private_key_of(used),
                SecretKey::Key(_) | SecretKey::UserData => *revealed == key,
            };
            if let Some(at) = reveal.iter().position(is_shown)
                && !is_address(used)
            {
                return Err(contradicts(format!("reveal[{at}]"), "is never revealed"));
            }
        }
    }
    Ok(())
}
