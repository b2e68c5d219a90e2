//! The request to AWS's Security Token Service, and its answer.

use bytes::Bytes;
use http::HeaderValue;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use jiff::Timestamp;
use machinist_core::value::id::PluginName;
use zeroize::Zeroizing;

use super::Keys;
use crate::auth::credential::Holder;
use crate::auth::{AuthReason, Credential, Lease, SchemeError, ServiceAnswer, ServiceRequest, TokenService};
use crate::target::RequestTarget;

/// The longest name of a session.
const SESSION_NAME_BYTES: usize = 64;

/// The reason why an answer with a status of success gives no keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SessionKeysError {
    #[error("its answer is no whole XML document")]
    NotXml,
    #[error("its answer has no complete credentials")]
    Incomplete,
    #[error("its credentials ended at {at}, and the host's clock says {now}: one of both clocks is wrong")]
    Expired { at: Timestamp, now: Timestamp },
}

/// Asks for the keys of a role.
pub(super) struct RoleRequest {
    pub(super) target: RequestTarget,
    pub(super) plugin: PluginName,
    pub(super) role_arn: String,
    pub(super) token_file: String,
    pub(super) token: Zeroizing<String>,
}

impl TokenService for RoleRequest {
    fn target(&self) -> &RequestTarget {
        &self.target
    }

    fn identity(&self) -> Vec<&[u8]> {
        vec![self.role_arn.as_bytes(), self.token_file.as_bytes(), self.token.as_bytes()]
    }

    fn holder(&self) -> Holder {
        Holder::Role(self.role_arn.clone())
    }

    fn field(&self) -> &'static str {
        "sts"
    }

    fn not_granted(&self) -> AuthReason {
        AuthReason::Sts
    }

    fn request(&self, _: Timestamp, _: u128) -> Result<ServiceRequest, SchemeError> {
        let body = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("Action", "AssumeRoleWithWebIdentity")
            .append_pair("Version", "2011-06-15")
            .append_pair("RoleArn", &self.role_arn)
            .append_pair("RoleSessionName", &session_name(&self.plugin))
            .append_pair("WebIdentityToken", &self.token)
            .finish();
        let headers = HeaderMap::from_iter([
            (CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded; charset=utf-8")),
            (ACCEPT, HeaderValue::from_static("text/xml")),
        ]);
        Ok(ServiceRequest { headers, body: Bytes::from(body), hidden: Vec::new() })
    }

    fn read(&self, answer: &ServiceAnswer) -> Result<Lease<Credential>, String> {
        let keys = session_keys(&answer.body, answer.now).map_err(|error| error.to_string())?;
        Ok(keys.map(Credential::Keys))
    }
}

/// Returns the name that the cloud's audit log shows. A plugin has one name.
fn session_name(plugin: &PluginName) -> String {
    let allowed = |character: char| {
        if character.is_ascii_alphanumeric() || "_+=,.@-".contains(character) { character } else { '-' }
    };
    "machinist-".chars().chain(plugin.as_str().chars().map(allowed)).take(SESSION_NAME_BYTES).collect()
}

/// Returns the keys in an answer.
pub(crate) fn session_keys(body: &[u8], now: Timestamp) -> Result<Lease<Keys>, SessionKeysError> {
    let text = std::str::from_utf8(body).map_err(|_| SessionKeysError::NotXml)?;
    let document = roxmltree::Document::parse(text).map_err(|_| SessionKeysError::NotXml)?;
    let credentials = document
        .descendants()
        .find(|node| node.tag_name().name() == "Credentials")
        .filter(|node| {
            node.ancestors().any(|node| node.tag_name().name() == "AssumeRoleWithWebIdentityResult")
        })
        .ok_or(SessionKeysError::Incomplete)?;
    let part = |name: &str| {
        let node = credentials.children().find(|node| node.tag_name().name() == name);
        node.and_then(|node| node.text()).map(str::trim).ok_or(SessionKeysError::Incomplete)
    };
    let keys = Keys::new(part("AccessKeyId")?, part("SecretAccessKey")?, Some(part("SessionToken")?))
        .ok_or(SessionKeysError::Incomplete)?;
    let expires: Timestamp = part("Expiration")?.parse().map_err(|_| SessionKeysError::Incomplete)?;
    Lease::until(keys, expires, now).ok_or(SessionKeysError::Expired { at: expires, now })
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;

    const GOOD: &str = r#"<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
        <AssumeRoleWithWebIdentityResult><SubjectFromWebIdentityToken>s</SubjectFromWebIdentityToken><Credentials>
        <SessionToken>TOKEN==</SessionToken><SecretAccessKey>SECRET</SecretAccessKey>
        <Expiration>2026-03-01T13:00:00Z</Expiration><AccessKeyId>ASIA1</AccessKeyId>
        </Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"#;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn keys_are_renewed_before_they_end() {
        let got = session_keys(GOOD.as_bytes(), at("2026-03-01T12:00:00Z")).unwrap();
        assert_eq!(got.value.access_key_id(), "ASIA1");
        assert!(got.is_fresh(at("2026-03-01T12:54:59Z")) && !got.is_fresh(at("2026-03-01T12:55:00Z")));
        assert!(got.is_usable(at("2026-03-01T12:59:29Z")) && !got.is_usable(at("2026-03-01T12:59:30Z")));
        let short = session_keys(GOOD.as_bytes(), at("2026-03-01T12:58:00Z")).unwrap();
        assert!(short.is_fresh(at("2026-03-01T12:58:59Z")) && !short.is_fresh(at("2026-03-01T12:59:00Z")));
    }

    #[track_caller]
    fn refused(body: &str, expected: SessionKeysError) {
        let now = at("2026-03-01T12:00:00Z");
        assert_eq!(session_keys(body.as_bytes(), now).err(), Some(expected), "{body}");
    }

    #[test]
    fn an_answer_that_gives_no_keys_is_not_believed() {
        refused("", SessionKeysError::NotXml);
        refused("<html><body>502 Bad Gateway<br></html>", SessionKeysError::NotXml);
        refused("<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>", SessionKeysError::NotXml);
        for cut in [10, 100, 300, GOOD.len() - 3] {
            refused(&GOOD[..cut], SessionKeysError::NotXml);
        }
        refused("<html><body/></html>", SessionKeysError::Incomplete);
        refused(&GOOD.replace("AccessKeyId", "Other"), SessionKeysError::Incomplete);
        refused(&GOOD.replace("TOKEN==", " "), SessionKeysError::Incomplete);
        refused(&GOOD.replace("2026-03-01T13:00:00Z", "tomorrow"), SessionKeysError::Incomplete);
        refused(&GOOD.replace("WithWebIdentityResult", "Result"), SessionKeysError::Incomplete);
        assert_eq!(session_keys(b"\xff", at("2026-03-01T12:00:00Z")).err(), Some(SessionKeysError::NotXml));
    }

    #[test]
    fn keys_that_ended_before_they_came_are_not_believed() {
        let now = at("2026-03-01T14:00:00Z");
        let error = session_keys(GOOD.as_bytes(), now).unwrap_err();
        assert_eq!(error, SessionKeysError::Expired { at: at("2026-03-01T13:00:00Z"), now });
    }

    #[test]
    fn the_session_is_named_after_the_plugin() {
        assert_eq!(session_name(&"aws".into()), "machinist-aws");
        assert_eq!(session_name(&"a/b c".into()), "machinist-a-b-c");
        assert_eq!(session_name(&"x".repeat(100).into()).len(), 64);
        let target = RequestTarget::parse(&Method::POST, "https://sts.example.com/").unwrap();
        let role = RoleRequest {
            target,
            plugin: "aws".into(),
            role_arn: "arn:aws:iam::1:role/r+x".to_owned(),
            token_file: "/run/t/token".to_owned(),
            token: "a.b-c_d=".to_owned().into(),
        };
        let sent = role.request(Timestamp::UNIX_EPOCH, 0).unwrap();
        assert_eq!(
            std::str::from_utf8(&sent.body).unwrap(),
            "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr%2Bx&\
             RoleSessionName=machinist-aws&WebIdentityToken=a.b-c_d%3D"
        );
    }
}
