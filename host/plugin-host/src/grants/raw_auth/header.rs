//! The text of `bearer` and `basic`.

use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue};
use serde::Deserialize;

use super::names;
use crate::egress::is_connection_header;
use crate::grants::{BasicGrant, BearerGrant, Error};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawBearer {
    header: Option<String>,
    prefix: Option<String>,
    #[serde(default)]
    keys: RawBearerKeys,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawBearerKeys {
    token: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawBasic {
    #[serde(default)]
    keys: RawBasicKeys,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawBasicKeys {
    username: Option<Vec<String>>,
    password: Option<Vec<String>>,
}

pub(super) fn bearer(raw: RawBearer, at: &str) -> Result<BearerGrant, Error> {
    let header = raw.header.as_deref().map_or(Ok(AUTHORIZATION), |text| header(text, at))?;
    let default = if header == AUTHORIZATION { "Bearer " } else { "" };
    let prefix = raw.prefix.unwrap_or_else(|| default.to_owned());
    // What it is put in front of begins with no blank, so blanks at its end survive.
    if HeaderValue::from_str(&prefix).is_err() || !prefix.is_ascii() || prefix.starts_with(' ') {
        return Err(Error::invalid(format!("{at}.prefix"), "has characters that no header has"));
    }
    Ok(BearerGrant { token_keys: names(raw.keys.token, at, "token", &["token"])?, header, prefix })
}

pub(super) fn basic(raw: RawBasic, at: &str) -> Result<BasicGrant, Error> {
    Ok(BasicGrant {
        username_keys: names(raw.keys.username, at, "username", &["username"])?,
        password_keys: names(raw.keys.password, at, "password", &["password"])?,
    })
}

fn header(text: &str, at: &str) -> Result<HeaderName, Error> {
    let place = || format!("{at}.header");
    match HeaderName::from_bytes(text.as_bytes()) {
        Ok(name) if is_connection_header(&name) || name.as_str().starts_with("machinist-") => {
            Err(Error::invalid(place(), format!("header {name} belongs to the host")))
        }
        Ok(name) => Ok(name),
        Err(_) => Err(Error::invalid(place(), format!("{text:?} is no header name"))),
    }
}
