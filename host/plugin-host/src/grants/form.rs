//! Conditions on fields of a request, for APIs that are one URL and say in a field what is to be done.

use std::collections::BTreeSet;
use std::fmt;

use http::HeaderName;
use http::header::{CONTENT_TYPE, HeaderMap};

/// A condition: the field occurs once in query and body together, with one of these values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormCondition {
    pub(crate) field: String,
    pub(crate) values: BTreeSet<String>,
}

impl FormCondition {
    pub fn field(&self) -> &str {
        &self.field
    }

    /// Which values it may have; never empty.
    pub fn values(&self) -> &BTreeSet<String> {
        &self.values
    }

    fn holds(&self, fields: &[(String, String)]) -> bool {
        let mut alike = fields.iter().filter(|(name, _)| are_alike(name, &self.field));
        match (alike.next(), alike.next()) {
            (Some((name, value)), None) => *name == self.field && self.values.contains(value),
            (None | Some(_), _) => false,
        }
    }
}

impl fmt::Display for FormCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values: Vec<&str> = self.values.iter().map(String::as_str).collect();
        write!(f, "{} {}", self.field, values.join(", "))
    }
}

/// Whether all conditions hold, in every way in which servers read the fields of a request.
pub(crate) fn all_match(
    conditions: &[FormCondition],
    query: Option<&str>,
    headers: &HeaderMap,
    body: &[u8],
) -> bool {
    if conditions.is_empty() {
        return true;
    }
    if !body.is_empty() && !is_form(headers) {
        return false;
    }
    let query = query.unwrap_or_default().as_bytes();
    [&b"&"[..], &b"&;"[..]].into_iter().all(|separators| {
        let fields: Vec<_> = fields(query, separators).chain(fields(body, separators)).collect();
        conditions.iter().all(|condition| condition.holds(&fields))
    })
}

/// Whether there is one content type, and it says that the body is a form.
pub(crate) fn is_form(headers: &HeaderMap) -> bool {
    content_type(headers).is_some_and(|text| text == "application/x-www-form-urlencoded")
}

/// The type without its parameters, in small letters; empty where none is said. `None`: there are two, and no telling
/// which one counts.
pub(crate) fn content_type(headers: &HeaderMap) -> Option<String> {
    let mut all = headers.get_all(CONTENT_TYPE).iter();
    let text = match (all.next(), all.next()) {
        (None, _) => return Some(String::new()),
        (Some(value), None) => value.to_str().ok()?,
        (Some(_), Some(_)) => return None,
    };
    Some(text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
}

/// Names and values of a form, decoded.
pub(crate) fn fields<'a>(
    text: &'a [u8],
    separators: &'a [u8],
) -> impl Iterator<Item = (String, String)> + 'a {
    text.split(|byte| separators.contains(byte)).filter(|field| !field.is_empty()).map(|field| {
        let parsed = url::form_urlencoded::parse(field).next();
        parsed.map(|(name, value)| (name.into_owned(), value.into_owned())).unwrap_or_default()
    })
}

/// Whether some server takes both names for one: it ignores case, or what is neither a letter nor a digit.
pub(crate) fn are_alike(one: &str, other: &str) -> bool {
    let plain = |text: &str| -> String {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    one == other || plain(one) == plain(other)
}

const NAMES: [&str; 17] = [
    "forwarded", "x-host", "x-http-host-override", "x-http-method", "x-http-method-override", "x-method",
    "x-method-override", "x-original-host", "x-original-method", "x-original-uri", "x-original-url",
    "x-override-url", "x-proxy-url", "x-request-uri", "x-rewrite-uri", "x-rewrite-url",
    "x-envoy-original-path",
];

/// Whether the header names another method, URL, host or sender: refused, unless a rule grants it by its name.
pub(crate) fn is_override(name: &HeaderName) -> bool {
    NAMES.contains(&name.as_str()) || name.as_str().starts_with("x-forwarded-")
}

/// Headers that ask for a part of an answer, in whose pieces no secret can be found.
pub(crate) fn is_range(name: &HeaderName) -> bool {
    ["range", "if-range", "request-range", "x-ms-range"].contains(&name.as_str())
}
