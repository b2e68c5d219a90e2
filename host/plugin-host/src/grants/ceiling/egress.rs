//! Egress rules within others.

use super::super::{EgressRule, FormCondition};
use crate::target::PathPattern;

/// Returns the part that even the nearest rule does not allow. `None`: some rule allows all of it.
pub(super) fn beyond(rule: &EgressRule, ceiling: &[EgressRule]) -> Option<String> {
    let mut nearest = (0, format!("it grants no host {}", rule.host));
    for wide in ceiling {
        match stops_at(rule, wide) {
            None => return None,
            Some(stop) if stop.0 > nearest.0 => nearest = stop,
            Some(_) => {}
        }
    }
    Some(nearest.1)
}

/// How far the rule gets, from the farthest to the nearest, and what stops it.
fn stops_at(rule: &EgressRule, wide: &EgressRule) -> Option<(u8, String)> {
    let host = &rule.host;
    if !wide.host.covers(host) {
        return Some((0, format!("it grants no host {host}")));
    }
    if rule.scheme != wide.scheme {
        return Some((1, format!("it grants {host} no scheme {}", rule.scheme.name())));
    }
    if let Some(port) = rule.ports.difference(&wide.ports).next() {
        return Some((2, format!("it grants {host} no port {port}")));
    }
    if let Some(method) = beyond_list(&rule.methods, &wide.methods, |wide, method| wide == method) {
        return Some((3, format!("it grants {host} not {}", or_all(method, "methods"))));
    }
    if let Some(path) = beyond_list(&rule.paths, &wide.paths, PathPattern::is_wider) {
        return Some((4, format!("it grants {host} not {}", or_all(path, "paths"))));
    }
    if let Some(name) = rule.headers.iter().find(|name| !wide.headers.contains(name)) {
        return Some((5, format!("it grants {host} no header {name}")));
    }
    if let Some(condition) = wide.form.iter().find(|wide| !rule.form.iter().any(|own| is_implied(wide, own)))
    {
        return Some((6, format!("it grants {host} only with {condition}")));
    }
    (!wide.addresses.has_all(rule.addresses)).then(|| {
        (7, format!("it grants {host} no such addresses: they are public without a word about them"))
    })
}

/// The first that none of a list allows, where an empty list is all there is. `Some(None)`: all are wanted.
fn beyond_list<'a, T>(own: &'a [T], wide: &[T], allows: impl Fn(&T, &T) -> bool) -> Option<Option<&'a T>> {
    if wide.is_empty() {
        return None;
    }
    if own.is_empty() {
        return Some(None);
    }
    own.iter().find(|own| !wide.iter().any(|wide| allows(wide, own))).map(Some)
}

fn or_all<T: ToString>(one: Option<&T>, all: &str) -> String {
    one.map_or_else(|| format!("all {all}"), ToString::to_string)
}

fn is_implied(wide: &FormCondition, own: &FormCondition) -> bool {
    own.field == wide.field && own.values.is_subset(&wide.values)
}
