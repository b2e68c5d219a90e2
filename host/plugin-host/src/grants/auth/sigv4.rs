//! What is granted for AWS Signature Version 4.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use http::Method;

use super::pattern::NamePattern;
use super::role::RolePattern;
use crate::grants::target::{RequestTarget, TargetError};

/// For what the host signs, and with which keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SigV4Grant {
    pub(crate) services: Vec<String>,
    pub(crate) regions: Vec<NamePattern>,
    pub(crate) keys: KeyNames,
    pub(crate) web_identity: Option<WebIdentityGrant>,
}

impl SigV4Grant {
    /// For which services; never empty.
    pub fn services(&self) -> &[String] {
        &self.services
    }

    /// For which regions; never empty.
    pub fn regions(&self) -> &[NamePattern] {
        &self.regions
    }

    /// Where the static keys stand in the Secret.
    pub fn keys(&self) -> &KeyNames {
        &self.keys
    }

    /// Whether and how a token file may be exchanged for keys.
    pub fn web_identity(&self) -> Option<&WebIdentityGrant> {
        self.web_identity.as_ref()
    }

    pub(super) fn used_keys(&self) -> Vec<&String> {
        let KeyNames { access_key_id, secret_access_key, session_token } = &self.keys;
        let web = self.web_identity.iter().flat_map(|web| [&web.token_file_key, &web.role_arn_key]);
        access_key_id.iter().chain(secret_access_key).chain(session_token).chain(web).collect()
    }
}

/// Keys of the Secret, each a list of which the first that is present counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyNames {
    /// The public part.
    pub access_key_id: Vec<String>,
    /// The secret part.
    pub secret_access_key: Vec<String>,
    /// What temporary keys need besides; may be absent in the Secret.
    pub session_token: Vec<String>,
}

/// Lets the host exchange a token file for keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebIdentityGrant {
    pub(crate) token_file_key: String,
    pub(crate) role_arn_key: String,
    pub(crate) token_files: Vec<FilePrefix>,
    pub(crate) roles: Vec<RolePattern>,
    pub(crate) sts: StsUrl,
}

impl WebIdentityGrant {
    /// The key of the Secret that holds the file's path in the host's container.
    pub const TOKEN_FILE_KEY: &str = "workloadIdentityTokenFile";
    /// The key of the Secret that holds the role.
    pub const ROLE_ARN_KEY: &str = "roleARN";

    /// The key of the Secret that holds the file's path. Its presence asks for web identity.
    pub fn token_file_key(&self) -> &str {
        &self.token_file_key
    }

    /// The key of the Secret that holds the role.
    pub fn role_arn_key(&self) -> &str {
        &self.role_arn_key
    }

    /// Below which folders the file may lie; never empty.
    pub fn token_files(&self) -> &[FilePrefix] {
        &self.token_files
    }

    /// Which roles a Secret may ask for: none if this is empty. The token is the host's, so that each role that trusts the
    /// host would do.
    pub fn roles(&self) -> &[RolePattern] {
        &self.roles
    }

    /// Who exchanges the token.
    pub fn sts(&self) -> &StsUrl {
        &self.sts
    }
}

/// A folder, as an absolute path without dot segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePrefix(PathBuf);

impl FilePrefix {
    /// `Err` says what is wrong.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let path = Path::new(text);
        if !is_normal_path(text.strip_suffix('/').unwrap_or(text)) {
            return Err(format!("{text:?} is no folder: write an absolute path without dot segments"));
        }
        if path.components().count() < 2 {
            return Err("/ is too wide: name the folder that the tokens are mounted in".to_owned());
        }
        Ok(Self(path.components().collect()))
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Whether the file lies below, judged by the text of its path alone.
    pub fn covers(&self, file: &Path) -> bool {
        file.starts_with(&self.0) && file != self.0
    }
}

/// Whether a text is an absolute path that every reader reads in the same way.
pub(crate) fn is_normal_path(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('/') else { return false };
    !text.contains('\0')
        && rest.split('/').all(|segment| !segment.is_empty() && segment != ".")
        && Path::new(text).components().skip(1).all(|part| matches!(part, Component::Normal(_)))
}

/// The URL of a credential service. `{region}` in it stands for the region of the request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StsUrl(String);

impl StsUrl {
    const REGION: &str = "{region}";
    /// Where AWS has its own.
    pub(crate) const DEFAULT: &str = "https://sts.{region}.amazonaws.com/";

    /// `Err` says what is wrong.
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

    /// The request's target in this region.
    pub(crate) fn target(&self, region: &str) -> Result<RequestTarget, TargetError> {
        RequestTarget::parse(&Method::POST, &self.0.replace(Self::REGION, region))
    }
}

impl fmt::Display for StsUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
