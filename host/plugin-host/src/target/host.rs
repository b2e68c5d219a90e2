//! Hosts as URLs name them, and patterns over them. A `*` matches one label.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use super::clouds::Labels;

/// A normalised host: lower case, IDNA, no trailing dot; every notation of an address is the address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    Name(String),
    /// An address. A mapped IPv4 address is the IPv4 address.
    Address(IpAddr),
}

impl Host {
    /// The host of a parsed URL. `None` when it could mean different things to different readers.
    pub(crate) fn of(host: &url::Host<&str>) -> Option<Self> {
        match host {
            url::Host::Ipv4(address) => Some(Self::Address(IpAddr::V4(*address))),
            url::Host::Ipv6(address) => Some(Self::Address(unmapped(*address))),
            url::Host::Domain(name) => {
                let name = name.strip_suffix('.').unwrap_or(name);
                is_plain_name(name).then(|| Self::Name(name.to_ascii_lowercase()))
            }
        }
    }

    /// Parses a host as it is written in a URL; IPv6 with or without brackets.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if let Ok(address) = text.parse::<Ipv6Addr>() {
            return Some(Self::Address(unmapped(address)));
        }
        if text.contains(['/', '\\', '?', '#', '@']) || (text.contains(':') && !text.starts_with('[')) {
            return None;
        }
        let url = url::Url::parse(&format!("https://{text}/")).ok()?;
        if url.port().is_some() { None } else { Self::of(&url.host()?) }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

/// Which hosts a rule is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostPattern {
    Exact(Host),
    /// All names with exactly one label in front; stored with its leading dot.
    Below(String),
    /// All names with exactly one label between two parts, as in `ec2.*.example.com`; stored with their dots.
    Between {
        /// In front of the label.
        before: String,
        after: String,
    },
}

impl HostPattern {
    /// Reads `api.example.com`, `*.example.com`, `api.*.example.com` or an address; `Err` says what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some((before, after)) = text.split_once(".*.") {
            return match (Host::parse(before), Host::parse(after)) {
                (Some(Host::Name(before)), Some(Host::Name(after))) if after.contains('.') => {
                    match Labels::below(&after) {
                        Labels::Named => Err(named(text)),
                        Labels::Any | Labels::Regions => {
                            Ok(Self::Between { before: format!("{before}."), after: format!(".{after}") })
                        }
                    }
                }
                _ => Err(format!(
                    "{text:?} is too wide: a domain of at least two labels must follow the wildcard"
                )),
            };
        }
        let Some(domain) = text.strip_prefix("*.") else {
            return Host::parse(text)
                .map(Self::Exact)
                .ok_or_else(|| format!("{text:?} is no host: write a name, *.name or an address"));
        };
        match Host::parse(domain) {
            Some(Host::Name(name)) if name.contains('.') => match Labels::below(&name) {
                Labels::Any => Ok(Self::Below(format!(".{name}"))),
                Labels::Regions | Labels::Named => Err(named(text)),
            },
            _ => Err(format!("{text:?} is too wide: a wildcard needs a domain of at least two labels")),
        }
    }

    /// Whether each host that the other means is one that this means.
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (pattern, Self::Exact(host)) => pattern.matches(host),
            (Self::Below(_), Self::Below(_)) | (Self::Between { .. }, Self::Between { .. }) => self == other,
            (Self::Exact(_), Self::Below(_) | Self::Between { .. })
            | (Self::Below(_), Self::Between { .. })
            | (Self::Between { .. }, Self::Below(_)) => false,
        }
    }

    /// Whether the pattern means this host.
    pub fn matches(&self, host: &Host) -> bool {
        match (self, host) {
            (Self::Exact(exact), host) => exact == host,
            (Self::Below(suffix), Host::Name(name)) => {
                name.strip_suffix(suffix.as_str()).is_some_and(is_label)
            }
            (Self::Between { before, after }, Host::Name(name)) => name
                .strip_prefix(before.as_str())
                .and_then(|rest| rest.strip_suffix(after.as_str()))
                .is_some_and(|label| is_label(label) && Labels::of(after).allow(label)),
            (Self::Below(_) | Self::Between { .. }, Host::Address(_)) => false,
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(host) => write!(f, "{host}"),
            Self::Below(suffix) => write!(f, "*{suffix}"),
            Self::Between { before, after } => write!(f, "{before}*{after}"),
        }
    }
}

fn is_label(text: &str) -> bool {
    !text.is_empty() && !text.contains('.')
}

fn named(text: &str) -> String {
    format!("{text:?} is too wide: customers of this cloud choose names below it, so each host must be named")
}

fn unmapped(address: Ipv6Addr) -> IpAddr {
    address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4)
}

/// Labels of letters, digits, `-` and `_`, none of them empty: what resolvers agree on.
fn is_plain_name(name: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    name.len() <= 253 && name.split('.').all(is_label)
}
