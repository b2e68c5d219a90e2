//! Names of artifacts: `registry/repository:tag`, `registry/repository@sha256:…`, or both.

use std::fmt;
use std::str::FromStr;

use crate::digest::{ContentDigest, NotADigest};

/// An artifact in a registry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    /// Host, and port where it is not the usual one.
    pub registry: String,
    /// The path of the artifact in the registry.
    pub repository: String,
    /// Which of its versions.
    pub version: Version,
}

/// One of the versions of a repository.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// Whatever carries this tag.
    Tag(String),
    /// These bytes, whatever else the registry says.
    Digest(ContentDigest),
}

/// Why a text names no artifact.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// No host at the beginning.
    #[error("{text:?} names no registry: write HOST/REPOSITORY:TAG or HOST/REPOSITORY@sha256:…")]
    NoRegistry { text: String },
    /// Neither tag nor digest.
    #[error("{text:?} has neither tag nor digest, and none is assumed: add :TAG or @sha256:…")]
    NoVersion { text: String },
    /// The repository has other characters than registries take.
    #[error(
        "the repository in {text:?} is wrong: parts of lower-case letters and digits, with . _ - between them and / \
         between the parts"
    )]
    Repository { text: String },
    /// The host is none.
    #[error("the registry in {text:?} is wrong: a host, and perhaps a port")]
    Registry { text: String },
    /// The tag has other characters than registries take.
    #[error(
        "the tag in {text:?} is wrong: up to 128 letters, digits and . _ -, the first a letter, digit or _"
    )]
    Tag { text: String },
    /// The digest is none.
    #[error("the digest is wrong")]
    Digest(#[source] NotADigest),
}

/// Longer ones are refused by registries.
const MOST_REPOSITORY_BYTES: usize = 255;
const MOST_TAG_BYTES: usize = 128;

/// One registry, by the names that references, logins and requests have for it.
const DOCKER_HUB: [&str; 3] = ["docker.io", "index.docker.io", "registry-1.docker.io"];

impl Reference {
    /// The same repository by a digest.
    pub fn at(&self, digest: ContentDigest) -> Self {
        self.with(Version::Digest(digest))
    }

    /// The same repository by a tag.
    pub fn tagged(&self, tag: impl Into<String>) -> Self {
        self.with(Version::Tag(tag.into()))
    }

    fn with(&self, version: Version) -> Self {
        Self { version, ..self.clone() }
    }

    /// The digest, where it has one.
    pub fn digest(&self) -> Option<ContentDigest> {
        match self.version {
            Version::Tag(_) => None,
            Version::Digest(digest) => Some(digest),
        }
    }

    /// The host that is asked. The public registry of docker answers under another name than the one in its references.
    pub fn host(&self) -> &str {
        if DOCKER_HUB.contains(&self.registry.as_str()) { "registry-1.docker.io" } else { &self.registry }
    }

    /// All names under which logins for this registry are kept.
    pub(crate) fn registry_names(&self) -> Vec<&str> {
        let registry = self.registry.as_str();
        if DOCKER_HUB.contains(&registry) { DOCKER_HUB.to_vec() } else { vec![registry] }
    }

    /// Only a registry on this machine is spoken to without TLS.
    pub fn is_on_loopback(&self) -> bool {
        let host = match self.registry.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or_default(),
            None => self.registry.split(':').next().unwrap_or_default(),
        };
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

impl FromStr for Reference {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        let text = text.trim();
        let text = text.strip_prefix("oci://").unwrap_or(text);
        let said = || text.chars().take(300).collect::<String>();
        let no_registry = || ReferenceError::NoRegistry { text: said() };
        let (registry, rest) = text.split_once('/').ok_or_else(no_registry)?;
        // As everywhere: without one of these the first part is a repository of some default registry.
        if !registry.contains(['.', ':']) && registry != "localhost" {
            return Err(no_registry());
        }
        if !is_registry(registry) {
            return Err(ReferenceError::Registry { text: said() });
        }
        let (named, digest) = match rest.split_once('@') {
            None => (rest, None),
            Some((named, digest)) => (named, Some(digest.parse().map_err(ReferenceError::Digest)?)),
        };
        let (repository, tag) = match named.split_once(':') {
            None => (named, None),
            Some((repository, tag)) => (repository, Some(tag)),
        };
        if !is_repository(repository) {
            return Err(ReferenceError::Repository { text: said() });
        }
        if tag.is_some_and(|tag| !is_tag(tag)) {
            return Err(ReferenceError::Tag { text: said() });
        }
        // Beside a digest a tag is a comment.
        let version = match (digest, tag) {
            (Some(digest), _) => Version::Digest(digest),
            (None, Some(tag)) => Version::Tag(tag.to_owned()),
            (None, None) => return Err(ReferenceError::NoVersion { text: said() }),
        };
        Ok(Self { registry: registry.to_owned(), repository: repository.to_owned(), version })
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry, self.repository)?;
        match &self.version {
            Version::Tag(tag) => write!(f, ":{tag}"),
            Version::Digest(digest) => write!(f, "@{digest}"),
        }
    }
}

fn is_registry(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((host, port)) if host.parse::<std::net::Ipv6Addr>().is_ok() => {
                ("address", if port.is_empty() { None } else { Some(port.strip_prefix(':').unwrap_or("x")) })
            }
            _ => return false,
        },
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let is_label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let has_port = |port: &str| {
        port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0)
    };
    // `ghcr.0` and `1.2` would be asked for as numbers, if at all.
    let is_asked_for = match url::Host::parse(host) {
        Ok(url::Host::Domain(name)) => name.eq_ignore_ascii_case(host),
        Ok(url::Host::Ipv4(address)) => address.to_string() == host,
        Ok(url::Host::Ipv6(_)) | Err(_) => false,
    };
    host.split('.').all(is_label) && is_asked_for && port.is_none_or(has_port)
}

fn is_repository(text: &str) -> bool {
    let is_inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_part = |part: &str| {
        let bytes = part.as_bytes();
        bytes.first().is_some_and(|byte| is_inside(*byte))
            && bytes.last().is_some_and(|byte| is_inside(*byte))
            && bytes.iter().all(|byte| is_inside(*byte) || matches!(byte, b'.' | b'_' | b'-'))
            && !part.contains("..")
    };
    text.len() <= MOST_REPOSITORY_BYTES && text.split('/').all(is_part)
}

fn is_tag(text: &str) -> bool {
    let is_first = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.len() <= MOST_TAG_BYTES
        && text.bytes().next().is_some_and(is_first)
        && text.bytes().all(|byte| is_first(byte) || matches!(byte, b'.' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let outcome = match text.parse::<Reference>() {
            Ok(reference) => reference.to_string(),
            Err(error) => error.to_string().split(':').next().unwrap_or_default().to_owned(),
        };
        assert_eq!(outcome, expected, "{text}");
    }

    #[test]
    fn a_reference_names_registry_repository_and_version() {
        let digest = format!("sha256:{}", "ab".repeat(32));
        check("ghcr.io/acme/driver:1.2", "ghcr.io/acme/driver:1.2");
        check("oci://localhost:5000/driver:1", "localhost:5000/driver:1");
        check(" [::1]:5000/a/b/c_d:x\n", "[::1]:5000/a/b/c_d:x");
        check(&format!("ghcr.io/driver@{digest}"), &format!("ghcr.io/driver@{digest}"));
        check(&format!("ghcr.io/driver:1@{digest}"), &format!("ghcr.io/driver@{digest}"));
    }

    #[test]
    fn what_is_missing_is_asked_for_and_not_assumed() {
        check("driver", "\"driver\" names no registry");
        check("acme/driver:1", "\"acme/driver");
        check("ghcr.io/driver", "\"ghcr.io/driver\" has neither tag nor digest, and none is assumed");
        check("", "\"\" names no registry");
    }

    #[test]
    fn what_no_registry_takes_is_refused_before_it_is_asked() {
        for text in [
            "ghcr.io/Driver:1", "ghcr.io/a//b:1", "ghcr.io/../b:1", "ghcr.io/a..b:1", "ghcr.io/a:",
            "ghcr.io/a:-x", "ghcr.io/a:x y", "ghcr.io/a?x=1:1", "ghcr.io:0/a:1", "ghcr.io:65536/a:1",
            "ghcr.io:+80/a:1", "user@ghcr.io/a:1", "-a.io/a:1", "ghcr.0/a:1", "1.2/a:1", "0x7f.0.0.1/a:1",
            "[::1/a:1", "[::1]x/a:1", "ghcr.io/a@sha256:ab", "ghcr.io/a@", "https://ghcr.io/a:1",
        ] {
            assert!(text.parse::<Reference>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_public_registry_of_docker_is_asked_where_it_answers() {
        let host = |text: &str| text.parse::<Reference>().expect("a reference").host().to_owned();
        assert_eq!(host("docker.io/acme/sim:1"), "registry-1.docker.io");
        assert_eq!(host("index.docker.io/acme/sim:1"), "registry-1.docker.io");
        assert_eq!(host("ghcr.io/acme/sim:1"), "ghcr.io");
        let reference: Reference = "docker.io/acme/sim:1".parse().expect("a reference");
        assert_eq!(reference.to_string(), "docker.io/acme/sim:1", "people see the name that they know");
    }

    #[test]
    fn only_this_machine_is_spoken_to_without_tls() {
        let is_plain = |registry: &str| {
            let reference: Reference = format!("{registry}/a:1").parse().expect("a reference");
            reference.is_on_loopback()
        };
        for here in ["localhost", "localhost:5000", "127.0.0.1:1", "127.1.2.3", "[::1]:5000", "[::1]"] {
            assert!(is_plain(here), "{here}");
        }
        for there in ["ghcr.io", "127.0.0.1.example.com", "localhost.example.com", "10.0.0.1:5000", "[::2]:1"]
        {
            assert!(!is_plain(there), "{there}");
        }
    }

    proptest::proptest! {
        #[test]
        fn nothing_panics_and_what_reads_reads_back(text in "\\PC{0,60}") {
            if let Ok(reference) = text.parse::<Reference>() {
                proptest::prop_assert_eq!(reference.to_string().parse(), Ok(reference));
            }
        }
    }
}
