//! The grant of web identity: the host exchanges a token file for the keys of a role.

use std::fmt;

use http::Method;
use machinist_core::value::id::PluginName;
use serde::Deserialize;
use zeroize::Zeroizing;

use super::role::RolePattern;
use super::sts::RoleRequest;
use crate::auth::credential::SecretReader;
use crate::auth::credential::token_file::FilePrefix;
use crate::auth::grant::joined;
use crate::auth::grant::{folders, folders_beyond, not, unless};
use crate::auth::{AuthReason, FileExchange, SchemeError, TokenService};
use crate::target::Error;
use crate::target::{RequestTarget, TargetError};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawWebIdentity {
    token_file_key: Option<String>,
    role_arn_key: Option<String>,
    token_files: Vec<String>,
    #[serde(default)]
    role_arns: Vec<String>,
    sts: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WebIdentityGrant {
    /// The key of the Secret that has the file's path in the host's container. Its presence asks for web identity.
    pub(super) token_file_key: String,
    /// The key of the Secret that has the role.
    pub(super) role_arn_key: String,
    /// The folders below which the file may lie; never empty.
    pub(super) token_files: Vec<FilePrefix>,
    /// The roles that a Secret may ask for; empty means none. The token is the host's, so each role that trusts the
    /// host would accept it.
    pub(super) roles: Vec<RolePattern>,
    pub(super) sts: StsUrl,
}

impl WebIdentityGrant {
    pub(super) const TOKEN_FILE_KEY: &str = "workloadIdentityTokenFile";
    const ROLE_ARN_KEY: &str = "roleARN";

    pub(super) fn parse(raw: RawWebIdentity, at: &str) -> Result<Self, Error> {
        let key = |raw: Option<String>, field: &str, default: &str| {
            let key = raw.unwrap_or_else(|| default.to_owned());
            if key.is_empty() { Err(Error::invalid(format!("{at}.{field}"), "is empty")) } else { Ok(key) }
        };
        Ok(Self {
            token_file_key: key(raw.token_file_key, "token-file-key", Self::TOKEN_FILE_KEY)?,
            role_arn_key: key(raw.role_arn_key, "role-arn-key", Self::ROLE_ARN_KEY)?,
            roles: roles(&raw.role_arns, &format!("{at}.role-arns"))?,
            token_files: folders(&raw.token_files, &format!("{at}.token-files"))?,
            sts: StsUrl::parse(raw.sts.as_deref().unwrap_or(StsUrl::DEFAULT))
                .map_err(|problem| Error::invalid(format!("{at}.sts"), problem))?,
        })
    }

    pub(super) fn used_keys(&self) -> [&String; 2] {
        [&self.token_file_key, &self.role_arn_key]
    }

    pub(super) fn beyond(&self, ceiling: &Self) -> Option<String> {
        let role = self.roles.iter().find(|own| !ceiling.roles.iter().any(|wide| wide.covers(own)));
        let has_same_keys =
            self.token_file_key == ceiling.token_file_key && self.role_arn_key == ceiling.role_arn_key;
        unless(self.sts == ceiling.sts, || not(&self.sts))
            .or_else(|| folders_beyond(&self.token_files, &ceiling.token_files))
            .or_else(|| role.map(not))
            .or_else(|| unless(has_same_keys, || "with other keys of the Secret".to_owned()))
    }

    pub(super) fn summary(&self) -> String {
        let roles = if self.roles.is_empty() { "none".to_owned() } else { joined(&self.roles) };
        format!("; web identity by {}; roles {roles}", self.sts)
    }

    pub(super) fn role_arn(&self, secret: SecretReader<'_>) -> Result<String, AuthReason> {
        secret.one(std::slice::from_ref(&self.role_arn_key)).map(|role| role.to_string())
    }

    /// Returns the exchange of the token in a file for the keys of a role.
    pub(super) fn exchange(
        &self,
        role_arn: String,
        path: String,
        region: &str,
        plugin: &PluginName,
    ) -> Result<FileExchange, SchemeError> {
        let target = self.sts.target(region).map_err(|_| SchemeError::Target)?;
        let (plugin, token_file) = (plugin.clone(), path.clone());
        let service = move |token: Zeroizing<String>| -> Box<dyn TokenService> {
            Box::new(RoleRequest { target, plugin, role_arn, token_file, token })
        };
        let (key, folders) = (self.token_file_key.clone(), self.token_files.clone());
        Ok(FileExchange { key, path, folders, service: Box::new(service) })
    }
}

fn roles(raw: &[String], at: &str) -> Result<Vec<RolePattern>, Error> {
    raw.iter().map(|text| RolePattern::parse(text).map_err(|problem| Error::invalid(at, problem))).collect()
}

/// The URL of the service. `{region}` in it is replaced by the region of the request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct StsUrl(String);

impl StsUrl {
    const REGION: &str = "{region}";
    pub(crate) const DEFAULT: &str = "https://sts.{region}.amazonaws.com/";

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let url = Self(text.to_owned());
        let sample = text.replace(Self::REGION, "eu-west-1");
        match url.target("eu-west-1") {
            _ if sample.contains(['{', '}', '?', '#']) => Err(format!(
                "{text:?} is no URL of a service: only {} may stand in it, and no query",
                Self::REGION
            )),
            Ok(_) => Ok(url),
            Err(error) => Err(format!("{text:?} is no URL: {error}")),
        }
    }

    pub(crate) fn target(&self, region: &str) -> Result<RequestTarget, TargetError> {
        RequestTarget::parse(&Method::POST, &self.0.replace(Self::REGION, region))
    }
}

impl fmt::Display for StsUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
