//! When VMs in service are queried again, so that changes are noticed.
//!
//! Each Machine has its time within the interval, by its uid: queries are spread evenly, also after a start, and
//! nothing is stored.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::value::id::{ObjectKey, Uid};

/// How often a VM is queried.
pub const INTERVAL: SignedDuration = SignedDuration::from_hours(1);

/// How often a VM is queried while the last query has failed and the status says so.
pub const UNSEEN_INTERVAL: SignedDuration = SignedDuration::from_mins(10);

/// The time between two queries that find nothing before a VM counts as gone, unless reads lag longer.
pub const SECOND_CHECK: SignedDuration = SignedDuration::from_mins(2);

/// When a VM is queried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VmCheckFact {
    /// At this time, or as soon as possible after it.
    pub next: Timestamp,
    /// The time between queries.
    pub interval: SignedDuration,
    /// When it was first not found after its last sighting.
    pub missed: Option<Timestamp>,
    /// The status reports a problem with its presence.
    pub is_doubted: bool,
    /// The status says that no query proves it to be the Machine's.
    pub is_unproven: bool,
}

/// The reason of condition `VmPresent` for a VM that is found.
pub const VM_FOUND: &str = "VmFound";

/// Its reason when no query proves the VM to be the Machine's.
pub const VM_NOT_PROVEN: &str = "VmNotProven";

/// The reported presence of the VM, by the status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportedVm {
    /// Nothing, or that it is found.
    Nothing,
    /// A problem with it.
    Trouble,
    /// No query proves it to be the Machine's.
    Unproven,
    /// The last query has failed.
    Unseen,
}

impl ReportedVm {
    /// Parses the reason of condition `VmPresent`.
    pub fn of(reason: Option<&str>) -> Self {
        match reason {
            None | Some(VM_FOUND) => Self::Nothing,
            Some(VM_NOT_PROVEN) => Self::Unproven,
            Some(_) => Self::Trouble,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct LastCheck {
    last: Timestamp,
    missed: Option<Timestamp>,
}

/// The result of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckResult {
    Found,
    /// The cloud says that it is missing.
    Missing,
    /// The cloud could not be queried.
    Unknown,
}

/// The queries of this process. A restart forgets them and starts again, spread as before.
///
/// Assumes that [`VmChecks::forget`] is called for Machines that are gone.
#[derive(Clone, Debug, Default)]
pub struct VmChecks {
    known: BTreeMap<ObjectKey, LastCheck>,
}

impl VmChecks {
    /// Returns when the VM of this Machine is queried.
    pub fn fact(&mut self, key: &ObjectKey, uid: &Uid, reported: ReportedVm, now: Timestamp) -> VmCheckFact {
        let fresh = LastCheck { last: now, missed: None };
        let known = *self.known.entry(key.clone()).or_insert(fresh);
        let machines = i64::try_from(self.known.len()).unwrap_or(i64::MAX);
        let interval = if reported == ReportedVm::Unseen { UNSEEN_INTERVAL } else { INTERVAL };
        let interval = interval.max(SignedDuration::from_secs(machines));
        // A clock that was set back starts again.
        let last = known.last.min(now);
        VmCheckFact {
            next: next_after(last, uid, interval),
            interval,
            missed: known.missed,
            is_doubted: reported != ReportedVm::Nothing,
            is_unproven: reported == ReportedVm::Unproven,
        }
    }

    /// Notes a query of this Machine's VM, for any reason.
    pub fn looked(&mut self, key: &ObjectKey, looked: CheckResult, now: Timestamp) {
        let Some(known) = self.known.get_mut(key) else { return };
        known.last = now;
        known.missed = match looked {
            CheckResult::Found => None,
            CheckResult::Missing => known.missed.or(Some(now)),
            CheckResult::Unknown => known.missed,
        };
    }

    /// The Machine is gone.
    pub fn forget(&mut self, key: &ObjectKey) {
        self.known.remove(key);
    }
}

/// Returns the next time after `last` that the Machine has in the interval.
fn next_after(last: Timestamp, uid: &Uid, interval: SignedDuration) -> Timestamp {
    let interval = interval.as_secs().max(1);
    let place = place(uid) % interval;
    let rounds = (last.as_second() - place).div_euclid(interval) + 1;
    Timestamp::from_second(place + rounds * interval).unwrap_or(Timestamp::MAX)
}

/// FNV-1a, without its sign.
fn place(uid: &Uid) -> i64 {
    let hash = uid.as_str().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    // Shifted, it fits.
    (hash >> 16) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_000_000_000 + second).unwrap()
    }

    fn key(number: usize) -> ObjectKey {
        ObjectKey::new("garden", format!("m-{number}").as_str())
    }

    #[test]
    fn looks_are_spread_over_the_interval_and_come_once_in_each() {
        let (mut checks, mut seconds) = (VmChecks::default(), Vec::new());
        for number in 0..600 {
            let uid = Uid::new(format!("uid-{number}").as_str());
            let fact = checks.fact(&key(number), &uid, ReportedVm::Nothing, at(0));
            let wait = fact.next.as_second() - at(0).as_second();
            assert!((1..=3_600).contains(&wait), "{wait}");
            assert_eq!(
                checks.fact(&key(number), &uid, ReportedVm::Nothing, at(3_599)).next,
                fact.next,
                "until it was done"
            );
            checks.looked(&key(number), CheckResult::Found, fact.next);
            let then = checks.fact(&key(number), &uid, ReportedVm::Nothing, fact.next).next;
            assert_eq!(then.duration_since(fact.next), INTERVAL);
            seconds.push(wait);
        }
        for part in 0..6 {
            let here = seconds.iter().filter(|wait| (**wait - 1) / 600 == part).count();
            assert!((60..=140).contains(&here), "{here} in part {part}");
        }
    }

    #[test]
    fn many_machines_are_looked_at_once_a_second_in_all() {
        let mut checks = VmChecks::default();
        let facts =
            (0..20_000).map(|number| checks.fact(&key(number), &Uid::new("u"), ReportedVm::Nothing, at(0)));
        assert_eq!(facts.last().unwrap().interval, SignedDuration::from_secs(20_000));
    }

    #[test]
    fn what_was_missed_is_remembered_until_it_is_found_or_forgotten() {
        let (mut checks, uid) = (VmChecks::default(), Uid::new("u"));
        let missed = |checks: &mut VmChecks| checks.fact(&key(1), &uid, ReportedVm::Nothing, at(900)).missed;
        checks.looked(&key(1), CheckResult::Missing, at(0));
        assert_eq!(missed(&mut checks), None, "nobody asked for it");
        for (looked, expected) in [
            (CheckResult::Missing, Some(at(1))),
            (CheckResult::Unknown, Some(at(1))),
            (CheckResult::Missing, Some(at(1))),
            (CheckResult::Found, None),
        ] {
            checks.looked(&key(1), looked, at(1));
            assert_eq!(missed(&mut checks), expected, "{looked:?}");
        }
        checks.looked(&key(1), CheckResult::Missing, at(1));
        checks.forget(&key(1));
        assert_eq!(missed(&mut checks), None);
    }
}
