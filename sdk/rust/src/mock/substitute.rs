//! Replaces the placeholders of a request by values, in the granted places and nowhere else.

use serde_json::Value;

use super::encode::inside_of_json;
use super::vault::{DIGITS, PREFIX, Vault};
use crate::driver::{HttpRequest, Url};

/// A place of a secret, as grants write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// `{ header: NAME }`, lower case.
    Header(String),
    /// `{ json: POINTER }`
    Json(String),
    /// `{ form: FIELD }`
    Form(String),
}

impl Place {
    /// The header of this name.
    pub fn header(name: &str) -> Self {
        Self::Header(name.to_ascii_lowercase())
    }

    /// The text at this JSON pointer of the body.
    pub fn json(pointer: &str) -> Self {
        Self::Json(pointer.to_owned())
    }

    /// The field of this name in a form.
    pub fn form(field: &str) -> Self {
        Self::Form(field.to_owned())
    }
}

/// A placeholder is at a place that its secret may not have.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Denied;

/// Returns the request as the cloud sees it.
pub(super) fn filled(request: &HttpRequest, url: &Url, vault: &Vault) -> Result<HttpRequest, Denied> {
    let in_name = request.headers.iter().any(|(name, _)| name.contains(PREFIX));
    if in_name || url.path_with_query.contains(PREFIX) || url.authority.contains(PREFIX) {
        return Err(Denied);
    }
    let header = |(name, value): &(String, String)| {
        let value = text(value, &Place::header(name), vault)?;
        let breaks_out = value.bytes().any(|byte| byte < b' ' && byte != b'\t');
        if breaks_out { Err(Denied) } else { Ok((name.clone(), value)) }
    };
    let headers = request.headers.iter().map(header).collect::<Result<Vec<_>, _>>()?;
    let kind = request.header_value("content-type").unwrap_or_default();
    let body = request.body.as_deref().map(|bytes| body(bytes, kind, vault)).transpose()?;
    Ok(HttpRequest { method: request.method, url: request.url.clone(), headers, body })
}

fn body(bytes: &[u8], content_type: &str, vault: &Vault) -> Result<Vec<u8>, Denied> {
    let holds_one = bytes.windows(PREFIX.len()).any(|window| window == PREFIX.as_bytes());
    if !holds_one {
        return Ok(bytes.to_vec());
    }
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let written = std::str::from_utf8(bytes).map_err(|_| Denied)?;
    if kind == "application/x-www-form-urlencoded" {
        let fields: Result<Vec<String>, Denied> =
            written.split('&').map(|field| form(field, vault)).collect();
        return Ok(fields?.join("&").into_bytes());
    }
    if !kind.is_empty() && !kind.contains("json") {
        return Err(Denied);
    }
    let value = serde_json::from_str(written).map_err(|_| Denied)?;
    Ok(json(value, "", vault)?.to_string().into_bytes())
}

fn form(field: &str, vault: &Vault) -> Result<String, Denied> {
    let (name, value) = field.split_once('=').unwrap_or((field, ""));
    if name.contains(PREFIX) {
        return Err(Denied);
    }
    let decoded = form_urlencoded::parse(name.as_bytes()).next().map(|(name, _)| name.into_owned());
    let value = text(value, &Place::Form(decoded.unwrap_or_default()), vault)?;
    Ok(if field.contains('=') { format!("{name}={value}") } else { name.to_owned() })
}

fn json(value: Value, pointer: &str, vault: &Vault) -> Result<Value, Denied> {
    match value {
        Value::Object(fields) if fields.keys().any(|key| key.contains(PREFIX)) => Err(Denied),
        Value::Object(fields) => {
            let field = |(key, entry): (String, Value)| {
                let at = format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
                Ok((key, json(entry, &at, vault)?))
            };
            fields.into_iter().map(field).collect::<Result<_, _>>().map(Value::Object)
        }
        Value::Array(entries) => {
            let entry = |(index, entry)| json(entry, &format!("{pointer}/{index}"), vault);
            entries.into_iter().enumerate().map(entry).collect::<Result<_, _>>().map(Value::Array)
        }
        Value::String(written) if written.contains(PREFIX) => {
            let inside = text(&inside_of_json(&written), &Place::json(pointer), vault)?;
            // A value that would break out of the string needs another encoding.
            serde_json::from_str(&format!("\"{inside}\"")).map(Value::String).map_err(|_| Denied)
        }
        other => Ok(other),
    }
}

fn text(text: &str, place: &Place, vault: &Vault) -> Result<String, Denied> {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(PREFIX) {
        let (before, from) = rest.split_at(at);
        let token = from.get(..PREFIX.len() + DIGITS).ok_or(Denied)?;
        let expansion = vault.expansion(token, place).ok_or(Denied)?;
        clean.push_str(before);
        clean.push_str(&String::from_utf8_lossy(&expansion.value));
        rest = &from[token.len()..];
    }
    clean.push_str(rest);
    Ok(clean)
}
