//! The text of the schemes whose tokens a service gives.

use serde::Deserialize;

use super::{names, scopes};
use crate::grants::{
    AssertionKey, ClientAuth, ClientCredentialsGrant, Error, JwtBearerGrant, KeystoneGrant, KeystoneKeys,
    TokenUrl,
};

/// Where Google exchanges assertions.
const GOOGLE: &str = "https://oauth2.googleapis.com/token";

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawClientCredentials {
    token_url: String,
    scopes: Option<Vec<String>>,
    client_auth: Option<String>,
    #[serde(default)]
    keys: RawClientKeys,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct RawClientKeys {
    client_id: Option<Vec<String>>,
    client_secret: Option<Vec<String>>,
}

pub(super) fn client_credentials(
    raw: RawClientCredentials,
    at: &str,
) -> Result<ClientCredentialsGrant, Error> {
    let client_auth = match raw.client_auth {
        None => ClientAuth::Basic,
        Some(name) => ClientAuth::ALL.into_iter().find(|way| way.name() == name).ok_or_else(|| {
            let known = ClientAuth::ALL.map(ClientAuth::name).join(", ");
            Error::invalid(format!("{at}.client-auth"), format!("{name:?} is none of {known}"))
        })?,
    };
    Ok(ClientCredentialsGrant {
        token_url: url(&raw.token_url, at, "token-url")?,
        scopes: scopes(raw.scopes, at)?,
        client_auth,
        client_id_keys: names(raw.keys.client_id, at, "client-id", &["clientID", "clientId"])?,
        client_secret_keys: names(raw.keys.client_secret, at, "client-secret", &["clientSecret"])?,
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawJwtBearer {
    token_url: Option<String>,
    audience: Option<String>,
    scopes: Option<Vec<String>>,
    #[serde(default)]
    keys: RawAssertionKeys,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct RawAssertionKeys {
    service_account: Option<Vec<String>>,
    private_key: Option<Vec<String>>,
    issuer: Option<Vec<String>>,
    key_id: Option<Vec<String>>,
}

pub(super) fn jwt_bearer(raw: RawJwtBearer, at: &str) -> Result<JwtBearerGrant, Error> {
    if raw.audience.as_deref().is_some_and(|audience| audience.trim().is_empty()) {
        return Err(Error::invalid(format!("{at}.audience"), "is empty: leave it out for the token URL"));
    }
    Ok(JwtBearerGrant {
        token_url: url(raw.token_url.as_deref().unwrap_or(GOOGLE), at, "token-url")?,
        audience: raw.audience,
        scopes: scopes(raw.scopes, at)?,
        key: assertion_key(raw.keys, at)?,
    })
}

fn assertion_key(raw: RawAssertionKeys, at: &str) -> Result<AssertionKey, Error> {
    match raw {
        RawAssertionKeys { service_account, private_key: None, issuer: None, key_id: None } => {
            names(service_account, at, "service-account", &["serviceAccountJSON"])
                .map(AssertionKey::ServiceAccount)
        }
        RawAssertionKeys { service_account: None, private_key: Some(key), issuer: Some(issuer), key_id } => {
            Ok(AssertionKey::Pem {
                private_key: names(Some(key), at, "private-key", &[])?,
                issuer: names(Some(issuer), at, "issuer", &[])?,
                key_id: key_id.map_or(Ok(Vec::new()), |raw| names(Some(raw), at, "key-id", &[]))?,
            })
        }
        RawAssertionKeys { .. } => Err(Error::invalid(
            format!("{at}.keys"),
            "must be either service-account, or private-key with issuer (and key-id)",
        )),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawKeystone {
    url: Option<String>,
    #[serde(default)]
    keys: RawKeystoneKeys,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct RawKeystoneKeys {
    auth_url: Option<Vec<String>>,
    username: Option<Vec<String>>,
    password: Option<Vec<String>>,
    user_domain_id: Option<Vec<String>>,
    user_domain_name: Option<Vec<String>>,
    project_id: Option<Vec<String>>,
    project_name: Option<Vec<String>>,
    project_domain_id: Option<Vec<String>>,
    project_domain_name: Option<Vec<String>>,
    application_credential_id: Option<Vec<String>>,
    application_credential_name: Option<Vec<String>>,
    application_credential_secret: Option<Vec<String>>,
}

pub(super) fn keystone(raw: RawKeystone, at: &str) -> Result<KeystoneGrant, Error> {
    let RawKeystone { url: text, keys } = raw;
    let keys = KeystoneKeys {
        auth_url: names(keys.auth_url, at, "auth-url", &["authURL"])?,
        username: names(keys.username, at, "username", &["username"])?,
        password: names(keys.password, at, "password", &["password"])?,
        user_domain_id: names(keys.user_domain_id, at, "user-domain-id", &["userDomainID", "domainID"])?,
        user_domain_name: names(
            keys.user_domain_name,
            at,
            "user-domain-name",
            &["userDomainName", "domainName"],
        )?,
        project_id: names(keys.project_id, at, "project-id", &["tenantID"])?,
        project_name: names(keys.project_name, at, "project-name", &["tenantName"])?,
        project_domain_id: names(keys.project_domain_id, at, "project-domain-id", &["domainID"])?,
        project_domain_name: names(keys.project_domain_name, at, "project-domain-name", &["domainName"])?,
        application_credential_id: names(
            keys.application_credential_id,
            at,
            "application-credential-id",
            &["applicationCredentialID"],
        )?,
        application_credential_name: names(
            keys.application_credential_name,
            at,
            "application-credential-name",
            &["applicationCredentialName"],
        )?,
        application_credential_secret: names(
            keys.application_credential_secret,
            at,
            "application-credential-secret",
            &["applicationCredentialSecret"],
        )?,
    };
    Ok(KeystoneGrant { url: text.as_deref().map(|text| url(text, at, "url")).transpose()?, keys })
}

fn url(text: &str, at: &str, field: &str) -> Result<TokenUrl, Error> {
    TokenUrl::parse(text).map_err(|problem| Error::invalid(format!("{at}.{field}"), problem))
}
