//! Access to the pages below `/debug`: logs of plugins, calls of drivers, profiles.

use std::net::IpAddr;
use std::time::Duration;

/// The value of the flag `--debug-access`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum DebugAccess {
    /// From loopback, which is where a port-forward comes from.
    #[default]
    Loopback,
    /// From other addresses too, by accounts that the API server authorizes.
    Authorized,
}

/// The facts of a request that need no API server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'a> {
    /// The address of the caller.
    pub(super) peer: IpAddr,
    pub(super) host: Option<&'a str>,
    pub(super) authorization: Option<&'a str>,
}

/// A decision about a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AccessDecision<'a> {
    Allowed,
    /// The API server has to review this token.
    Review(&'a str),
    Refused(NotAllowed),
}

/// Why a request is not answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotAllowed {
    /// It is not from loopback.
    #[error(
        "/debug is served on loopback only: use `machinist explain`, `machinist plugin logs` or `kubectl port-forward`, which need \
         `create` and `get` on pods/portforward, or start the host with --debug-access=authorized"
    )]
    NotLoopback,
    /// It is from loopback and names another host.
    #[error(
        "/debug is served under localhost or an address only: a web page must not reach it by a name of its own"
    )]
    ForeignName,
    /// It has no token.
    #[error(
        "/debug needs a token for the audience machinist: `kubectl create token ACCOUNT --audience machinist`, as `authorization: \
         Bearer TOKEN`"
    )]
    NoToken,
    /// The API server does not know its token, or not for this audience.
    #[error(
        "the token does not count here: it has ended, or is not for the audience machinist (`kubectl create token ACCOUNT --audience \
         machinist`)"
    )]
    BadToken,
    /// Its account may not.
    #[error(
        "{user} may not get {path}: a ClusterRole with nonResourceURLs [\"/debug/*\"] and verbs [get] allows it"
    )]
    NoRight { user: String, path: String },
    /// The host may not ask.
    #[error(
        "the host's account lacks {0}, so that /debug is served on loopback only: bind the ClusterRole system:auth-delegator to it"
    )]
    HostLacks(&'static str),
    /// Too many are asked about.
    #[error("too many tokens are being reviewed at the moment")]
    Busy,
    /// The API server does not say.
    #[error("the API server cannot be asked about the token at the moment")]
    NoAnswer,
}

/// Decides about a request, or returns the token to review.
pub(super) fn judge(asked: Asked<'_>, access: DebugAccess) -> AccessDecision<'_> {
    if asked.peer.to_canonical().is_loopback() {
        return match asked.host.is_none_or(is_this_host) {
            true => AccessDecision::Allowed,
            false => AccessDecision::Refused(NotAllowed::ForeignName),
        };
    }
    match access {
        DebugAccess::Loopback => AccessDecision::Refused(NotAllowed::NotLoopback),
        DebugAccess::Authorized => match asked.authorization.and_then(bearer) {
            Some(token) => AccessDecision::Review(token),
            None => AccessDecision::Refused(NotAllowed::NoToken),
        },
    }
}

/// True for `localhost` and addresses, with or without a port. A web page in a browser on this machine can resolve its
/// own name to loopback; its requests have that name here.
fn is_this_host(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(bracketed) => bracketed.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

/// No token of Kubernetes is longer: they travel in one header, with all others in 16 KiB.
const MOST_TOKEN_BYTES: usize = 12 << 10;

fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.split_once(' ')?;
    let token = token.trim();
    let is_token = scheme.eq_ignore_ascii_case("bearer") && !token.is_empty();
    (is_token && token.len() <= MOST_TOKEN_BYTES).then_some(token)
}

impl NotAllowed {
    /// The status of the answer.
    pub(super) fn status(&self) -> u16 {
        match self {
            Self::NotLoopback | Self::ForeignName | Self::NoRight { .. } | Self::HostLacks(_) => 403,
            Self::NoToken | Self::BadToken => 401,
            Self::Busy | Self::NoAnswer => 503,
        }
    }

    /// When to ask again, where that helps.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Busy | Self::NoAnswer => Some(Duration::from_secs(1)),
            Self::NotLoopback
            | Self::ForeignName
            | Self::NoToken
            | Self::BadToken
            | Self::NoRight { .. }
            | Self::HostLacks(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(peer: &str, host: Option<&str>, authorization: Option<&str>, access: DebugAccess) -> String {
        let asked = Asked { peer: peer.parse().unwrap(), host, authorization };
        match judge(asked, access) {
            AccessDecision::Allowed => "allowed".to_owned(),
            AccessDecision::Review(token) => format!("review {token}"),
            AccessDecision::Refused(refused) => format!("{refused:?}"),
        }
    }

    use DebugAccess::{Authorized, Loopback};

    #[test]
    fn loopback_is_allowed_by_any_of_its_addresses() {
        for peer in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
            for host in
                [None, Some("localhost:10259"), Some("LOCALHOST"), Some("127.0.0.1:1"), Some("[::1]:1")]
            {
                assert_eq!(check(peer, host, None, Loopback), "allowed", "{peer} {host:?}");
                assert_eq!(check(peer, host, Some("Bearer x"), Authorized), "allowed", "{peer} {host:?}");
            }
        }
    }

    #[test]
    fn attack_another_pod_reads_debug_without_a_token() {
        for peer in ["10.0.0.7", "::ffff:10.0.0.7", "fd00::7", "0.0.0.0", "169.254.1.1"] {
            assert_eq!(check(peer, Some("localhost"), Some("Bearer x"), Loopback), "NotLoopback", "{peer}");
            for none in [None, Some(""), Some("Bearer"), Some("Bearer  "), Some("Basic YTpi"), Some("x")] {
                assert_eq!(check(peer, None, none, Authorized), "NoToken", "{peer} {none:?}");
            }
            assert_eq!(check(peer, None, Some("bearer a.b.c"), Authorized), "review a.b.c");
        }
        let long = format!("Bearer {}", "x".repeat(MOST_TOKEN_BYTES + 1));
        assert_eq!(check("10.0.0.7", None, Some(&long), Authorized), "NoToken");
    }

    #[test]
    fn attack_a_page_of_the_web_has_its_name_lead_to_loopback() {
        for host in
            ["evil.example", "evil.example:10259", "localhost.evil.example", "127.0.0.1.evil.example", ""]
        {
            assert_eq!(check("127.0.0.1", Some(host), None, Loopback), "ForeignName", "{host}");
        }
    }

    #[test]
    fn each_refusal_says_what_to_do() {
        let right = NotAllowed::NoRight { user: "a".into(), path: "/debug/plugins".into() };
        assert!(right.to_string().contains("nonResourceURLs") && right.status() == 403);
        assert!(NotAllowed::NotLoopback.to_string().contains("pods/portforward"));
        assert!(NotAllowed::HostLacks("create on tokenreviews").to_string().contains("auth-delegator"));
        assert_eq!((NotAllowed::Busy.status(), NotAllowed::NoToken.status()), (503, 401));
        assert!(NotAllowed::Busy.retry_after().is_some());
    }
}
