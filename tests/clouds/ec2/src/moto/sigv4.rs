//! AWS Signature Version 4, verified. Written from the published algorithm, apart from the crate that the host signs
//! with, so that the two check each other.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// The name of the algorithm.
pub(crate) const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// The parts of the `Authorization` header of a signed request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Authorization {
    pub(crate) access_key_id: String,
    pub(crate) day: String,
    pub(crate) region: String,
    pub(crate) service: String,
    pub(crate) signed_headers: Vec<String>,
    pub(crate) signature: String,
}

impl Authorization {
    /// Reads the header; nothing if it is malformed.
    pub(crate) fn parse(header: &str) -> Option<Self> {
        let rest = header.strip_prefix(ALGORITHM)?.strip_prefix(' ')?;
        let field = |name: &str| {
            rest.split(',')
                .find_map(|part| part.trim().strip_prefix(name)?.strip_prefix('=').map(str::to_owned))
        };
        let credential = field("Credential")?;
        let mut scope = credential.split('/').map(str::to_owned);
        let (access_key_id, day) = (scope.next()?, scope.next()?);
        let (region, service) = (scope.next()?, scope.next()?);
        if scope.next()? != "aws4_request" || scope.next().is_some() {
            return None;
        }
        let signed_headers = field("SignedHeaders")?.split(';').map(str::to_owned).collect();
        Some(Self { access_key_id, day, region, service, signed_headers, signature: field("Signature")? })
    }
}

/// The parts of a request that are signed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signed<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) query: &'a str,
    pub(crate) headers: &'a http::HeaderMap,
    pub(crate) body: &'a [u8],
    /// The content of `x-amz-date`.
    pub(crate) date: &'a str,
}

/// The signature that the owner of this secret would have made.
pub(crate) fn signature(request: &Signed<'_>, authorization: &Authorization, secret: &str) -> String {
    let Authorization { day, region, service, .. } = authorization;
    let scope = format!("{day}/{region}/{service}/aws4_request");
    let canonical = canonical_request(request, &authorization.signed_headers);
    let to_sign = format!("{ALGORITHM}\n{}\n{scope}\n{}", request.date, digest(canonical.as_bytes()));
    let mut key = format!("AWS4{secret}").into_bytes();
    for part in [day.as_str(), region, service, "aws4_request"] {
        key = keyed(&key, part.as_bytes());
    }
    hex(&keyed(&key, to_sign.as_bytes()))
}

fn canonical_request(request: &Signed<'_>, signed_headers: &[String]) -> String {
    let mut query: Vec<(&str, &str)> = request
        .query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .collect();
    query.sort_unstable();
    let query: Vec<String> = query.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let mut headers = String::new();
    for name in signed_headers {
        let values = request.headers.get_all(name).iter().map(|value| {
            let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        });
        headers.push_str(&format!("{name}:{}\n", values.collect::<Vec<_>>().join(",")));
    }
    format!(
        "{}\n{}\n{}\n{headers}\n{}\n{}",
        request.method,
        request.path,
        query.join("&"),
        signed_headers.join(";"),
        digest(request.body)
    )
}

fn keyed(key: &[u8], text: &[u8]) -> Vec<u8> {
    match Hmac::<Sha256>::new_from_slice(key) {
        Ok(mut mac) => {
            mac.update(text);
            mac.finalize().into_bytes().to_vec()
        }
        // A key of any length is a key.
        Err(_) => Vec::new(),
    }
}

/// SHA-256 in hexadecimal digits.
pub(crate) fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

    fn headers(pairs: &[(&'static str, &'static str)]) -> http::HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    /// The example of the algorithm's description.
    #[test]
    fn the_published_example_has_the_published_signature() {
        let headers = headers(&[
            ("content-type", "application/x-www-form-urlencoded; charset=utf-8"),
            ("host", "iam.amazonaws.com"),
            ("x-amz-date", "20150830T123600Z"),
        ]);
        let authorization = Authorization::parse(
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, \
             SignedHeaders=content-type;host;x-amz-date, \
             Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7",
        )
        .unwrap();
        let request = Signed {
            method: "GET",
            path: "/",
            query: "Version=2010-05-08&Action=ListUsers",
            headers: &headers,
            body: b"",
            date: "20150830T123600Z",
        };
        assert_eq!(signature(&request, &authorization, SECRET), authorization.signature);
        assert_ne!(signature(&request, &authorization, "another"), authorization.signature);
    }

    #[test]
    fn a_malformed_header_is_no_authorization() {
        for header in [
            "Bearer x",
            "AWS4-HMAC-SHA256 Credential=A/1/r/s/aws4_request, SignedHeaders=host",
            "AWS4-HMAC-SHA256 Credential=A/1/r/aws4_request, SignedHeaders=host, Signature=1",
            "AWS4-HMAC-SHA256 Credential=A/1/r/s/other, SignedHeaders=host, Signature=1",
        ] {
            assert_eq!(Authorization::parse(header), None, "{header}");
        }
    }
}
