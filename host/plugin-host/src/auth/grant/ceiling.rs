//! Parts of a grant that a ceiling does not allow. Keys of the Secret are compared, too: under another key a token
//! service would get another value.

use std::fmt::Display;

use crate::target::NamePattern;

pub(in crate::auth) fn keys<'a>(
    pairs: impl IntoIterator<Item = (&'a Vec<String>, &'a Vec<String>)>,
) -> Option<String> {
    let foreign = |(own, wide): (&'a Vec<String>, &Vec<String>)| own.iter().find(|key| !wide.contains(key));
    pairs.into_iter().find_map(foreign).map(|key| format!("not with key {key} of the Secret"))
}

pub(in crate::auth) fn patterns(kind: &str, own: &[NamePattern], wide: &[NamePattern]) -> Option<String> {
    let foreign = own.iter().find(|own| !wide.iter().any(|wide| wide.covers(own)));
    foreign.map(|pattern| format!("not for {kind} {pattern}"))
}

pub(in crate::auth) fn unless(is_within: bool, problem: impl FnOnce() -> String) -> Option<String> {
    (!is_within).then(problem)
}

pub(in crate::auth) fn not(part: impl Display) -> String {
    format!("not for {part}")
}
