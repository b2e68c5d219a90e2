//! Challenges and redirects of registries: where a login may go.

use machinist_artifacts::registry::fuzz::{challenge, redirect};
use url::{Host, Url};

use crate::mutate::Grammar;
use crate::samples;
use crate::target::{Shape, Target, Verdict, promise};

pub(crate) const TARGET: Target = Target {
    name: "challenge",
    about: "WWW-Authenticate and Location: a login goes to the registry's own domain over TLS, a redirect keeps TLS",
    grammar: Grammar::Text,
    samples,
    words: &[
        "Bearer", "Basic", "realm=", "service=", "scope=", "https://", "http://", "ghcr.io",
        "attacker.example", ".ghcr.io", "ghcr.io@", "ghcr.io.", "auth.docker.io", "127.0.0.1", "localhost",
        "169.254.169.254", "co.uk", "//", "\\", "#", "?", "user:pw@", "file:///", "data:", ":443", ":5000",
    ],
    share: 40,
    check,
};

const REGISTRIES: [&str; 5] = [
    "https://ghcr.io/", "https://registry-1.docker.io/", "https://registry.acme.co.uk/",
    "https://10.0.0.5:5000/", "http://127.0.0.1:5000/",
];

fn samples() -> Vec<Vec<u8>> {
    samples::texts(&[
        "Bearer realm=\"https://ghcr.io/token\",service=\"ghcr.io\",scope=\"repository:a/b:pull\"",
        "Bearer realm=\"https://auth.docker.io/token\",service=\"registry.docker.io\"",
        "Basic realm=\"x\"",
        "bearer service=s, realm=https://sso.acme.co.uk/t",
        "https://storage.example/x?sig=1",
        "/v2/a/b/blobs/x",
        "http://127.0.0.1:5000/elsewhere",
        "https://robot:pw@storage.example/x",
    ])
}

fn check(input: &[u8]) -> Verdict {
    let text = String::from_utf8_lossy(input);
    let mut shape = Shape::of("");
    for registry in REGISTRIES {
        let registry = Url::parse(registry).map_err(|error| error.to_string())?;
        let read = challenge(&registry, &text);
        if let Ok(Some((realm, true))) = &read {
            promise(is_own(&registry, realm), || format!("the login for {registry} goes to {realm}"))?;
        }
        let next = redirect(&registry, Some(&text));
        if let Ok(next) = &next {
            let is_safe = next.scheme() == "https" || (registry.scheme() == "http" && is_here(next));
            promise(is_safe && next.username().is_empty() && next.password().is_none(), || {
                format!("{registry} leads to {next}")
            })?;
        }
        let may = read.map(|read| read.map(|(_, may)| may));
        shape = shape
            .and(Shape::of_result(&may))
            .and(Shape::of_result(&next.map(|next| next.scheme().to_owned())));
    }
    Ok(shape)
}

/// The rule in other words: the same host, or names that share the last two labels, of which the last but one is a
/// name that somebody registers.
fn is_own(registry: &Url, realm: &Url) -> bool {
    if is_here(registry) || is_here(realm) {
        return registry.origin() == realm.origin();
    }
    let labels = |url: &Url| match url.host() {
        Some(Host::Domain(name)) => name.rsplit('.').map(str::to_owned).collect::<Vec<_>>(),
        _ => Vec::new(),
    };
    let (own, other) = (labels(registry), labels(realm));
    let shared = if own.get(1).is_some_and(|label| label == "co") { 3 } else { 2 };
    let is_near = own.len() >= shared && own.get(..shared) == other.get(..shared);
    realm.scheme() == "https" && (registry.host() == realm.host() || is_near)
}

fn is_here(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}
