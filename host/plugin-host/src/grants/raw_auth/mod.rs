//! Parses the list `auth` of the grants.
//!
//! | module | what it parses |
//! | --- | --- |
//! | `header` | `bearer` and `basic` |
//! | `sigv4` | `aws-sigv4` |
//! | `token` | schemes whose tokens a service gives |

mod header;
mod sigv4;
mod token;

use serde::de::DeserializeOwned;
use serde_yaml_ng::{Mapping, Value};

use super::auth::AuthWay;
use super::target::regions::Regions;
use super::{AuthGrant, AuthScheme, Error, HostPattern, NamePattern, SecretGrant, SecretKey};

/// One entry. Which fields it may have depends on its scheme.
pub(super) type RawAuthGrant = Mapping;

pub(super) fn grant(mut raw: RawAuthGrant, regions: &Regions, at: &str) -> Result<AuthGrant, Error> {
    let known = || AuthScheme::ALL.map(AuthScheme::name).join(", ");
    let scheme = match raw.remove("scheme") {
        Some(Value::String(name)) => AuthScheme::named(&name).ok_or_else(|| {
            Error::invalid(format!("{at}.scheme"), format!("{name:?} is none of {}", known()))
        })?,
        _ => return Err(Error::invalid(format!("{at}.scheme"), format!("must be one of {}", known()))),
    };
    let hosts = match raw.remove("hosts") {
        None | Some(Value::Null) => Vec::new(),
        Some(raw) => {
            let place = format!("{at}.hosts");
            hosts(&regions.fill(read::<Vec<String>>(raw, &place)?, &place)?, &place)?
        }
    };
    let rest = Value::Mapping(raw);
    let way = match scheme {
        AuthScheme::AwsSigV4 => AuthWay::AwsSigV4(sigv4::grant(read(rest, at)?, regions, at)?),
        AuthScheme::Bearer => AuthWay::Bearer(header::bearer(read(rest, at)?, at)?),
        AuthScheme::Basic => AuthWay::Basic(header::basic(read(rest, at)?, at)?),
        AuthScheme::ClientCredentials => {
            AuthWay::ClientCredentials(token::client_credentials(read(rest, at)?, at)?)
        }
        AuthScheme::JwtBearer => AuthWay::JwtBearer(token::jwt_bearer(read(rest, at)?, at)?),
        AuthScheme::Keystone => AuthWay::Keystone(token::keystone(read(rest, at)?, at)?),
    };
    Ok(AuthGrant { hosts, way })
}

fn read<T: DeserializeOwned>(raw: Value, at: &str) -> Result<T, Error> {
    serde_yaml_ng::from_value(raw).map_err(|error| Error::invalid(at, error.to_string()))
}

/// A key that the host authenticates with has no placeholder and is not revealed; grants that say otherwise contradict
/// themselves.
pub(super) fn check(auth: &[AuthGrant], secrets: &[SecretGrant], reveal: &[String]) -> Result<(), Error> {
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
            if let Some(at) = reveal.iter().position(|revealed| revealed == used) {
                return Err(contradicts(format!("reveal[{at}]"), "is never revealed"));
            }
        }
    }
    Ok(())
}

fn hosts(raw: &[String], at: &str) -> Result<Vec<HostPattern>, Error> {
    if raw.is_empty() {
        return Err(Error::invalid(at, "names no host: leave it out for all granted ones"));
    }
    raw.iter().map(|text| HostPattern::parse(text).map_err(|problem| Error::invalid(at, problem))).collect()
}

/// Names of keys of the Secret.
fn names(raw: Option<Vec<String>>, at: &str, field: &str, defaults: &[&str]) -> Result<Vec<String>, Error> {
    let names = raw.unwrap_or_else(|| defaults.iter().map(|&name| name.to_owned()).collect());
    if names.is_empty() || names.iter().any(String::is_empty) {
        return Err(Error::invalid(format!("{at}.keys.{field}"), "names no key of the Secret"));
    }
    Ok(names)
}

/// Absent means that a mark names none.
fn scopes(raw: Option<Vec<String>>, at: &str) -> Result<Vec<NamePattern>, Error> {
    let place = format!("{at}.scopes");
    let Some(raw) = raw else { return Ok(Vec::new()) };
    if raw.is_empty() {
        return Err(Error::invalid(place, "names no scope: leave it out when marks name none"));
    }
    let one = |text: &String| {
        NamePattern::scope(text)
            .ok_or_else(|| Error::invalid(&place, format!("{text:?} is no scope with at most one *")))
    };
    raw.iter().map(one).collect()
}
