//! Checks a signature as a cloud does: from what arrived, by the published rules, without the signing crate.

use std::fmt::Write as _;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use crate::server::Seen;

/// The parts of a signature.
#[derive(Debug)]
pub(crate) struct Signed {
    pub(crate) access_key_id: String,
    pub(crate) scope: String,
    pub(crate) headers: Vec<String>,
    pub(crate) hex: String,
}

/// Panics unless the request as it arrived is signed with this secret.
#[track_caller]
pub(crate) fn verify(seen: &Seen, secret: &str) -> Signed {
    let authorization = seen.headers["authorization"].to_str().unwrap();
    let rest = authorization.strip_prefix("AWS4-HMAC-SHA256 ").unwrap();
    let part = |name: &str| {
        let part = rest.split(", ").find_map(|part| part.strip_prefix(name)).unwrap();
        part.trim_start_matches('=').to_owned()
    };
    let (access_key_id, scope) = {
        let credential = part("Credential");
        let (key, scope) = credential.split_once('/').unwrap();
        (key.to_owned(), scope.to_owned())
    };
    let headers: Vec<String> = part("SignedHeaders").split(';').map(str::to_owned).collect();
    let mut sorted = headers.clone();
    sorted.sort();
    assert_eq!(headers, sorted);
    let date = seen.headers["x-amz-date"].to_str().unwrap();
    let (day, _) = date.split_once('T').unwrap();
    assert_eq!(scope.split('/').next(), Some(day));
    let canonical = format!(
        "{}\n{}\n{}\n{}\n{}\n{}",
        seen.method,
        twice_encoded(seen.uri.path()),
        query(seen.uri.query().unwrap_or_default()),
        headers.iter().map(|name| format!("{name}:{}\n", value(seen, name))).collect::<String>(),
        headers.join(";"),
        hex(&Sha256::digest(&seen.body)),
    );
    let text = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{}", hex(&Sha256::digest(&canonical)));
    let key = scope.split('/').fold(format!("AWS4{secret}").into_bytes(), |key, part| mac(&key, part));
    assert_eq!(part("Signature"), hex(&mac(&key, &text)), "{canonical}\n--\n{text}");
    Signed { access_key_id, scope, headers, hex: part("Signature") }
}

fn value(seen: &Seen, name: &str) -> String {
    if name == "host" && !seen.headers.contains_key("host") {
        return seen.uri.authority().unwrap().to_string();
    }
    let values: Vec<&str> =
        seen.headers.get_all(name).iter().map(|value| value.to_str().unwrap().trim()).collect();
    values.join(",")
}

/// Names and values decoded, encoded in the one way that counts, and sorted.
fn query(query: &str) -> String {
    let encode = |text: &str| encoded(text, b"-._~");
    let mut pairs: Vec<String> = url::form_urlencoded::parse(query.as_bytes())
        .map(|(name, value)| format!("{}={}", encode(&name), encode(&value)))
        .collect();
    pairs.sort();
    pairs.join("&")
}

/// The path as it was sent, encoded once more.
fn twice_encoded(path: &str) -> String {
    encoded(path, b"-._~/")
}

fn encoded(text: &str, plain: &[u8]) -> String {
    text.bytes().fold(String::new(), |mut text, byte| {
        if byte.is_ascii_alphanumeric() || plain.contains(&byte) {
            text.push(char::from(byte));
        } else {
            write!(text, "%{byte:02X}").unwrap();
        }
        text
    })
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}
