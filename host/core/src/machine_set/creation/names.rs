//! Names of a set's Machines.
//!
//! A Machine's name follows from its set and its ordinal, and a reconcile uses the lowest open ordinals: those above
//! the closed ordinal of the set that no visible Machine has. So a reconcile that does not see the Machines of an
//! earlier one requests the same names, the API server refuses them, and nothing is created twice: not after a crash,
//! not with a cache that is behind, not by a request that arrives late.
//!
//! An ordinal is closed before its Machine is deleted, so that no Machine gets the name of a deleted one.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::value::id::{Name, Uid};

use super::create;
use crate::machine_set::effect::{NameTakenBy, SetProgress};
use crate::machine_set::facts::{ChildFact, SetView};
use crate::machine_set::members;
use crate::machine_set::removal::choose;

/// The number of characters at the end of a name that distinguish the Machines of a set.
const SUFFIX_CHARS: usize = 5;

/// The characters that Kubernetes uses for this: no vowels, so that no words appear.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// 27^5: the number of suffixes, and of Machines that a set can have in its life.
const SUFFIXES: u32 = 14_348_907;

/// Coprime to [`SUFFIXES`], a power of three, so that no two ordinals of a set have the same suffix before all are
/// used. Large, so that neighbours look different.
const STRIDE: u32 = 8_867_513;

/// The longest name: labels of Nodes hold names of Machines, and a label's value has at most 63 characters.
const NAME_CHARS: usize = 63;

/// Returns the name of a set's Machine. It never changes.
pub fn name(set: &Name, uid: &Uid, ordinal: u32) -> Name {
    let suffixes = u64::from(SUFFIXES);
    let mut left = (fnv(uid) % suffixes + u64::from(ordinal) % suffixes * u64::from(STRIDE)) % suffixes;
    let suffix = (0..SUFFIX_CHARS).map(|_| {
        let digit = left % 27;
        left /= 27;
        // A digit of base 27 is in the alphabet.
        ALPHABET.get(digit as usize).copied().map_or('b', char::from)
    });
    let suffix: String = suffix.collect();
    // Names of objects are ASCII, so that characters are bytes.
    let prefix: String = set.as_str().chars().take(NAME_CHARS - SUFFIX_CHARS - 1).collect();
    // A cut after a dot would begin a part of the name with a dash.
    Name::new(format!("{}-{suffix}", prefix.trim_end_matches(['.', '-'])))
}

/// Returns the ordinal that is written on a Machine, if its name follows from it. That of another set, or a changed
/// one, does not count.
pub fn ordinal_of(set: &Name, uid: &Uid, machine: &Name, text: &str) -> Option<u32> {
    text.parse().ok().filter(|ordinal| *ordinal < SUFFIXES && name(set, uid, *ordinal) == *machine)
}

fn fnv(uid: &Uid) -> u64 {
    uid.as_str().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Returns the ordinals of all visible Machines, whatever their owner.
fn seen(view: &SetView, progress: &SetProgress) -> BTreeSet<u32> {
    members::all(view, progress).iter().filter_map(|machine| machine.ordinal).collect()
}

fn is_closed(view: &SetView, ordinal: u32) -> bool {
    view.set.closed_ordinal.is_some_and(|closed| ordinal <= closed)
}

/// Returns the open ordinals that this reconcile has not tried, the lowest first.
pub(crate) fn open(view: &SetView, progress: &SetProgress) -> impl Iterator<Item = u32> {
    let seen = seen(view, progress);
    let tried: BTreeSet<u32> = progress.created.keys().copied().collect();
    // A Machine without its ordinal still has its name.
    let names: BTreeSet<Name> = members::all(view, progress)
        .iter()
        .filter(|machine| machine.ordinal.is_none())
        .map(|machine| machine.name.clone())
        .collect();
    let (key, uid) = (&view.set.key.name, &view.set.uid);
    let is_there = move |ordinal: u32| !names.is_empty() && names.contains(&name(key, uid, ordinal));
    let first = view.set.closed_ordinal.map_or(0, |closed| closed.saturating_add(1));
    (first..SUFFIXES)
        .filter(move |ordinal| !seen.contains(ordinal) && !tried.contains(ordinal) && !is_there(*ordinal))
}

/// Returns whether the set has closed a higher ordinal than any visible Machine has: either that Machine is gone, or
/// the cache does not show it yet.
pub(crate) fn may_be_unseen(view: &SetView, progress: &SetProgress) -> bool {
    view.set.closed_ordinal > members::all(view, progress).iter().filter_map(|machine| machine.ordinal).max()
}

/// Returns the ordinal to close: when a Machine with an open ordinal is being deleted or about to be; when a lower open
/// one was skipped and no Machine is missing that could get it; or when others have the names.
pub(crate) fn to_close(view: &SetView, progress: &SetProgress, now: Timestamp) -> Option<u32> {
    let highest = of_machines(view, progress, now);
    highest.max(of_others(view, progress))
}

/// Returns the ordinal to close when so many names in a row belong to others that the reconcile stops: to Machines that
/// this set has transferred, for example. They are not tried again. All lower open ones were tried before.
fn of_others(view: &SetView, progress: &SetProgress) -> Option<u32> {
    let is_of_others = |name: &Name| matches!(progress.taken.get(name), Some(Ok(NameTakenBy::Other)));
    let taken = progress.created.iter().filter(|(_, attempt)| is_of_others(&attempt.name));
    let ordinals: Vec<u32> = taken.map(|(ordinal, _)| *ordinal).collect();
    let are_many = ordinals.len() >= create::FOREIGN_NAMES;
    ordinals.into_iter().max().filter(|ordinal| are_many && !is_closed(view, *ordinal))
}

fn of_machines(view: &SetView, progress: &SetProgress, now: Timestamp) -> Option<u32> {
    let seen = seen(view, progress);
    let highest = seen.last().copied().filter(|highest| !is_closed(view, *highest))?;
    let is_open = |machine: &ChildFact| machine.ordinal.is_some_and(|ordinal| !is_closed(view, ordinal));
    let is_leaving =
        members::all(view, progress).iter().any(|machine| machine.is_terminating() && is_open(machine))
            || choose::plan(view, progress, now).into_iter().any(|(machine, _)| is_open(machine));
    let left_out = || {
        let first = view.set.closed_ordinal.map_or(0, |closed| closed.saturating_add(1));
        let open = seen.range(first..).count();
        usize::try_from(highest.saturating_sub(first)).is_ok_and(|width| open <= width)
    };
    let owners_are_known = create::missing(view, progress) == 0;
    (is_leaving || (owners_are_known && left_out())).then_some(highest)
}

/// Returns whether an ordinal must still be closed, so that no Machine may be created or deleted.
pub(crate) fn is_unwritten(view: &SetView, progress: &SetProgress, now: Timestamp) -> bool {
    to_close(view, progress, now).is_some() && !matches!(progress.write_set, Some(Ok(())))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_name_is_the_same_for_ever() {
        let name_of = |set: &str, ordinal| name(&set.into(), &"uid-1".into(), ordinal).to_string();
        assert_eq!([name_of("pool", 0), name_of("pool", 1)], ["pool-2z47v", "pool-gxlvj"]);
        assert_eq!(name_of(&"p".repeat(80), 0).len(), NAME_CHARS);
        assert_eq!(name_of(&format!("{}.pool", "p".repeat(56)), 0), format!("{}-2z47v", "p".repeat(56)));
    }

    #[test]
    fn no_two_ordinals_of_a_set_share_a_name() {
        let names: BTreeSet<Name> =
            (0..100_000).map(|ordinal| name(&"pool".into(), &"uid-1".into(), ordinal)).collect();
        assert_eq!(names.len(), 100_000);
        assert!(SUFFIXES == 27_u32.pow(5) && STRIDE < SUFFIXES && !STRIDE.is_multiple_of(3));
        assert!(ALPHABET.iter().collect::<BTreeSet<_>>().len() == 27);
    }

    #[test]
    fn an_ordinal_is_believed_where_the_name_follows_from_it() {
        let of =
            |machine: &str, text: &str| ordinal_of(&"pool".into(), &"uid-1".into(), &machine.into(), text);
        assert_eq!(of("pool-2z47v", "0"), Some(0));
        assert_eq!(of("pool-gxlvj", "0"), None);
        assert_eq!(of("pool-2z47v", "14348907"), None);
        assert_eq!(of("pool-2z47v", "first"), None);
    }

    #[test]
    fn a_set_that_is_created_again_under_its_old_name_names_its_machines_differently() {
        let of = |uid: &str| name(&"pool".into(), &uid.into(), 0);
        assert_ne!(of("uid-1"), of("uid-2"));
    }
}
