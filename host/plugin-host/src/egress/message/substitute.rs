//! Replaces placeholders by secrets, only in granted places and for granted hosts. A placeholder is the whole value of
//! its place, or the rest behind the prefix that the grants name. Anywhere else, or with other text around it, it
//! refuses the whole request: it is a mistake, smuggled, or wrapped into a script that would send the secret away. All
//! other bytes stay as they are.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;

use bytes::Bytes;
use http::HeaderValue;
use http::header::HeaderMap;
use memchr::memmem;

use super::json::visit_strings;
use super::outgoing::Outgoing;
use crate::egress::failure::Reason;
use crate::grants::PLACEHOLDER_PREFIX;
use crate::grants::form::{self, are_alike, content_type};
use crate::grants::{Grants, RequestPlace, SecretKey};
use crate::target::Host;
use crate::vault::{PLACEHOLDER_BYTES, Vault};

/// A request with its secrets.
#[derive(Debug)]
pub(crate) struct Substituted {
    pub(crate) outgoing: Outgoing,
    /// The secrets whose values it carries.
    pub(crate) used: BTreeSet<SecretKey>,
}

/// The request with its secrets. Signing and sending come after this.
pub(crate) fn substitute(outgoing: Outgoing, grants: &Grants, vault: &Vault) -> Result<Substituted, Reason> {
    let filler = Filler { grants, vault, host: outgoing.target.host(), used: RefCell::default() };
    let in_url = [Some(outgoing.target.path()), outgoing.target.query()];
    if in_url.into_iter().flatten().any(|part| count(part.as_bytes()) > 0) {
        return Err(Reason::PlaceholderPlace);
    }
    let body = filler.body(&outgoing)?;
    let headers = filler.headers(&outgoing.headers)?;
    let used = filler.used.into_inner();
    let body = body.map_or_else(|| outgoing.body.clone(), Bytes::from);
    Ok(Substituted { outgoing: Outgoing { headers, body, ..outgoing }, used })
}

/// A place in this request.
enum Here<'a> {
    Header(&'a http::HeaderName),
    Json(&'a [String]),
    Form(&'a str),
}

impl Here<'_> {
    fn is(&self, place: &RequestPlace) -> bool {
        match (self, place) {
            (Self::Header(here), RequestPlace::Header(granted)) => *here == granted,
            (Self::Json(here), RequestPlace::Json(granted)) => granted.is(here),
            (Self::Form(here), RequestPlace::Form(granted)) => here == granted,
            (
                Self::Header(_) | Self::Json(_) | Self::Form(_),
                RequestPlace::Header(_) | RequestPlace::Json(_) | RequestPlace::Form(_),
            ) => false,
        }
    }

    /// Returns the value that a reader of this place sees. `None`: there is no value to compare.
    fn read(&self, bytes: &[u8]) -> Option<String> {
        match self {
            Self::Header(_) => String::from_utf8(bytes.to_vec()).ok(),
            Self::Json(_) => serde_json::from_slice(&[b"\"", bytes, b"\""].concat()).ok(),
            Self::Form(_) => {
                let field = [b"=", bytes].concat();
                Some(form::fields(&field, b"&").next().map(|(_, value)| value).unwrap_or_default())
            }
        }
    }

    /// Whether these bytes stay inside: no second header, no end of the string, no second field.
    fn holds(&self, bytes: &[u8]) -> bool {
        match self {
            Self::Header(_) => HeaderValue::from_bytes(bytes).is_ok(),
            Self::Json(_) => {
                let quoted = [b"\"", bytes, b"\""].concat();
                serde_json::from_slice::<String>(&quoted).is_ok()
            }
            Self::Form(_) => {
                bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"*-._+%".contains(byte))
            }
        }
    }
}

struct Filler<'a> {
    grants: &'a Grants,
    vault: &'a Vault,
    host: &'a Host,
    used: RefCell<BTreeSet<SecretKey>>,
}

impl Filler<'_> {
    fn headers(&self, headers: &HeaderMap) -> Result<HeaderMap, Reason> {
        let mut filled = HeaderMap::with_capacity(headers.len());
        for (name, value) in headers {
            if count(name.as_str().as_bytes()) > 0 {
                return Err(Reason::PlaceholderPlace);
            }
            let value = match self.fill(value.as_bytes(), &Here::Header(name))? {
                None => value.clone(),
                // Servers join the values of a header that comes twice.
                Some(_) if headers.get_all(name).iter().count() > 1 => return Err(Reason::PlaceholderPart),
                Some(bytes) => {
                    let mut value = HeaderValue::from_bytes(&bytes).map_err(|_| Reason::PlaceholderValue)?;
                    value.set_sensitive(true);
                    value
                }
            };
            filled.append(name, value);
        }
        Ok(filled)
    }

    /// `None` when the body has no placeholder.
    fn body(&self, outgoing: &Outgoing) -> Result<Option<Vec<u8>>, Reason> {
        let body = &outgoing.body;
        let placeholders = count(body);
        if placeholders == 0 {
            return Ok(None);
        }
        // Of two types a server may believe either.
        let content_type = content_type(&outgoing.headers).ok_or(Reason::PlaceholderPlace)?;
        let filled = if content_type == "application/x-www-form-urlencoded" {
            self.form(outgoing.target.query(), body)?
        } else if content_type.is_empty() || content_type.contains("json") {
            self.json(body)?
        } else {
            return Err(Reason::PlaceholderPlace);
        };
        // A remaining placeholder is in a key, outside of fields, or in an invalid body.
        if filled.placeholders == placeholders {
            Ok(Some(filled.bytes))
        } else {
            Err(Reason::PlaceholderPlace)
        }
    }

    fn json(&self, body: &[u8]) -> Result<Filled, Reason> {
        let mut filled = Filled::default();
        let mut from = 0;
        let visited = visit_strings(body, |path, span| {
            filled.replace(body, &mut from, span, |inside| self.fill(inside, &Here::Json(path)))
        });
        if !visited.ok_or(Reason::PlaceholderPlace)?? {
            return Err(Reason::PlaceholderPart);
        }
        filled.bytes.extend_from_slice(body.get(from..).unwrap_or_default());
        Ok(filled)
    }

    fn form(&self, query: Option<&str>, body: &[u8]) -> Result<Filled, Reason> {
        let mut filled = Filled::default();
        let (mut from, mut start) = (0, 0);
        for field in body.split(|byte| *byte == b'&') {
            let end = start + field.len();
            if let Some(equals) = field.iter().position(|byte| *byte == b'=') {
                let name = field.get(..equals).unwrap_or_default();
                let name = url::form_urlencoded::parse(name)
                    .next()
                    .map(|(name, _)| name.into_owned())
                    .unwrap_or_default();
                let span = start + equals + 1..end;
                let before = filled.placeholders;
                filled.replace(body, &mut from, span, |inside| self.fill(inside, &Here::Form(&name)))?;
                if filled.placeholders > before && is_repeated(&name, query, body) {
                    return Err(Reason::PlaceholderPart);
                }
            }
            start = end + 1;
        }
        filled.bytes.extend_from_slice(body.get(from..).unwrap_or_default());
        Ok(filled)
    }

    /// `None` when there is no placeholder in `text`.
    fn fill(&self, text: &[u8], here: &Here<'_>) -> Result<Option<Vec<u8>>, Reason> {
        let Some(at) = memmem::find(text, PLACEHOLDER_PREFIX.as_bytes()) else { return Ok(None) };
        let end = at + PLACEHOLDER_BYTES;
        let (before, behind) = (text.get(..at).unwrap_or_default(), text.get(end..).unwrap_or_default());
        let token = text.get(at..end).and_then(|token| std::str::from_utf8(token).ok());
        let secret = token.and_then(|token| self.vault.expand(token)).ok_or(Reason::PlaceholderUnknown)?;
        self.check(&secret.key, here, before)?;
        if !behind.is_empty() {
            return Err(Reason::PlaceholderPart);
        }
        let value = secret.steps.last().filter(|value| here.holds(value)).ok_or(Reason::PlaceholderValue)?;
        self.used.borrow_mut().insert(secret.key.clone());
        Ok(Some([before, value.as_slice()].concat()))
    }

    fn check(&self, key: &SecretKey, here: &Here<'_>, before: &[u8]) -> Result<(), Reason> {
        let mut refusal = Reason::PlaceholderPlace;
        for grant in self.grants.secret(key) {
            for granted in grant.places().iter().filter(|granted| here.is(granted.place())) {
                let is_all = if granted.prefix().is_empty() {
                    before.is_empty()
                } else {
                    here.read(before).is_some_and(|text| text == granted.prefix())
                };
                if !grant.reaches(self.host) {
                    refusal = Reason::PlaceholderHost;
                } else if is_all {
                    return Ok(());
                } else {
                    refusal = Reason::PlaceholderPart;
                }
            }
        }
        Err(refusal)
    }
}

/// Whether some server finds this field more than once, and might join the values or take another one.
fn is_repeated(name: &str, query: Option<&str>, body: &[u8]) -> bool {
    [&b"&"[..], &b"&;"[..]].into_iter().any(|separators| {
        let query = query.unwrap_or_default().as_bytes();
        let fields = form::fields(query, separators).chain(form::fields(body, separators));
        fields.filter(|(other, _)| are_alike(other, name)).count() > 1
    })
}

#[derive(Default)]
struct Filled {
    bytes: Vec<u8>,
    placeholders: usize,
}

impl Filled {
    /// Copies up to the span and what the span becomes.
    fn replace(
        &mut self,
        body: &[u8],
        from: &mut usize,
        span: Range<usize>,
        fill: impl FnOnce(&[u8]) -> Result<Option<Vec<u8>>, Reason>,
    ) -> Result<(), Reason> {
        let inside = body.get(span.clone()).unwrap_or_default();
        if let Some(filled) = fill(inside)? {
            self.placeholders += count(inside);
            self.bytes.extend_from_slice(body.get(*from..span.start).unwrap_or_default());
            self.bytes.extend_from_slice(&filled);
            *from = span.end;
        }
        Ok(())
    }
}

fn count(text: &[u8]) -> usize {
    memmem::find_iter(text, PLACEHOLDER_PREFIX).count()
}

#[cfg(test)]
#[path = "substitute_tests.rs"]
mod tests;
