//! STS: web-identity tokens become sessions. Served by the proxy itself, so that sessions can be verified and expire.

use jiff::{SignedDuration, Timestamp};

use crate::answer::AwsError;
use crate::form::Form;
use crate::moto::accounts::{Accounts, IdentityToken};
use crate::xml::escaped;

/// The only action, which nobody signs.
pub(crate) const ASSUME: &str = "AssumeRoleWithWebIdentity";
const VERSION: &str = "2011-06-15";
/// The default duration of a session.
const USUAL_SECONDS: i64 = 3600;

/// The body of the answer to `AssumeRoleWithWebIdentity`.
pub(crate) fn assume_role(
    form: &Form,
    accounts: &mut Accounts,
    now: Timestamp,
    random: [u64; 3],
    request_id: &str,
) -> Result<String, AwsError> {
    let need = |name: &str| {
        form.get(name).filter(|value| !value.is_empty()).ok_or_else(|| {
            AwsError::new(
                "ValidationError",
                format!("1 validation error detected: '{name}' must not be null"),
            )
        })
    };
    if form.get("Version") != Some(VERSION) {
        return Err(AwsError::new(
            "InvalidAction",
            format!("Could not find operation {ASSUME} of this version"),
        ));
    }
    let (role, session, token) = (need("RoleArn")?, need("RoleSessionName")?, need("WebIdentityToken")?);
    ensure_session_name(session)?;
    match accounts.identity_tokens.get(token) {
        Some(IdentityToken::Valid) => {}
        Some(IdentityToken::Expired) => {
            return Err(AwsError::new(
                "ExpiredTokenException",
                "Token expired: current date must be before it",
            ));
        }
        None => {
            return Err(AwsError::new(
                "InvalidIdentityToken",
                "No OpenIDConnect provider accepts this token",
            ));
        }
    }
    let Some(account) = accounts.roles.get(role).cloned() else {
        return Err(AwsError::new("AccessDenied", format!("Not authorized to perform sts:{ASSUME}")));
    };
    let asked = form.get("DurationSeconds").and_then(|seconds| seconds.parse().ok()).unwrap_or(USUAL_SECONDS);
    let lifetime = accounts.session_lifetime.unwrap_or_else(|| SignedDuration::from_secs(asked));
    let expires = now.checked_add(lifetime).unwrap_or(Timestamp::MAX);
    let issued = accounts.issue(&account, expires, random);
    Ok(format!(
        "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/{VERSION}/\">\n  \
         <AssumeRoleWithWebIdentityResult>\n    <SubjectFromWebIdentityToken>tests</SubjectFromWebIdentityToken>\n    \
         <Audience>sts.amazonaws.com</Audience>\n    <AssumedRoleUser>\n      <Arn>{role}/{session}</Arn>\n      \
         <AssumedRoleId>AROATESTS:{session}</AssumedRoleId>\n    </AssumedRoleUser>\n    <Credentials>\n      \
         <AccessKeyId>{}</AccessKeyId>\n      <SecretAccessKey>{}</SecretAccessKey>\n      \
         <SessionToken>{}</SessionToken>\n      <Expiration>{}</Expiration>\n    </Credentials>\n  \
         </AssumeRoleWithWebIdentityResult>\n  <ResponseMetadata>\n    <RequestId>{request_id}</RequestId>\n  \
         </ResponseMetadata>\n</AssumeRoleWithWebIdentityResponse>\n",
        issued.access_key_id,
        issued.secret_access_key,
        issued.session_token.unwrap_or_default(),
        expires.strftime("%Y-%m-%dT%H:%M:%SZ"),
        role = escaped(role),
        session = escaped(session),
    ))
}

/// 2 to 64 characters of those that STS allows.
fn ensure_session_name(name: &str) -> Result<(), AwsError> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "_+=,.@-".contains(c);
    if (2..=64).contains(&name.len()) && name.chars().all(is_allowed) {
        return Ok(());
    }
    Err(AwsError::new(
        "ValidationError",
        "1 validation error detected: 'roleSessionName' must have 2 to 64 of the characters [\\w+=,.@-]",
    ))
}
