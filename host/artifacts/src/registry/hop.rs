//! Where a registry may send a request, and where the login may go. Pure.

use std::net::{IpAddr, Ipv4Addr};

use url::{Host, Url};

/// Why a redirect is not followed. None of these repeats text of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RedirectError {
    /// There have been enough.
    #[error("it is one more than the {MOST_REDIRECTS} that are followed")]
    TooMany,
    /// It names no address.
    #[error("it names no address")]
    NoAddress,
    /// It leaves TLS, or loopback.
    #[error("it leads to an address without TLS")]
    Plain,
    /// It leads to a network in which no registry is asked.
    #[error("it leads to an address that is not asked: {0}")]
    Prohibited(&'static str),
    /// The server that it leads to wants a login, which is of the registry alone.
    #[error("it leads to another server, which wants a login")]
    Login,
}

/// An answer leads to storage elsewhere, and from there perhaps once more.
pub(super) const MOST_REDIRECTS: usize = 4;

/// The address that a redirect from `at` leads to. A registry on loopback may stay there without TLS; nothing else may.
pub(super) fn next(at: &Url, location: Option<&str>) -> Result<Url, RedirectError> {
    let mut next = at.join(location.unwrap_or_default()).map_err(|_| RedirectError::NoAddress)?;
    if location.is_none() || next.host().is_none() {
        return Err(RedirectError::NoAddress);
    }
    // A login in an address would be shown like one of ours.
    if next.set_username("").is_err() || next.set_password(None).is_err() {
        return Err(RedirectError::NoAddress);
    }
    match next.scheme() {
        "https" => Ok(next),
        "http" if at.scheme() == "http" && is_on_loopback(&next) => Ok(next),
        _ => Err(RedirectError::Plain),
    }
}

/// Whether the address names this machine.
pub(super) fn is_on_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// The address in the URL itself, which needs no name server.
pub(super) fn literal(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        Host::Domain("localhost") => Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        Host::Domain(_) => None,
        Host::Ipv4(address) => Some(IpAddr::V4(address)),
        Host::Ipv6(address) => Some(IpAddr::V6(address)),
    }
}

/// Whether the login for the registry may be shown to this token service.
pub(super) fn may_give_tokens(registry: &Url, realm: &Url) -> bool {
    let (Some(own), Some(other)) = (registry.host(), realm.host()) else { return false };
    // Another port of this machine is another program.
    if is_on_loopback(registry) || is_on_loopback(realm) {
        return registry.origin() == realm.origin();
    }
    if realm.scheme() != "https" {
        return false;
    }
    match (own, other) {
        (Host::Domain(own), Host::Domain(other)) => {
            own == other || is_known_pair(own, other) || is_of_one_owner(own, other)
        }
        (own, other) => own == other,
    }
}

/// Whether registry and token service are among those whose names do not show that they belong together.
fn is_known_pair(registry: &str, realm: &str) -> bool {
    if realm == "api.scaleway.com" {
        return registry.ends_with(".scw.cloud");
    }
    // registry.REGION.aliyuncs.com and dockerauth.REGION.aliyuncs.com.
    let Some(region) = realm.strip_prefix("dockerauth.") else { return false };
    region.ends_with(".aliyuncs.com") && registry.strip_prefix("registry.") == Some(region)
}

/// Domains below which each name is somebody else's: only the registry itself gives tokens there.
const SHARED_DOMAINS: [&str; 25] = [
    "aliyuncs.com", "amazonaws.com", "amazonaws.com.cn", "appspot.com", "azure.com", "azurecr.cn",
    "azurecr.io", "azurewebsites.net", "cloudapp.net", "cloudfront.net", "fly.dev", "github.io", "gitlab.io",
    "googleapis.com", "herokuapp.com", "nip.io", "oraclecloud.com", "ocir.io", "pages.dev", "pkg.dev",
    "run.app", "sslip.io", "vercel.app", "web.app", "workers.dev",
];

/// Second labels under which countries register names, as in `co.uk`.
const SECOND_LEVELS: [&str; 12] =
    ["ac", "co", "com", "edu", "go", "gob", "gov", "gv", "ne", "net", "or", "org"];

/// The domain that the owner of this name has registered; none if it is unknown, or strangers share it.
fn registrable(name: &str) -> Option<&str> {
    let is_shared =
        |domain: &&str| name.strip_suffix(*domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    if SHARED_DOMAINS.iter().any(is_shared) {
        return None;
    }
    let mut labels = name.rsplit('.');
    let (last, second) = (labels.next()?, labels.next()?);
    let has_second_level = last.len() == 2 && SECOND_LEVELS.contains(&second);
    let length = if has_second_level {
        last.len() + second.len() + labels.next()?.len() + 2
    } else {
        last.len() + second.len() + 1
    };
    name.get(name.len().checked_sub(length)?..)
}

fn is_of_one_owner(one: &str, other: &str) -> bool {
    registrable(one).is_some_and(|domain| registrable(other) == Some(domain))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("a URL")
    }

    #[test]
    fn redirects_keep_tls_and_carry_no_login() {
        let at = url("https://ghcr.io/v2/acme/blobs/x");
        for (location, expected) in [
            ("https://storage.example/x?sig=1", Ok("https://storage.example/x?sig=1")),
            ("/elsewhere", Ok("https://ghcr.io/elsewhere")),
            ("//storage.example/x", Ok("https://storage.example/x")),
            ("https://robot:pw@storage.example/x", Ok("https://storage.example/x")),
            ("http://storage.example/x", Err(RedirectError::Plain)),
            ("http://127.0.0.1/x", Err(RedirectError::Plain)),
            ("file:///etc/passwd", Err(RedirectError::NoAddress)),
            ("data:text/plain,x", Err(RedirectError::NoAddress)),
            ("https://", Err(RedirectError::NoAddress)),
        ] {
            assert_eq!(next(&at, Some(location)), expected.map(url), "{location}");
        }
        assert_eq!(next(&at, None), Err(RedirectError::NoAddress));
        let here = url("http://127.0.0.1:5000/v2/x");
        assert_eq!(next(&here, Some("http://localhost:1/x")), Ok(url("http://localhost:1/x")));
        assert_eq!(next(&here, Some("http://10.0.0.1/x")), Err(RedirectError::Plain));
        assert_eq!(next(&here, Some("http://169.254.169.254/latest/meta-data")), Err(RedirectError::Plain));
    }

    #[test]
    fn a_login_goes_to_the_registrys_own_domain_and_to_known_pairs() {
        for (registry, realm) in [
            ("https://ghcr.io/", "https://ghcr.io/token"),
            ("https://registry-1.docker.io/", "https://auth.docker.io/token"),
            ("https://registry.gitlab.com/", "https://gitlab.com/jwt/auth"),
            ("https://registry.acme.co.uk/", "https://sso.acme.co.uk/token"),
            ("https://acme.azurecr.io/", "https://acme.azurecr.io/oauth2/token"),
            (
                "https://registry.cn-hangzhou.aliyuncs.com/",
                "https://dockerauth.cn-hangzhou.aliyuncs.com/auth",
            ),
            ("https://rg.fr-par.scw.cloud/", "https://api.scaleway.com/registry-internal/v1/tokens"),
            ("https://10.0.0.5:5000/", "https://10.0.0.5:5001/auth"),
            ("http://127.0.0.1:5000/", "http://127.0.0.1:5000/token"),
            ("http://localhost:5000/", "http://localhost:5000/token"),
        ] {
            assert!(may_give_tokens(&url(registry), &url(realm)), "{registry} {realm}");
        }
    }

    #[test]
    fn attack_a_login_goes_to_no_other_domain_whatever_it_is_called() {
        for (registry, realm) in [
            ("https://ghcr.io/", "https://ghcr.io.attacker.example/token"),
            ("https://ghcr.io/", "https://notghcr.io/token"),
            ("https://ghcr.io/", "https://ghcr.io@attacker.example/token"),
            ("https://ghcr.io/", "http://ghcr.io/token"),
            ("https://registry.acme.co.uk/", "https://attacker.co.uk/token"),
            ("https://acme.azurecr.io/", "https://attacker.azurecr.io/token"),
            ("https://1.dkr.ecr.eu-west-1.amazonaws.com/", "https://attacker.s3.amazonaws.com/token"),
            ("https://registry.cn-hangzhou.aliyuncs.com/", "https://attacker.cn-hangzhou.aliyuncs.com/auth"),
            ("https://scw.cloud.example/", "https://api.scaleway.com/token"),
            ("https://10.0.0.5:5000/", "https://10.0.0.6:5000/auth"),
            ("https://10.0.0.5:5000/", "https://[::ffff:10.0.0.5]/auth"),
            ("http://127.0.0.1:5000/", "http://127.0.0.1:5001/token"),
            ("http://127.0.0.1:5000/", "https://attacker.example/token"),
            ("https://registry.example/", "https://localhost/token"),
            ("https://co.uk/", "https://attacker.co.uk/token"),
            ("https://intern/", "https://attacker/token"),
        ] {
            assert!(!may_give_tokens(&url(registry), &url(realm)), "{registry} {realm}");
        }
    }
}
