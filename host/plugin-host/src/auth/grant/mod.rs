//! A line of `auth` in the grants, and the parts of it that a ceiling does not allow.
//!
//! | module | has |
//! | --- | --- |
//! | `keys` | keys of the Secret, as grants name them |

pub(super) mod keys;

use std::fmt::{self, Display};

use http::HeaderMap;
use machinist_core::value::id::PluginName;
use serde_yaml_ng::{Mapping, Value};

use crate::auth::credential::token_file::FilePrefix;
use crate::auth::scheme::{Mark, SCHEMES, SchemeGrant};
use crate::auth::{AuthReason, CredentialSource, SchemeError, SecretReader, SecretTls};
use crate::target::{Error, Host, HostPattern, NamePattern, Regions};

/// Lets the host authenticate requests of one scheme. `Display` says for people what it grants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthGrant {
    /// Empty: all hosts that the egress rules grant.
    hosts: Vec<HostPattern>,
    scheme: SchemeGrant,
}

impl AuthGrant {
    /// Parses a line. Its fields depend on its scheme.
    pub(crate) fn parse(mut raw: Mapping, regions: &Regions, at: &str) -> Result<Self, Error> {
        let known = || SCHEMES.join(", ");
        let parse = match raw.remove("scheme") {
            Some(Value::String(name)) => SchemeGrant::parser(&name).ok_or_else(|| {
                Error::invalid(format!("{at}.scheme"), format!("{name:?} is none of {}", known()))
            })?,
            _ => return Err(Error::invalid(format!("{at}.scheme"), format!("must be one of {}", known()))),
        };
        let hosts = match raw.remove("hosts") {
            None | Some(Value::Null) => Vec::new(),
            Some(raw) => hosts(raw, regions, &format!("{at}.hosts"))?,
        };
        Ok(Self { hosts, scheme: parse(Value::Mapping(raw), regions, at)? })
    }

    pub(crate) fn scheme(&self) -> &'static str {
        self.scheme.name()
    }

    /// Returns the hosts of the line; empty means all that the egress rules grant.
    pub(crate) fn hosts(&self) -> &[HostPattern] {
        &self.hosts
    }

    /// The keys of the Secret that the host alone may use.
    pub(crate) fn used_keys(&self) -> Vec<&String> {
        self.scheme.used_keys()
    }

    /// Returns those of the used keys that are addresses and no credentials.
    pub(crate) fn address_keys(&self) -> Vec<&String> {
        self.scheme.address_keys()
    }

    /// Returns the part, hosts aside, that this grant of a ceiling does not allow.
    pub(crate) fn beyond(&self, ceiling: &Self) -> Option<String> {
        self.scheme.beyond(&ceiling.scheme)
    }

    /// Whether the request brings a header that the host sets.
    pub(crate) fn owns_header_of(&self, headers: &HeaderMap) -> bool {
        self.scheme.headers().iter().any(|name| headers.contains_key(name))
    }

    /// Reads the Secret, and says where the credential of a request with this mark comes from.
    pub(crate) fn source(
        &self,
        mark: &Mark,
        secret: SecretReader<'_>,
        plugin: &PluginName,
    ) -> Result<CredentialSource, SchemeError> {
        self.scheme.source(mark, secret, plugin)
    }

    /// Returns the TLS that the Secret asks for.
    pub(crate) fn tls(&self, secret: SecretReader<'_>) -> Result<Option<SecretTls>, SchemeError> {
        self.scheme.tls(secret)
    }

    fn denial(&self, mark: &Mark, host: &Host) -> Option<AuthReason> {
        let is_host = || self.hosts.is_empty() || self.hosts.iter().any(|pattern| pattern.matches(host));
        self.scheme.denial(mark).or_else(|| (!is_host()).then_some(AuthReason::Host))
    }
}

impl Display for AuthGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.scheme(), self.scheme.summary())?;
        if self.hosts.is_empty() { Ok(()) } else { write!(f, "; hosts {}", joined(&self.hosts)) }
    }
}

/// Returns the first grant that allows a request, else the reason of the grant that came nearest.
pub(crate) fn choose<'a>(
    grants: &'a [AuthGrant],
    mark: &Mark,
    host: &Host,
) -> Result<&'a AuthGrant, AuthReason> {
    let mut nearest = AuthReason::Scheme;
    for grant in grants {
        match grant.denial(mark, host) {
            None => return Ok(grant),
            Some(denial) => nearest = nearest.max(denial),
        }
    }
    Err(nearest)
}

fn hosts(raw: Value, regions: &Regions, at: &str) -> Result<Vec<HostPattern>, Error> {
    let raw: Vec<String> =
        serde_yaml_ng::from_value(raw).map_err(|error| Error::invalid(at, error.to_string()))?;
    let hosts = regions.fill(raw, at)?;
    if hosts.is_empty() {
        return Err(Error::invalid(at, "names no host: leave it out for all granted ones"));
    }
    hosts.iter().map(|text| HostPattern::parse(text).map_err(|problem| Error::invalid(at, problem))).collect()
}

/// A list as people read it.
pub(super) fn joined(items: &[impl Display]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

pub(in crate::auth) fn keys<'a>(
    pairs: impl IntoIterator<Item = (&'a Vec<String>, &'a Vec<String>)>,
) -> Option<String> {
    let foreign = |(own, wide): (&'a Vec<String>, &Vec<String>)| own.iter().find(|key| !wide.contains(key));
    pairs.into_iter().find_map(foreign).map(|key| format!("not with key {key} of the Secret"))
}

pub(in crate::auth) fn patterns(kind: &str, own: &[NamePattern], wide: &[NamePattern]) -> Option<String> {
    let foreign = own.iter().find(|own| !wide.iter().any(|wide| wide.covers(own)));
    foreign.map(|pattern| format!("not for {kind} {pattern}"))
}

/// Parses folders below which token files may lie.
pub(in crate::auth) fn folders(raw: &[String], at: &str) -> Result<Vec<FilePrefix>, Error> {
    if raw.is_empty() {
        return Err(Error::invalid(at, "names no folder that tokens may be read from"));
    }
    raw.iter().map(|text| FilePrefix::parse(text).map_err(|problem| Error::invalid(at, problem))).collect()
}

pub(in crate::auth) fn folders_beyond(own: &[FilePrefix], wide: &[FilePrefix]) -> Option<String> {
    let is_below = |own: &FilePrefix, wide: &FilePrefix| own == wide || wide.covers(own.path());
    let foreign = own.iter().find(|own| !wide.iter().any(|wide| is_below(own, wide)));
    foreign.map(|folder| not(folder.path().display()))
}

pub(in crate::auth) fn unless(is_within: bool, problem: impl FnOnce() -> String) -> Option<String> {
    (!is_within).then(problem)
}

pub(in crate::auth) fn not(part: impl Display) -> String {
    format!("not for {part}")
}
