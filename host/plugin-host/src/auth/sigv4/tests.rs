//! Default keys, and the keys that a Secret gives.

use std::collections::BTreeMap;
use std::path::Path;

use machinist_core::driver::SecretValues;

use super::*;
use crate::auth::Mark;
use crate::grants::Grants;
use crate::vault::Vault;

#[track_caller]
fn check(grants: &str, values: &[(&str, &str)], expected: Result<&str, AuthReason>) {
    let grants = Grants::parse(grants).unwrap().shared();
    let values: BTreeMap<_, _> =
        values.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect();
    let vault = Vault::new(SecretValues { values, ..SecretValues::default() }, grants.clone());
    let scope = SigningScope { service: "ec2".to_owned(), region: "eu-west-1".to_owned() };
    let source = grants.auth()[0].source(
        &Mark::AwsSigV4(scope),
        SecretReader(&|key| vault.credential(key)),
        &"aws".into(),
    );
    let source = match source {
        Ok(CredentialSource::Secret(credential, _)) => {
            let parts: Vec<_> = credential.hidden().into_iter().map(String::from_utf8_lossy).collect();
            Ok(parts.join(" "))
        }
        Ok(CredentialSource::File(exchange)) => {
            let service = (exchange.service)("token".to_owned().into());
            let Holder::Role(role_arn) = service.holder() else { panic!("another holder") };
            Ok(format!("{role_arn} {}", exchange.path))
        }
        Ok(CredentialSource::Service(_)) => panic!("another source"),
        Err(SchemeError::Refused(reason)) => Err(reason),
        Err(error) => panic!("{error:?}"),
    };
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
    let unnamed = "auth: [{ scheme: aws-sigv4, services: [ec2], web-identity: { token-files: [/run/t] } }]";
    check(unnamed, &asks("arn:aws:iam::1:role/r"), Err(AuthReason::Role));
}

#[test]
fn defaults_are_the_keys_that_are_known_from_mcm() {
    let raw = "{ services: [ec2], regions: [eu-*], web-identity: { token-files: [/var/run/secrets/, /run/tokens] } }";
    let raw = serde_yaml_ng::from_str(raw).unwrap();
    let grant = SigV4Grant::parse(raw, &Regions::parse(None).unwrap(), "auth[0]").unwrap();
    assert_eq!(grant.keys.access_key_id, ["providerAccessKeyId", "accessKeyID"]);
    assert_eq!(grant.keys.secret_access_key, ["providerSecretAccessKey", "secretAccessKey"]);
    assert_eq!(grant.keys.session_token, ["providerSessionToken", "sessionToken"]);
    let web = grant.web_identity.as_ref().unwrap();
    let keys = (web.token_file_key.as_str(), web.role_arn_key.as_str());
    assert_eq!(keys, ("workloadIdentityTokenFile", "roleARN"));
    let target = web.sts.target("eu-west-1").unwrap();
    assert_eq!(target.to_string(), "POST https://sts.eu-west-1.amazonaws.com:443/");
    let covers = |path: &str| web.token_files.iter().any(|prefix| prefix.covers(Path::new(path)));
    assert!(covers("/var/run/secrets/aws/token") && covers("/run/tokens/a"));
    assert!(!covers("/var/run/secrets") && !covers("/var/run/secretsx/a") && !covers("/run/tokensx"));
    let scope = SigningScope { service: "ec2".to_owned(), region: "eu-".to_owned() };
    assert_eq!(grant.denial(&scope), None);
}
