//! The longest age of a Node: its Machine is replaced before it is older, one after the other and not all at once.

use jiff::{SignedDuration, Timestamp};

use crate::value::id::{Name, Uid};

/// Machines that were created together do not expire together: each expires up to this share of the age earlier, by its
/// uid.
const SPREAD_PERCENT: i64 = 10;

/// A Machine with its age.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aged {
    pub name: Name,
    pub uid: Uid,
    pub created: Timestamp,
}

/// The Machines that are too old, and the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expiry {
    /// Machines that are too old, the one that expired first at the front.
    pub expired: Vec<Name>,
    /// When the next one expires.
    pub next: Option<Timestamp>,
}

/// Returns when a Machine expires. The same Machine always expires at the same time.
pub fn expires(machine: &Aged, longest: SignedDuration) -> Timestamp {
    let thousandth = i64::from(spread(machine.uid.as_str()));
    let earlier = longest.as_secs().saturating_mul(SPREAD_PERCENT).saturating_mul(thousandth) / 100_000;
    let age = longest.saturating_sub(SignedDuration::from_secs(earlier));
    machine.created.checked_add(age).unwrap_or(Timestamp::MAX)
}

/// Returns the Machines that are too old. An age of zero or less is none.
pub fn expiry(machines: &[Aged], longest: SignedDuration, now: Timestamp) -> Expiry {
    if longest <= SignedDuration::ZERO {
        return Expiry::default();
    }
    let mut ends: Vec<(Timestamp, &Name)> =
        machines.iter().map(|machine| (expires(machine, longest), &machine.name)).collect();
    ends.sort();
    let (expired, coming): (Vec<_>, Vec<_>) = ends.into_iter().partition(|(end, _)| *end <= now);
    Expiry {
        expired: expired.into_iter().map(|(_, name)| name.clone()).collect(),
        next: coming.first().map(|(end, _)| *end),
    }
}

/// 0 to 999, the same for the same text.
fn spread(text: &str) -> u16 {
    let hash =
        text.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    u16::try_from(hash % 1_000).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: SignedDuration = SignedDuration::from_hours(24);

    fn at(hour: i64) -> Timestamp {
        Timestamp::from_second(hour * 3_600).unwrap()
    }

    fn machines(count: usize) -> Vec<Aged> {
        let machine = |index: usize| Aged {
            name: format!("m{index:03}").as_str().into(),
            uid: format!("uid-{index}").as_str().into(),
            created: at(0),
        };
        (0..count).map(machine).collect()
    }

    #[test]
    fn nobody_is_older_than_the_limit_and_nobody_goes_much_before_it() {
        let expired = |hour, minutes| {
            let now = at(hour).checked_add(SignedDuration::from_mins(minutes)).unwrap();
            expiry(&machines(200), DAY, now).expired.len()
        };
        assert_eq!((expired(21, 35), expired(24, 0)), (0, 200));
    }

    #[test]
    fn machines_that_were_made_together_do_not_expire_together() {
        let mut ends: Vec<Timestamp> = machines(100).iter().map(|machine| expires(machine, DAY)).collect();
        ends.sort_unstable();
        let at_once =
            ends.windows(10).filter(|ends| ends[9].duration_since(ends[0]) < SignedDuration::from_mins(1));
        assert_eq!(at_once.count(), 0);
    }

    #[test]
    fn the_first_to_expire_is_the_first_to_go_and_the_next_one_is_known() {
        let mut machines = machines(3);
        machines[1].created = at(-48);
        machines[2].created = at(-72);
        let expiry = expiry(&machines, DAY, at(1));
        assert_eq!(expiry.expired, ["m002".into(), "m001".into()]);
        assert_eq!(expiry.next, Some(expires(&machines[0], DAY)));
    }

    #[test]
    fn no_age_is_no_limit_and_times_at_the_end_of_all_times_do_no_harm() {
        assert_eq!(expiry(&machines(3), SignedDuration::ZERO, at(9_999)), Expiry::default());
        assert!(expiry(&machines(3), SignedDuration::MAX, at(9_999)).expired.is_empty());
    }
}
