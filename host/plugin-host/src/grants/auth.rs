//! How the host may sign a plugin's requests, and with which keys of the Secret.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use http::Method;

use super::host::{Host, HostPattern};
use super::target::{RequestTarget, TargetError};

/// The ways of signing that the host knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AuthScheme {
    /// AWS Signature Version 4 over headers and body.
    AwsSigV4,
}

impl AuthScheme {
    /// All of them.
    pub(crate) const ALL: [Self; 1] = [Self::AwsSigV4];

    /// As grants and marks write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::AwsSigV4 => "aws-sigv4",
        }
    }

    /// `None` when there is no scheme of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scheme| scheme.name() == name)
    }
}

/// Lets the host sign requests of one scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthGrant {
    pub(crate) scheme: AuthScheme,
    pub(crate) services: Vec<String>,
    pub(crate) regions: Vec<NamePattern>,
    /// Empty: all hosts that the egress rules grant.
    pub(crate) hosts: Vec<HostPattern>,
    pub(crate) keys: KeyNames,
    pub(crate) web_identity: Option<WebIdentityGrant>,
}

impl AuthGrant {
    /// Which scheme.
    pub fn scheme(&self) -> AuthScheme {
        self.scheme
    }

    /// For which services; never empty.
    pub fn services(&self) -> &[String] {
        &self.services
    }

    /// For which regions; never empty.
    pub fn regions(&self) -> &[NamePattern] {
        &self.regions
    }

    /// For which hosts; empty means all granted ones.
    pub fn hosts(&self) -> &[HostPattern] {
        &self.hosts
    }

    /// Where the static keys stand in the Secret.
    pub fn keys(&self) -> &KeyNames {
        &self.keys
    }

    /// Whether and how a token file may be exchanged for keys.
    pub fn web_identity(&self) -> Option<&WebIdentityGrant> {
        self.web_identity.as_ref()
    }

    /// All keys of the Secret that belong to the host alone.
    pub(crate) fn used_keys(&self) -> impl Iterator<Item = &String> {
        let KeyNames { access_key_id, secret_access_key, session_token } = &self.keys;
        let web = self.web_identity.iter().flat_map(|web| [&web.token_file_key, &web.role_arn_key]);
        access_key_id.iter().chain(secret_access_key).chain(session_token).chain(web)
    }

    /// How far a request gets through this grant; `None` is all the way.
    fn stops_at(&self, wanted: &AuthWanted<'_>) -> Option<AuthDenial> {
        if self.scheme != wanted.scheme {
            Some(AuthDenial::Scheme)
        } else if !self.services.iter().any(|service| service == wanted.service) {
            Some(AuthDenial::Service)
        } else if !self.regions.iter().any(|pattern| pattern.matches(wanted.region)) {
            Some(AuthDenial::Region)
        } else if !self.hosts.is_empty() && !self.hosts.iter().any(|pattern| pattern.matches(wanted.host)) {
            Some(AuthDenial::Host)
        } else {
            None
        }
    }
}

/// What a request wants to be signed as.
#[derive(Clone, Copy, Debug)]
pub struct AuthWanted<'a> {
    /// The scheme of its mark.
    pub scheme: AuthScheme,
    /// The service of its mark.
    pub service: &'a str,
    /// The region of its mark.
    pub region: &'a str,
    /// Where it goes.
    pub host: &'a Host,
}

/// What is missing, at the grant that came nearest. Ordered from the farthest to the nearest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AuthDenial {
    /// No grant names the scheme.
    Scheme,
    /// The scheme is granted, the service is not.
    Service,
    /// The region is not granted there.
    Region,
    /// The host is not granted there.
    Host,
}

/// The first grant that lets a request be signed.
pub(super) fn choose<'a>(
    grants: &'a [AuthGrant],
    wanted: &AuthWanted<'_>,
) -> Result<&'a AuthGrant, AuthDenial> {
    let mut nearest = AuthDenial::Scheme;
    for grant in grants {
        match grant.stops_at(wanted) {
            None => return Ok(grant),
            Some(denial) => nearest = nearest.max(denial),
        }
    }
    Err(nearest)
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

    /// Who exchanges the token.
    pub fn sts(&self) -> &StsUrl {
        &self.sts
    }
}

/// A name with at most one `*`, which stands for any characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamePattern(String);

impl NamePattern {
    /// Every name.
    pub(crate) fn any() -> Self {
        Self("*".to_owned())
    }

    /// `None` when it is no pattern over names of regions.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let plain = text.replacen('*', "", 1);
        let is_pattern = !text.is_empty() && text.len() <= NAME_BYTES && plain.bytes().all(is_name_byte);
        is_pattern.then(|| Self(text.to_owned()))
    }

    /// Whether the pattern means this name.
    pub fn matches(&self, name: &str) -> bool {
        match self.0.split_once('*') {
            None => self.0 == name,
            Some((before, after)) => name.strip_prefix(before).is_some_and(|rest| rest.ends_with(after)),
        }
    }
}

impl fmt::Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// No service or region of a cloud has a longer name.
const NAME_BYTES: usize = 64;

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'
}

/// Whether a text may be the name of a service or region: what fits into a host name and a signature's scope.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= NAME_BYTES && text.bytes().all(is_name_byte)
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
