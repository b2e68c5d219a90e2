//! The target of a request, in the one spelling in which it is both checked and sent, and the patterns for it.
//!
//! | module | what it does |
//! | --- | --- |
//! | `host` | host names, and patterns for them |
//! | `path` | paths and prefixes that no encoding escapes |
//! | `address` | the kind of network of an address |
//! | `regions` | fills in `{region}` |
//! | `clouds` | cloud domains below which customers choose names |
//! | `pattern` | patterns of names and of scopes |

mod address;
mod clouds;
mod host;
mod path;
pub(crate) mod pattern;
mod regions;

use std::fmt;

use http::{HeaderName, Method, Uri};
use url::Url;

pub use crate::target::address::AddressClass;
pub(crate) use crate::target::address::{AddressClasses, embedded};
pub use crate::target::host::{Host, HostPattern};
pub use crate::target::path::PathPattern;
use crate::target::path::Readings;
pub(crate) use crate::target::pattern::{NamePattern, is_name, is_scope};
pub(crate) use crate::target::regions::Regions;
pub use crate::target::regions::{REGION, is_region_name, regions_of};

/// The schemes that exist here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    Http,
    /// With TLS. The server is verified, unless grants and Secret of `keystone` say otherwise.
    Https,
}

impl Scheme {
    /// As URLs write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// The port of a URL that names none.
    pub fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// Why a request has no target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    #[error("the URL cannot be parsed")]
    Url,
    #[error("the scheme is neither http nor https")]
    Scheme,
    /// Credentials in URLs are read differently by different programs.
    #[error("the URL carries user information")]
    UserInfo,
    /// No host, or one that resolvers read differently.
    #[error("the host is no host name or address")]
    Host,
    #[error("the port is not usable")]
    Port,
    /// Backslashes and control characters are read differently by different programs.
    #[error("the URL has characters that programs read differently")]
    Characters,
    #[error("the method is not for drivers")]
    Method,
}

/// The methods that exist here. CONNECT would make a tunnel, TRACE would echo what the host adds, and servers read
/// methods that no cloud's API has in ways of their own.
pub(crate) const METHODS: [Method; 6] =
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestTarget {
    method: Method,
    scheme: Scheme,
    host: Host,
    port: u16,
    path: String,
    query: Option<String>,
    /// `None`: escaped so deeply that no prefix holds.
    readings: Option<Readings>,
}

impl RequestTarget {
    /// The target of a request as the component built it.
    pub fn new(method: &Method, uri: &Uri) -> Result<Self, TargetError> {
        Self::parse(method, &uri.to_string())
    }

    /// The target of a URL.
    pub fn parse(method: &Method, text: &str) -> Result<Self, TargetError> {
        if !METHODS.contains(method) {
            return Err(TargetError::Method);
        }
        if text.bytes().any(|byte| byte <= b' ' || byte == 0x7f || byte == b'\\') {
            return Err(TargetError::Characters);
        }
        let url = Url::parse(text).map_err(|_| TargetError::Url)?;
        let scheme = match url.scheme() {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            _ => return Err(TargetError::Scheme),
        };
        if authority_of(text).contains('@') || !url.username().is_empty() || url.password().is_some() {
            return Err(TargetError::UserInfo);
        }
        let host = url.host().and_then(|host| Host::of(&host)).ok_or(TargetError::Host)?;
        let port = url.port().unwrap_or(scheme.default_port());
        if port == 0 {
            return Err(TargetError::Port);
        }
        Ok(Self {
            method: method.clone(),
            scheme,
            host,
            port,
            readings: Readings::of(url.path()),
            path: url.path().to_owned(),
            query: url.query().map(str::to_owned),
        })
    }

    pub fn method(&self) -> &Method {
        &self.method
    }

    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    pub fn host(&self) -> &Host {
        &self.host
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its path, dot segments resolved.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Its query, without the question mark.
    pub fn query(&self) -> Option<&str> {
        self.query.as_deref()
    }

    /// Host and, where it is not the scheme's, port.
    pub fn authority(&self) -> String {
        if self.port == self.scheme.default_port() {
            self.host.to_string()
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    /// The URL that is sent: exactly what was judged.
    pub fn uri(&self) -> Result<Uri, TargetError> {
        let query = self.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
        format!("{}://{}{}{query}", self.scheme.name(), self.authority(), self.path)
            .parse()
            .map_err(|_| TargetError::Url)
    }

    /// True when the pattern means the path, in every way of reading it.
    pub fn has_path(&self, pattern: &PathPattern) -> bool {
        self.readings.as_ref().is_some_and(|readings| readings.fit(pattern))
    }
}

/// Without the query, which may carry data of users.
impl fmt::Display for RequestTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}://{}:{}{}", self.method, self.scheme.name(), self.host, self.port, self.path)
    }
}

/// Returns the text between `//` and the path.
fn authority_of(text: &str) -> &str {
    let rest = text.split_once("//").map_or(text, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}

/// Whether the header describes a connection and not a request: the host writes its own.
pub(crate) fn is_connection_header(name: &HeaderName) -> bool {
    const NAMES: [&str; 10] = [
        "connection", "content-length", "expect", "host", "http2-settings", "keep-alive", "te", "trailer",
        "transfer-encoding", "upgrade",
    ];
    NAMES.contains(&name.as_str()) || name.as_str().starts_with("proxy-")
}

/// Grants beyond this size are no grants that a person reviewed.
pub(crate) const TEXT_LIMIT_BYTES: usize = 256 * 1024;

/// Why a text is no grants.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("failed to read grants: {bytes} bytes are more than {TEXT_LIMIT_BYTES}")]
    TooLong { bytes: usize },
    /// Neither YAML nor JSON, an unknown field, or a value of another type.
    #[error("failed to read grants: {detail}")]
    Syntax { detail: String },
    #[error("failed to read grants: {place}: {problem}")]
    Invalid {
        /// Path of the value, such as `egress[0].host`.
        place: String,
        /// The problem, and the valid form.
        problem: String,
    },
}

impl Error {
    pub(crate) fn invalid(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Invalid { place: place.into(), problem: problem.into() }
    }
}
