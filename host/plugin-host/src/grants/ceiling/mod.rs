//! Whether grants stay below a ceiling, which the writer of the grants cannot change.
//!
//! One rule of the ceiling alone must allow a rule of the grants. Limits are not compared: the host has its own. Shadow
//! reads are not compared either: a version that serves could make the same reads.
//! Lines of `auth` are compared by their schemes, in [`crate::auth`].
//!
//! | module | compares |
//! | --- | --- |
//! | `egress` | egress rules |

mod egress;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use machinist_core::value::id::ProviderName;

use super::{EgressRule, GrantedPlace, Grants, RequestPlace, SecretGrant, SecretKey};
use crate::auth::AuthGrant;
use crate::target::HostPattern;

/// The number of parts that are named: the author of the grants checks all of them anyway.
const MOST_NAMED: usize = 8;

impl Grants {
    /// Returns the parts of these grants that the ceiling does not allow, each with its place. Empty: they stay within
    /// it.
    pub fn beyond(&self, ceiling: &Self) -> Vec<String> {
        let egress = each("egress", &self.egress, |rule| egress::beyond(rule, &ceiling.egress));
        let secrets = each("secrets", &self.secrets, |grant| self.secret_beyond(grant, ceiling));
        let auth = each("auth", &self.auth, |grant| {
            auth_beyond(grant, &hosts_of(grant.hosts(), &self.egress), &ceiling.auth)
        });
        let reveal = self.reveal.iter().filter(|key| !ceiling.lets_reveal(key));
        let reveal = reveal.map(|key| format!("reveal: {key}"));
        let foreign = self.roots.iter().filter(|root| !ceiling.roots.contains(root)).count();
        let roots = (foreign > 0).then(|| format!("ca: {foreign} certificates that it does not have"));
        let providers = beyond_providers(self.providers.as_ref(), ceiling.providers.as_ref());
        let all = egress.chain(secrets).chain(auth).chain(reveal).chain(roots).chain(providers);
        all.take(MOST_NAMED).collect()
    }

    /// Whether this ceiling lets a plugin see the value. A part of a document is less than the whole, which does not
    /// hold the other way round.
    fn lets_reveal(&self, key: &SecretKey) -> bool {
        self.reveal.contains(key)
            || match key {
                SecretKey::Part(part) => self.reveal.contains(&SecretKey::named(part.key())),
                SecretKey::Key(_) | SecretKey::UserData => false,
            }
    }

    fn secret_beyond(&self, grant: &SecretGrant, ceiling: &Self) -> Option<String> {
        let hosts = hosts_of(&grant.hosts, &self.egress);
        let of_key: Vec<&SecretGrant> = ceiling.secret(&grant.key).collect();
        if of_key.is_empty() {
            return Some(format!("it names secret {} nowhere", grant.key));
        }
        for place in &grant.places {
            let with_place: Vec<_> = of_key.iter().filter(|grant| grant.places.contains(place)).collect();
            if with_place.is_empty() {
                return Some(format!("it grants secret {} no place {}", grant.key, shown(place)));
            }
            if !with_place.iter().any(|wide| are_within(&hosts, &wide.hosts)) {
                return Some(format!("it lets secret {} go to other hosts only", grant.key));
            }
        }
        None
    }
}

/// Returns the part that even the nearest grant of the ceiling does not allow. `None`: some grant allows all of it.
fn auth_beyond(grant: &AuthGrant, hosts: &[&HostPattern], ceiling: &[AuthGrant]) -> Option<String> {
    let scheme = grant.scheme();
    let mut nearest = format!("it grants no {scheme}");
    for wide in ceiling.iter().filter(|wide| wide.scheme() == scheme) {
        match grant.beyond(wide) {
            Some(problem) => nearest = format!("it grants {scheme} {problem}"),
            None if are_within(hosts, wide.hosts()) => return None,
            None => nearest = format!("it grants {scheme} for other hosts only"),
        }
    }
    Some(nearest)
}

/// Of a list with places such as `egress[0]`.
fn each<'a, T>(
    list: &'static str,
    all: &'a [T],
    beyond: impl Fn(&T) -> Option<String> + 'a,
) -> impl Iterator<Item = String> + 'a {
    let placed = move |(index, one): (usize, &'a T)| Some(format!("{list}[{index}]: {}", beyond(one)?));
    all.iter().enumerate().filter_map(placed)
}

fn beyond_providers(
    providers: Option<&BTreeSet<ProviderName>>,
    ceiling: Option<&BTreeSet<ProviderName>>,
) -> Option<String> {
    // Grants that say nothing are judged by what the component claims.
    let foreign: Vec<&str> = providers?.difference(ceiling?).map(ProviderName::as_str).collect();
    (!foreign.is_empty()).then(|| format!("providers: {}", foreign.join(", ")))
}

/// The hosts that a line is about: without any, all that the egress rules grant.
fn hosts_of<'a>(hosts: &'a [HostPattern], egress: &'a [EgressRule]) -> Vec<&'a HostPattern> {
    if hosts.is_empty() { egress.iter().map(|rule| &rule.host).collect() } else { hosts.iter().collect() }
}

/// An empty list is all hosts that the ceiling's own egress rules grant, which the egress rules are compared with.
fn are_within(hosts: &[&HostPattern], wide: &[HostPattern]) -> bool {
    wide.is_empty() || hosts.iter().all(|host| wide.iter().any(|wide| wide.covers(host)))
}

fn shown(granted: &GrantedPlace) -> String {
    let place = match &granted.place {
        RequestPlace::Header(name) => format!("header {name}"),
        RequestPlace::Json(pointer) => format!("json {pointer}"),
        RequestPlace::Form(field) => format!("form {field}"),
    };
    if granted.prefix.is_empty() { place } else { format!("{place} with prefix {:?}", granted.prefix) }
}
