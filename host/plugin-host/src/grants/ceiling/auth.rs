//! Ways of authenticating within others. Keys of the Secret are compared, too: under another key a token service
//! would be shown another value.

use super::super::auth::{
    AssertionKey, AuthGrant, AuthWay, KeyNames, KeystoneGrant, NamePattern, SigV4Grant, WebIdentityGrant,
};
use super::super::{FilePrefix, HostPattern};
use super::are_within;

/// Returns the part that even the nearest grant does not allow. `None`: some grant allows all of it.
pub(super) fn beyond(grant: &AuthGrant, hosts: &[&HostPattern], ceiling: &[AuthGrant]) -> Option<String> {
    let scheme = grant.scheme().name();
    let mut nearest = format!("it grants no {scheme}");
    for wide in ceiling.iter().filter(|wide| wide.scheme() == grant.scheme()) {
        match way(&grant.way, &wide.way) {
            Some(problem) => nearest = format!("it grants {scheme} {problem}"),
            None if are_within(hosts, &wide.hosts) => return None,
            None => nearest = format!("it grants {scheme} for other hosts only"),
        }
    }
    Some(nearest)
}

fn way(own: &AuthWay, wide: &AuthWay) -> Option<String> {
    match (own, wide) {
        (AuthWay::AwsSigV4(own), AuthWay::AwsSigV4(wide)) => sigv4(own, wide),
        (AuthWay::Bearer(own), AuthWay::Bearer(wide)) => {
            unless(own.header == wide.header && own.prefix == wide.prefix, || {
                format!("in another header or with another prefix than {}", own.header)
            })
            .or_else(|| keys([(&own.token_keys, &wide.token_keys)]))
        }
        (AuthWay::Basic(own), AuthWay::Basic(wide)) => {
            keys([(&own.username_keys, &wide.username_keys), (&own.password_keys, &wide.password_keys)])
        }
        (AuthWay::ClientCredentials(own), AuthWay::ClientCredentials(wide)) => {
            let url = unless(own.token_url == wide.token_url, || not(&own.token_url));
            url.or_else(|| unless(own.client_auth == wide.client_auth, || not(own.client_auth.name())))
                .or_else(|| patterns("scope", &own.scopes, &wide.scopes))
                .or_else(|| {
                    keys([
                        (&own.client_id_keys, &wide.client_id_keys),
                        (&own.client_secret_keys, &wide.client_secret_keys),
                    ])
                })
        }
        (AuthWay::JwtBearer(own), AuthWay::JwtBearer(wide)) => {
            let url = unless(own.token_url == wide.token_url, || not(&own.token_url));
            url.or_else(|| unless(own.audience == wide.audience, || "for another audience".to_owned()))
                .or_else(|| patterns("scope", &own.scopes, &wide.scopes))
                .or_else(|| assertion(&own.key, &wide.key))
        }
        (AuthWay::Keystone(own), AuthWay::Keystone(wide)) => keystone(own, wide),
        (
            AuthWay::AwsSigV4(_)
            | AuthWay::Bearer(_)
            | AuthWay::Basic(_)
            | AuthWay::ClientCredentials(_)
            | AuthWay::JwtBearer(_)
            | AuthWay::Keystone(_),
            _,
        ) => Some("not".to_owned()),
    }
}

fn sigv4(own: &SigV4Grant, wide: &SigV4Grant) -> Option<String> {
    let service = own.services.iter().find(|service| !wide.services.contains(service)).map(not);
    service
        .or_else(|| patterns("region", &own.regions, &wide.regions))
        .or_else(|| {
            let (KeyNames { access_key_id, secret_access_key, session_token }, wide) =
                (&own.keys, &wide.keys);
            keys([
                (access_key_id, &wide.access_key_id),
                (secret_access_key, &wide.secret_access_key),
                (session_token, &wide.session_token),
            ])
        })
        .or_else(|| match (&own.web_identity, &wide.web_identity) {
            (None, _) => None,
            (Some(_), None) => Some("without web identity".to_owned()),
            (Some(own), Some(wide)) => web_identity(own, wide),
        })
}

fn web_identity(own: &WebIdentityGrant, wide: &WebIdentityGrant) -> Option<String> {
    let is_below = |own: &FilePrefix, wide: &FilePrefix| own == wide || wide.covers(own.path());
    let role = own.roles.iter().find(|own| !wide.roles.iter().any(|wide| wide.covers(own)));
    let file = own.token_files.iter().find(|own| !wide.token_files.iter().any(|wide| is_below(own, wide)));
    unless(own.sts == wide.sts, || not(&own.sts))
        .or_else(|| file.map(|file| not(file.path().display())))
        .or_else(|| role.map(not))
        .or_else(|| {
            unless(own.token_file_key == wide.token_file_key && own.role_arn_key == wide.role_arn_key, || {
                "with other keys of the Secret".to_owned()
            })
        })
}

/// Where the ceiling leaves the place to the Secret, grants may not name another one, nor the other way round.
fn keystone(own: &KeystoneGrant, wide: &KeystoneGrant) -> Option<String> {
    let url =
        own.url.as_ref().map_or_else(|| "the place that the Secret names".to_owned(), ToString::to_string);
    unless(own.url == wide.url, || not(url)).or_else(|| {
        let (own, wide) = (own.keys.all(), wide.keys.all());
        keys(own.into_iter().zip(wide).map(|((_, own), (_, wide))| (own, wide)))
    })
}

fn assertion(own: &AssertionKey, wide: &AssertionKey) -> Option<String> {
    match (own, wide) {
        (AssertionKey::ServiceAccount(own), AssertionKey::ServiceAccount(wide)) => keys([(own, wide)]),
        (
            AssertionKey::Pem { private_key, issuer, key_id },
            AssertionKey::Pem { private_key: wide_key, issuer: wide_issuer, key_id: wide_id },
        ) => keys([(private_key, wide_key), (issuer, wide_issuer), (key_id, wide_id)]),
        (AssertionKey::ServiceAccount(_), AssertionKey::Pem { .. })
        | (AssertionKey::Pem { .. }, AssertionKey::ServiceAccount(_)) => {
            Some("with another kind of key".to_owned())
        }
    }
}

fn keys<'a>(pairs: impl IntoIterator<Item = (&'a Vec<String>, &'a Vec<String>)>) -> Option<String> {
    let foreign = |(own, wide): (&'a Vec<String>, &Vec<String>)| own.iter().find(|key| !wide.contains(key));
    pairs.into_iter().find_map(foreign).map(|key| format!("not with key {key} of the Secret"))
}

fn patterns(what: &str, own: &[NamePattern], wide: &[NamePattern]) -> Option<String> {
    let foreign = own.iter().find(|own| !wide.iter().any(|wide| wide.covers(own)));
    foreign.map(|pattern| format!("not for {what} {pattern}"))
}

fn unless(is_within: bool, problem: impl FnOnce() -> String) -> Option<String> {
    (!is_within).then(problem)
}

fn not(what: impl std::fmt::Display) -> String {
    format!("not for {what}")
}
