//! The text of `aws-sigv4`.

use serde::Deserialize;

use super::names;
use crate::grants::target::regions::Regions;
use crate::grants::{
    Error, FilePrefix, KeyNames, NamePattern, RolePattern, SigV4Grant, StsUrl, WebIdentityGrant, is_name,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawSigV4 {
    services: Vec<String>,
    regions: Option<Vec<String>>,
    #[serde(default)]
    keys: RawKeyNames,
    web_identity: Option<RawWebIdentity>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct RawKeyNames {
    access_key_id: Option<Vec<String>>,
    secret_access_key: Option<Vec<String>>,
    session_token: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawWebIdentity {
    token_file_key: Option<String>,
    role_arn_key: Option<String>,
    token_files: Vec<String>,
    #[serde(default)]
    role_arns: Vec<String>,
    sts: Option<String>,
}

pub(super) fn grant(raw: RawSigV4, known: &Regions, at: &str) -> Result<SigV4Grant, Error> {
    Ok(SigV4Grant {
        services: services(raw.services, &format!("{at}.services"))?,
        regions: regions(raw.regions, known, &format!("{at}.regions"))?,
        keys: keys(raw.keys, at)?,
        web_identity: raw
            .web_identity
            .map(|web| web_identity(web, &format!("{at}.web-identity")))
            .transpose()?,
    })
}

fn services(raw: Vec<String>, at: &str) -> Result<Vec<String>, Error> {
    if raw.is_empty() {
        return Err(Error::invalid(at, "names no service"));
    }
    for service in &raw {
        if !is_name(service) {
            let problem = format!("{service:?} is no service: small letters, digits and - only");
            return Err(Error::invalid(at, problem));
        }
        // It signs the body's digest as a header and the path as it is; no machine driver needs it.
        if service == "s3" {
            return Err(Error::invalid(
                at,
                "s3 has rules of its own for signing, which the host does not know",
            ));
        }
    }
    Ok(raw)
}

fn regions(raw: Option<Vec<String>>, known: &Regions, at: &str) -> Result<Vec<NamePattern>, Error> {
    let Some(raw) = raw else { return Ok(vec![NamePattern::any()]) };
    if raw.is_empty() {
        return Err(Error::invalid(at, "names no region: leave it out for all"));
    }
    let one = |text: &String| {
        NamePattern::parse(text).ok_or_else(|| {
            Error::invalid(at, format!("{text:?} is no region: small letters, digits, - and at most one *"))
        })
    };
    known.fill(raw, at)?.iter().map(one).collect()
}

fn keys(raw: RawKeyNames, at: &str) -> Result<KeyNames, Error> {
    Ok(KeyNames {
        access_key_id: names(
            raw.access_key_id,
            at,
            "access-key-id",
            &["providerAccessKeyId", "accessKeyID"],
        )?,
        secret_access_key: names(
            raw.secret_access_key,
            at,
            "secret-access-key",
            &["providerSecretAccessKey", "secretAccessKey"],
        )?,
        session_token: names(
            raw.session_token,
            at,
            "session-token",
            &["providerSessionToken", "sessionToken"],
        )?,
    })
}

fn web_identity(raw: RawWebIdentity, at: &str) -> Result<WebIdentityGrant, Error> {
    let key = |raw: Option<String>, field: &str, default: &str| {
        let key = raw.unwrap_or_else(|| default.to_owned());
        if key.is_empty() { Err(Error::invalid(format!("{at}.{field}"), "is empty")) } else { Ok(key) }
    };
    let place = format!("{at}.token-files");
    if raw.token_files.is_empty() {
        return Err(Error::invalid(place, "names no folder that tokens may be read from"));
    }
    let prefix = |text: &String| FilePrefix::parse(text).map_err(|problem| Error::invalid(&place, problem));
    Ok(WebIdentityGrant {
        token_file_key: key(raw.token_file_key, "token-file-key", WebIdentityGrant::TOKEN_FILE_KEY)?,
        role_arn_key: key(raw.role_arn_key, "role-arn-key", WebIdentityGrant::ROLE_ARN_KEY)?,
        roles: roles(&raw.role_arns, &format!("{at}.role-arns"))?,
        token_files: raw.token_files.iter().map(prefix).collect::<Result<_, _>>()?,
        sts: StsUrl::parse(raw.sts.as_deref().unwrap_or(StsUrl::DEFAULT))
            .map_err(|problem| Error::invalid(format!("{at}.sts"), problem))?,
    })
}

fn roles(raw: &[String], at: &str) -> Result<Vec<RolePattern>, Error> {
    raw.iter().map(|text| RolePattern::parse(text).map_err(|problem| Error::invalid(at, problem))).collect()
}
