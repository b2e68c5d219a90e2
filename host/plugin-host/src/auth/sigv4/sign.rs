//! Signs requests as they are sent. The crate `aws-sigv4` makes the signature; this module chooses the signed parts:
//! method, path, query, host, content type, each `x-amz-` header, and the digest of the body.
//!
//! Other headers are not signed: proxies may change them, and servers often echo the canonical request, which must not
//! have the values of placeholders.

use std::fmt;
use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{
    SignableBody, SignableRequest, SigningParams, SigningSettings, sign as sign_request,
};
use aws_sigv4::sign::v4;
use aws_smithy_runtime_api::client::identity::Identity;
use http::HeaderValue;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderName};
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::output_limits::hex;
use crate::target::RequestTarget;

/// Keys to sign with. `Debug` shows the public part only.
#[derive(Clone)]
pub struct Keys {
    access_key_id: String,
    secret_access_key: Zeroizing<String>,
    session_token: Option<Zeroizing<String>>,
    identity: Identity,
}

impl Keys {
    /// Returns `None` if a part is blank or has characters that no key has.
    pub fn new(access_key_id: &str, secret_access_key: &str, session_token: Option<&str>) -> Option<Self> {
        let parts = [Some(access_key_id), Some(secret_access_key), session_token];
        let is_usable = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_graphic());
        if !parts.into_iter().flatten().all(is_usable) {
            return None;
        }
        let token = session_token.map(str::to_owned);
        let credentials = Credentials::new(access_key_id, secret_access_key, token, None, "machinist");
        Some(Self {
            access_key_id: access_key_id.to_owned(),
            secret_access_key: Zeroizing::new(secret_access_key.to_owned()),
            session_token: session_token.map(|token| Zeroizing::new(token.to_owned())),
            identity: credentials.into(),
        })
    }

    pub fn access_key_id(&self) -> &str {
        &self.access_key_id
    }

    /// The values that no component may see.
    pub(in crate::auth) fn hidden(&self) -> impl Iterator<Item = &[u8]> {
        let token = self.session_token.as_ref().map(|token| token.as_bytes());
        [self.access_key_id.as_bytes(), self.secret_access_key.as_bytes()].into_iter().chain(token)
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("access_key_id", &self.access_key_id).finish_non_exhaustive()
    }
}

/// The service and the region that a signature is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope<'a> {
    pub service: &'a str,
    pub region: &'a str,
}

/// The headers that a request gets besides its own.
#[derive(Clone)]
pub struct Signature {
    headers: Vec<(HeaderName, HeaderValue)>,
    hex: String,
}

impl Signature {
    pub fn apply(&self, headers: &mut HeaderMap) {
        for (name, value) in &self.headers {
            headers.insert(name.clone(), value.clone());
        }
    }

    /// The signature itself, 64 hexadecimal digits. With it the request can be repeated for some minutes.
    pub fn hex(&self) -> &str {
        &self.hex
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signature").finish_non_exhaustive()
    }
}

/// A header that must be signed has characters beyond ASCII.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to sign: a header or the URL has characters that cannot be signed")]
pub struct Unsignable;

/// Signs a request as it is sent.
pub fn sign(
    target: &RequestTarget,
    headers: &HeaderMap,
    body: &[u8],
    keys: &Keys,
    scope: Scope<'_>,
    now: Timestamp,
) -> Result<Signature, Unsignable> {
    // The crate's own trace of a request is not for logs.
    tracing::dispatcher::with_default(&tracing::Dispatch::none(), || {
        signed(target, headers, body, keys, scope, now)
    })
}

fn signed(
    target: &RequestTarget,
    headers: &HeaderMap,
    body: &[u8],
    keys: &Keys,
    scope: Scope<'_>,
    now: Timestamp,
) -> Result<Signature, Unsignable> {
    let authority = target.authority();
    let mut signed = vec![(HOST.as_str(), authority.as_str())];
    for (name, value) in headers.iter().filter(|(name, _)| is_signed(name)) {
        signed.push((name.as_str(), value.to_str().map_err(|_| Unsignable)?));
    }
    let uri = target.uri().map_err(|_| Unsignable)?.to_string();
    let body = SignableBody::Precomputed(hex(&Sha256::digest(body)));
    let request = SignableRequest::new(target.method().as_str(), uri, signed.into_iter(), body)
        .map_err(|_| Unsignable)?;
    let params: SigningParams<'_> = v4::SigningParams::builder()
        .identity(&keys.identity)
        .region(scope.region)
        .name(scope.service)
        .time(SystemTime::from(now))
        .settings(SigningSettings::default())
        .build()
        .map_err(|_| Unsignable)?
        .into();
    let (instructions, hex) = sign_request(request, &params).map_err(|_| Unsignable)?.into_parts();
    let (added, _) = instructions.into_parts();
    let header = |name: &'static str, value: &str| {
        let name = HeaderName::from_static(name);
        let mut value = HeaderValue::from_str(value).map_err(|_| Unsignable)?;
        value.set_sensitive(name == AUTHORIZATION || name == "x-amz-security-token");
        Ok((name, value))
    };
    let headers = added.iter().map(|added| header(added.name(), added.value())).collect::<Result<_, _>>()?;
    Ok(Signature { headers, hex })
}

fn is_signed(name: &HeaderName) -> bool {
    name == CONTENT_TYPE || name.as_str().starts_with("x-amz-")
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;

    const ACCESS: &str = "AKIDEXAMPLE";
    const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

    fn vector(method: &Method, url: &str, headers: &[(&'static str, &'static str)], body: &[u8]) -> String {
        let target = RequestTarget::parse(method, url).unwrap();
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        let keys = Keys::new(ACCESS, SECRET, None).unwrap();
        let scope = Scope { service: "service", region: "us-east-1" };
        let now = "2015-08-30T12:36:00Z".parse().unwrap();
        let signature = sign(&target, &headers, body, &keys, scope, now).unwrap();
        let mut sent = HeaderMap::new();
        signature.apply(&mut sent);
        assert!(sent[AUTHORIZATION].is_sensitive());
        assert_eq!(sent["x-amz-date"], "20150830T123600Z");
        assert!(sent[AUTHORIZATION].to_str().unwrap().ends_with(signature.hex()));
        signature.hex().to_owned()
    }

    /// From the test suite that AWS publishes for Signature Version 4.
    #[test]
    fn published_vectors_have_the_published_signatures() {
        assert_eq!(
            vector(&Method::GET, "https://example.amazonaws.com/", &[], b""),
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
            "get-vanilla"
        );
        assert_eq!(
            vector(&Method::GET, "https://example.amazonaws.com/?Param2=value2&Param1=value1", &[], b""),
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
            "get-vanilla-query-order-key-case"
        );
        assert_eq!(
            vector(&Method::POST, "https://example.amazonaws.com/", &[], b""),
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
            "post-vanilla"
        );
        assert_eq!(
            vector(
                &Method::POST,
                "https://example.amazonaws.com/",
                &[("content-type", "application/x-www-form-urlencoded")],
                b"Param1=value1"
            ),
            "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
            "post-x-www-form-urlencoded"
        );
    }

    #[test]
    fn keys_that_no_cloud_gives_are_none() {
        for (access, secret, token) in [
            ("", "s", None),
            ("a", "", None),
            ("a", "s", Some("")),
            ("a b", "s", None),
            ("a", "s\n", None),
            ("a", "ß", None),
        ] {
            assert!(Keys::new(access, secret, token).is_none());
        }
        let shown = format!("{:?}", Keys::new("a", "secret-secret", Some("token-token")));
        assert!(!shown.contains("secret-secret") && !shown.contains("token-token"), "{shown}");
    }

    #[test]
    fn a_header_beyond_ascii_is_not_signed_and_others_are_left_alone() {
        let target = RequestTarget::parse(&Method::GET, "https://a.com/").unwrap();
        let keys = Keys::new("a", "s", None).unwrap();
        let sign = |name: &'static str| {
            let headers = HeaderMap::from_iter([(
                HeaderName::from_static(name),
                HeaderValue::from_bytes(b"\xfc").unwrap(),
            )]);
            let scope = Scope { service: "ec2", region: "r" };
            sign(&target, &headers, b"", &keys, scope, Timestamp::UNIX_EPOCH).map(|signature| signature.hex)
        };
        assert_eq!(sign("x-amz-target"), Err(Unsignable));
        assert!(sign("x-other").is_ok());
    }
}
