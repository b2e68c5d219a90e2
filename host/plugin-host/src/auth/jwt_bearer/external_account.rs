//! An external account of Google (workload identity federation): the host exchanges a token file for an access token,
//! which may then stand for a service account.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use http::{HeaderValue, Method};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;
use url::form_urlencoded::Serializer;
use zeroize::Zeroizing;

use crate::auth::credential::token_file::FilePrefix;
use crate::auth::credential::{CredentialHeader, Holder};
use crate::auth::grant::{folders, folders_beyond, joined, not, patterns, unless};
use crate::auth::oauth::{Scopes, TokenUrl, access_token, form_headers, name_patterns};
use crate::auth::{
    AuthReason, Credential, FileExchange, Lease, SchemeError, ServiceAnswer, ServiceRequest, TokenService,
};
use crate::target::{Error, NamePattern, RequestTarget};

const STS: &str = "https://sts.googleapis.com/v1/token";
const SERVICE_ACCOUNTS: &str = "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/";
const JWT: &str = "urn:ietf:params:oauth:token-type:jwt";
/// The scope of a token with which the host asks for one of a service account.
const CLOUD_PLATFORM: &str = "https://www.googleapis.com/auth/cloud-platform";
/// Behind the name of a service account.
const GENERATE: &str = ":generateAccessToken";

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawWorkloadIdentity {
    token_files: Vec<String>,
    audiences: Vec<String>,
    #[serde(default)]
    service_accounts: Vec<String>,
    sts: Option<String>,
    impersonation: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkloadIdentityGrant {
    /// The folders below which the file may lie; never empty.
    token_files: Vec<FilePrefix>,
    /// The token is the host's, so the grants name the pools that it may be shown to.
    audiences: Vec<NamePattern>,
    /// The accounts that a Secret may ask for; empty means none.
    service_accounts: Vec<NamePattern>,
    sts: TokenUrl,
    /// Before the name of a service account.
    impersonation: TokenUrl,
}

/// The document in the Secret, as Google gives it. Fields that are not here do not count.
#[derive(Deserialize)]
struct ExternalAccount {
    audience: String,
    subject_token_type: String,
    token_url: String,
    credential_source: TokenFileSource,
    service_account_impersonation_url: Option<String>,
}

#[derive(Deserialize)]
struct TokenFileSource {
    file: String,
}

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    kind: String,
}

/// The reason why the document is of no use. No text quotes the Secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum DocumentError {
    #[error(
        "the external account in the Secret is no JSON with audience, subject_token_type, token_url and credential_source.file: put the file in as it was downloaded"
    )]
    Incomplete,
    #[error(
        "the external account in the Secret has another subject_token_type than {JWT}: make one for a token file"
    )]
    TokenType,
    #[error("the external account in the Secret has another token_url than sts in the plugin's grants")]
    Sts,
    #[error(
        "service_account_impersonation_url in the Secret is not the URL of a service account below impersonation in the plugin's grants"
    )]
    Impersonation,
}

impl From<DocumentError> for SchemeError {
    fn from(error: DocumentError) -> Self {
        Self::Unusable { message: "an external account of a Secret cannot be used", error: error.to_string() }
    }
}

/// Whether the document describes an external account.
pub(super) fn is_external_account(document: &str) -> bool {
    serde_json::from_str::<Kind>(document).is_ok_and(|document| document.kind == "external_account")
}

impl WorkloadIdentityGrant {
    pub(super) fn parse(raw: RawWorkloadIdentity, at: &str) -> Result<Self, Error> {
        if raw.audiences.is_empty() {
            return Err(Error::invalid(
                format!("{at}.audiences"),
                "names no pool that the token may be shown to",
            ));
        }
        let url = |text: Option<String>, default: &str, field: &str| {
            TokenUrl::of_field(text.as_deref().unwrap_or(default), at, field)
        };
        let impersonation = url(raw.impersonation, SERVICE_ACCOUNTS, "impersonation")?;
        if !impersonation.to_string().ends_with('/') {
            return Err(Error::invalid(format!("{at}.impersonation"), "does not end with /"));
        }
        Ok(Self {
            token_files: folders(&raw.token_files, &format!("{at}.token-files"))?,
            audiences: name_patterns(&raw.audiences, &format!("{at}.audiences"), "audience")?,
            service_accounts: name_patterns(
                &raw.service_accounts,
                &format!("{at}.service-accounts"),
                "service account",
            )?,
            sts: url(raw.sts, STS, "sts")?,
            impersonation,
        })
    }

    pub(super) fn beyond(&self, ceiling: &Self) -> Option<String> {
        unless(self.sts == ceiling.sts, || not(&self.sts))
            .or_else(|| unless(self.impersonation == ceiling.impersonation, || not(&self.impersonation)))
            .or_else(|| folders_beyond(&self.token_files, &ceiling.token_files))
            .or_else(|| patterns("audience", &self.audiences, &ceiling.audiences))
            .or_else(|| patterns("service account", &self.service_accounts, &ceiling.service_accounts))
    }

    pub(super) fn summary(&self) -> String {
        let accounts =
            if self.service_accounts.is_empty() { "none".to_owned() } else { joined(&self.service_accounts) };
        format!("; token files by {}; service accounts {accounts}", self.sts)
    }

    /// Returns the exchange of the token in the file that the document names.
    pub(super) fn exchange(
        &self,
        document: &str,
        key: String,
        scopes: &Scopes,
    ) -> Result<FileExchange, SchemeError> {
        let account: ExternalAccount =
            serde_json::from_str(document).map_err(|_| DocumentError::Incomplete)?;
        if account.subject_token_type != JWT {
            return Err(DocumentError::TokenType.into());
        }
        if account.token_url != self.sts.to_string() {
            return Err(DocumentError::Sts.into());
        }
        if !self.audiences.iter().any(|pattern| pattern.matches(&account.audience)) {
            return Err(AuthReason::Role.into());
        }
        let impersonated = account.service_account_impersonation_url;
        let impersonated = impersonated.map(|url| self.impersonated(&url, scopes)).transpose()?;
        let target =
            RequestTarget::parse(&Method::POST, &account.token_url).map_err(|_| SchemeError::Target)?;
        let scope = if impersonated.is_some() { CLOUD_PLATFORM.to_owned() } else { scopes.joined() };
        let audience = account.audience;
        let service = move |token: Zeroizing<String>| -> Box<dyn TokenService> {
            Box::new(TokenExchange { target, audience, scope, impersonated, token })
        };
        Ok(FileExchange {
            key,
            path: account.credential_source.file,
            folders: self.token_files.clone(),
            service: Box::new(service),
        })
    }

    fn impersonated(&self, url: &str, scopes: &Scopes) -> Result<Impersonated, SchemeError> {
        let account = url
            .strip_prefix(&self.impersonation.to_string())
            .and_then(|rest| rest.strip_suffix(GENERATE))
            .filter(|account| is_account(account))
            .ok_or(DocumentError::Impersonation)?;
        if !self.service_accounts.iter().any(|pattern| pattern.matches(account)) {
            return Err(AuthReason::Role.into());
        }
        let target = RequestTarget::parse(&Method::POST, url).map_err(|_| DocumentError::Impersonation)?;
        let scopes = if scopes.0.is_empty() { vec![CLOUD_PLATFORM.to_owned()] } else { scopes.0.clone() };
        Ok(Impersonated { target, account: account.to_owned(), scopes })
    }
}

/// A name or number of a service account, which changes no URL.
fn is_account(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.@".contains(&byte))
}

/// A service account whose token the host asks for with the first one.
#[derive(Clone)]
struct Impersonated {
    target: RequestTarget,
    account: String,
    scopes: Vec<String>,
}

/// Exchanges the token of the file (RFC 8693).
struct TokenExchange {
    target: RequestTarget,
    audience: String,
    scope: String,
    impersonated: Option<Impersonated>,
    token: Zeroizing<String>,
}

impl TokenService for TokenExchange {
    fn target(&self) -> &RequestTarget {
        &self.target
    }

    fn identity(&self) -> Vec<&[u8]> {
        let mut parts = vec![self.audience.as_bytes(), self.scope.as_bytes(), self.token.as_bytes()];
        if let Some(impersonated) = &self.impersonated {
            parts.push(impersonated.account.as_bytes());
            parts.extend(impersonated.scopes.iter().map(String::as_bytes));
        }
        parts
    }

    fn holder(&self) -> Holder {
        let account = self.impersonated.as_ref().map(|impersonated| impersonated.account.clone());
        Holder::Role(account.unwrap_or_else(|| self.audience.clone()))
    }

    fn field(&self) -> &'static str {
        "sts"
    }

    fn not_granted(&self) -> AuthReason {
        AuthReason::Sts
    }

    fn request(&self, _: Timestamp, _: u128) -> Result<ServiceRequest, SchemeError> {
        let body = Serializer::new(String::new())
            .append_pair("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange")
            .append_pair("requested_token_type", "urn:ietf:params:oauth:token-type:access_token")
            .append_pair("subject_token_type", JWT)
            .append_pair("subject_token", &self.token)
            .append_pair("audience", &self.audience)
            .append_pair("scope", &self.scope)
            .finish();
        Ok(ServiceRequest { headers: form_headers(), body: Bytes::from(body), hidden: Vec::new() })
    }

    fn read(&self, answer: &ServiceAnswer) -> Result<Lease<Credential>, String> {
        access_token(&answer.body, answer.now).map_err(|error| error.to_string())
    }

    fn next(&self, lease: &Lease<Credential>) -> Option<Box<dyn TokenService>> {
        let Credential::Header(header) = &lease.value else { return None };
        let impersonated = self.impersonated.clone()?;
        Some(Box::new(Impersonation { impersonated, header: header.clone() }))
    }
}

/// Asks for a token of a service account.
struct Impersonation {
    impersonated: Impersonated,
    header: CredentialHeader,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AccountToken {
    access_token: String,
    expire_time: Timestamp,
}

impl TokenService for Impersonation {
    fn target(&self) -> &RequestTarget {
        &self.impersonated.target
    }

    fn identity(&self) -> Vec<&[u8]> {
        vec![self.header.hidden()]
    }

    fn holder(&self) -> Holder {
        Holder::Role(self.impersonated.account.clone())
    }

    fn field(&self) -> &'static str {
        "impersonation"
    }

    fn not_granted(&self) -> AuthReason {
        AuthReason::Sts
    }

    fn request(&self, _: Timestamp, _: u128) -> Result<ServiceRequest, SchemeError> {
        let json = HeaderValue::from_static("application/json");
        let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, json.clone()), (ACCEPT, json)]);
        self.header.apply(&mut headers);
        let body = json!({ "scope": self.impersonated.scopes, "lifetime": "3600s" }).to_string();
        Ok(ServiceRequest { headers, body: Bytes::from(body), hidden: Vec::new() })
    }

    fn read(&self, answer: &ServiceAnswer) -> Result<Lease<Credential>, String> {
        let token: AccountToken = serde_json::from_slice(&answer.body)
            .map_err(|_| "its answer is no JSON with accessToken and expireTime".to_owned())?;
        let header = CredentialHeader::bearer(&Zeroizing::new(token.access_token))
            .ok_or("its token has characters that no token has")?;
        Lease::until(Credential::Header(header), token.expire_time, answer.now)
            .ok_or_else(|| "its token ends at once".to_owned())
    }
}
