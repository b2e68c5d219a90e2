//! Where the keys to sign with come from, as the Secret says.

use super::secret::{one, optional, text};
use super::sigv4::Keys;
use crate::egress::failure::AuthReason;
use crate::grants::{SigV4Grant, WebIdentityGrant};
use crate::vault::Vault;

/// What the Secret offers.
pub(super) enum Source<'a> {
    /// Keys that stand in it.
    Static(Keys),
    /// A role, and a file whose content is exchanged for its keys.
    WebIdentity(WebIdentity<'a>),
}

pub(super) struct WebIdentity<'a> {
    pub(super) grant: &'a WebIdentityGrant,
    pub(super) role_arn: String,
    pub(super) token_file: String,
}

impl<'a> Source<'a> {
    /// Web identity where the Secret asks for it, else static keys. Of several names the first that is present counts,
    /// blanks around a value do not, and a blank value is missing: nothing else is tried.
    pub(super) fn of(vault: &Vault, grant: &'a SigV4Grant) -> Result<Self, AuthReason> {
        let wants_web_identity =
            grant.web_identity().map_or(WebIdentityGrant::TOKEN_FILE_KEY, |web| web.token_file_key());
        if let Some(token_file) = vault.credential(wants_web_identity) {
            let grant = grant.web_identity().ok_or(AuthReason::WebIdentity)?;
            let role_arn = one(vault, &[grant.role_arn_key().to_owned()])?.to_string();
            let token_file = text(&token_file).ok_or(AuthReason::Keys)?.to_string();
            // The token is the host's: who writes Secrets could take each role that trusts it.
            if !grant.roles().iter().any(|role| role.matches(&role_arn)) {
                return Err(AuthReason::Role);
            }
            return Ok(Self::WebIdentity(WebIdentity { grant, role_arn, token_file }));
        }
        let names = grant.keys();
        // An empty entry beside long-lived keys is common.
        let session_token = optional(vault, &names.session_token)?;
        let access_key_id = one(vault, &names.access_key_id)?;
        let secret_access_key = one(vault, &names.secret_access_key)?;
        Keys::new(&access_key_id, &secret_access_key, session_token.as_deref().map(String::as_str))
            .map(Self::Static)
            .ok_or(AuthReason::Keys)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use machinist_core::driver::SecretValues;

    use super::*;
    use crate::grants::{AuthWay, Grants};

    #[track_caller]
    fn check(grants: &str, values: &[(&str, &str)], expected: Result<&str, AuthReason>) {
        let grants = Grants::parse(grants).unwrap().shared();
        let values: BTreeMap<_, _> =
            values.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect();
        let vault = Vault::new(SecretValues { values, ..SecretValues::default() }, grants.clone());
        let AuthWay::AwsSigV4(grant) = grants.auth()[0].way() else { panic!("another scheme") };
        let source = Source::of(&vault, grant).map(|source| match source {
            Source::Static(keys) => {
                let parts: Vec<_> = keys.hidden().map(String::from_utf8_lossy).collect();
                parts.join(" ")
            }
            Source::WebIdentity(web) => format!("{} {}", web.role_arn, web.token_file),
        });
        assert_eq!(source.as_deref(), expected.as_ref().copied());
    }

    const STATIC: &str = "auth: [{ scheme: aws-sigv4, services: [ec2] }]";
    const WEB: &str = "auth: [{ scheme: aws-sigv4, services: [ec2], web-identity: { token-files: [/run/t], \
         role-arns: ['arn:aws:iam::1:role/r'] } }]";

    #[test]
    fn the_first_key_that_is_present_wins_and_blanks_are_trimmed() {
        let new = [("providerAccessKeyId", " A1\n"), ("providerSecretAccessKey", "S1\n")];
        let old = [("accessKeyID", "A2"), ("secretAccessKey", "S2")];
        check(STATIC, &new, Ok("A1 S1"));
        check(STATIC, &old, Ok("A2 S2"));
        check(STATIC, &[&new[..], &old[..]].concat(), Ok("A1 S1"));
        check(STATIC, &[&old[..], &[("sessionToken", "T")]].concat(), Ok("A2 S2 T"));
        check(STATIC, &[&old[..], &[("sessionToken", " ")]].concat(), Ok("A2 S2"));
    }

    #[test]
    fn a_blank_key_is_missing_and_nothing_takes_its_place() {
        check(STATIC, &[], Err(AuthReason::Keys));
        check(STATIC, &[("accessKeyID", "A")], Err(AuthReason::Keys));
        check(STATIC, &[("accessKeyID", " \n"), ("secretAccessKey", "S")], Err(AuthReason::Keys));
        let filled_alias = [("providerAccessKeyId", ""), ("accessKeyID", "A"), ("secretAccessKey", "S")];
        check(STATIC, &filled_alias, Err(AuthReason::Keys));
        check(STATIC, &[("accessKeyID", "A\u{7}"), ("secretAccessKey", "S")], Err(AuthReason::Keys));
    }

    #[test]
    fn web_identity_comes_before_static_keys() {
        let both = [
            ("workloadIdentityTokenFile", " /run/t/token "),
            ("roleARN", "arn:aws:iam::1:role/r\n"),
            ("accessKeyID", "A"),
            ("secretAccessKey", "S"),
        ];
        check(WEB, &both, Ok("arn:aws:iam::1:role/r /run/t/token"));
        check(STATIC, &both, Err(AuthReason::WebIdentity));
        check(WEB, &both[2..], Ok("A S"));
        check(WEB, &[both[0], both[2], both[3]], Err(AuthReason::Keys));
        check(WEB, &[("workloadIdentityTokenFile", " "), both[1], both[2], both[3]], Err(AuthReason::Keys));
    }
    #[test]
    fn attack_a_secret_asks_for_a_role_that_nobody_granted() {
        let asks = |role| [("workloadIdentityTokenFile", "/run/t/token"), ("roleARN", role)];
        for role in ["arn:aws:iam::1:role/admin", "arn:aws:iam::2:role/r", "arn:aws:iam::1:role/r2", "r"] {
            check(WEB, &asks(role), Err(AuthReason::Role));
        }
        let unnamed =
            "auth: [{ scheme: aws-sigv4, services: [ec2], web-identity: { token-files: [/run/t] } }]";
        check(unnamed, &asks("arn:aws:iam::1:role/r"), Err(AuthReason::Role));
    }
}
