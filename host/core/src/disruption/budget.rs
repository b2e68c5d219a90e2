//! The disruption budget: how many Machines may be removed within a time, by rollouts, replacements of unhealthy ones,
//! and expiry together.
//!
//! The history is a list of names and times that the caller stores with the object of the budget. Its length is limited
//! by the budget.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::value::duration;
use crate::value::id::Name;

/// The longest history of a budget, since it is stored in an annotation.
const LARGEST: u32 = 1_000;

/// The longest list of any kind: some 85 KiB with the longest names.
const MOST_NOTED: usize = LARGEST as usize;

/// At most this many Machines within any span of this length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    machines: u32,
    within: SignedDuration,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("{0:?} is not a number of Machines and a time, such as 3/1h")]
    Parts(String),
    #[error("{0:?} is not a number of Machines from 1 to 1000")]
    Machines(String),
    #[error("the time of a disruption budget cannot be read or is not above 0")]
    Within(#[source] Option<duration::Error>),
}

/// The Machines that were removed, or may be, and since when.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DisruptionHistory(BTreeMap<Name, Timestamp>);

/// Whether another Machine may be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowance {
    Machines(u32),
    /// None before this time.
    Later(Timestamp),
}

/// Whether several Machines may be removed at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetRoom {
    Now,
    /// Not before this time.
    Later(Timestamp),
    /// The budget is smaller than that.
    Never,
}

impl Budget {
    /// Reads a budget such as `3/1h`.
    ///
    /// # Errors
    ///
    /// When it is none.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let told = |text: &str| text.chars().take(40).collect::<String>();
        let (machines, within) = text.split_once('/').ok_or_else(|| Error::Parts(told(text)))?;
        let number = machines.trim().parse().ok().filter(|machines| (1..=LARGEST).contains(machines));
        let machines = number.ok_or_else(|| Error::Machines(told(machines)))?;
        let within = duration::parse(within.trim()).map_err(|error| Error::Within(Some(error)))?;
        if within <= SignedDuration::ZERO {
            return Err(Error::Within(None));
        }
        Ok(Self { machines, within })
    }

    /// Returns the rest of the budget.
    ///
    /// A time in the future, as after a wrong clock, counts as now: it blocks no longer than others.
    pub fn allowance(self, past: &DisruptionHistory, now: Timestamp) -> Allowance {
        let recent = self.recent(past, now);
        let used = u32::try_from(recent.len()).unwrap_or(u32::MAX);
        match self.machines.saturating_sub(used) {
            0 => {
                // As many of the oldest must expire as are too many, and one more.
                let index = recent.len().saturating_sub(usize::try_from(self.machines).unwrap_or(usize::MAX));
                Allowance::Later(recent.get(index).map_or(now, |at| self.ends(*at)))
            }
            left => Allowance::Machines(left),
        }
    }

    /// Returns whether so many more may be removed at once.
    pub fn room_for(self, machines: u32, past: &DisruptionHistory, now: Timestamp) -> BudgetRoom {
        if machines > self.machines {
            return BudgetRoom::Never;
        }
        let recent = self.recent(past, now);
        let used = u32::try_from(recent.len()).unwrap_or(u32::MAX);
        // This many of the oldest must expire before.
        match used.saturating_sub(self.machines - machines) {
            0 => BudgetRoom::Now,
            many => {
                let last = usize::try_from(many - 1).ok().and_then(|last| recent.get(last));
                last.map_or(BudgetRoom::Now, |at| BudgetRoom::Later(self.ends(*at)))
            }
        }
    }

    /// Returns the removals that count, the oldest first.
    fn recent(self, past: &DisruptionHistory, now: Timestamp) -> Vec<Timestamp> {
        let mut recent: Vec<Timestamp> =
            past.0.values().map(|at| (*at).min(now)).filter(|at| self.ends(*at) > now).collect();
        recent.sort_unstable();
        recent
    }

    /// Returns whether a removal at that time still counts.
    pub fn counts(self, at: Timestamp, now: Timestamp) -> bool {
        self.ends(at.min(now)) > now
    }

    fn ends(self, at: Timestamp) -> Timestamp {
        at.checked_add(self.within).unwrap_or(Timestamp::MAX)
    }
}

impl DisruptionHistory {
    /// Parses the stored text: `machine~time,machine~time`. Invalid entries are skipped: a damaged list must not block
    /// for ever.
    pub fn parse(text: &str) -> Self {
        let entry = |entry: &str| {
            let (name, at) = entry.trim().split_once('~')?;
            Some((Name::new(name), at.parse().ok()?))
        };
        Self(text.split(',').filter_map(entry).collect())
    }

    /// Returns the text to store; `None` for an empty list.
    pub fn to_text(&self) -> Option<String> {
        let entries: Vec<String> = self.0.iter().map(|(name, at)| format!("{name}~{at}")).collect();
        (!entries.is_empty()).then(|| entries.join(","))
    }

    /// Returns since when a Machine is noted.
    pub fn get(&self, name: &Name) -> Option<Timestamp> {
        self.0.get(name).copied()
    }

    /// Returns whether the list is full: lists are stored in annotations, and a server accepts 256 KiB of them for each
    /// object.
    pub fn is_full(&self) -> bool {
        self.0.len() >= MOST_NOTED
    }

    pub fn names(&self) -> impl Iterator<Item = &Name> {
        self.0.keys()
    }

    /// Returns the noted Machines, the earliest first.
    pub fn in_order(&self) -> Vec<(&Name, Timestamp)> {
        let mut entries: Vec<(&Name, Timestamp)> = self.0.iter().map(|(name, at)| (name, *at)).collect();
        entries.sort_by_key(|(name, at)| (*at, (*name).clone()));
        entries
    }

    /// Notes a Machine at this time, in whole seconds.
    pub fn note(&mut self, name: &Name, now: Timestamp) {
        let at = Timestamp::from_second(now.as_second()).unwrap_or(now);
        self.0.insert(name.clone(), at);
    }

    /// Removes the Machines that `keeps` does not keep.
    pub fn retain(&mut self, mut keeps: impl FnMut(&Name, &mut Timestamp) -> bool) {
        self.0.retain(|name, at| keeps(name, at));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn budget(text: &str) -> Budget {
        Budget::parse(text).unwrap()
    }

    fn past(seconds: &[i64]) -> DisruptionHistory {
        let entry = |(number, second): (usize, &i64)| (format!("m{number}").into(), at(*second));
        DisruptionHistory(seconds.iter().enumerate().map(entry).collect())
    }

    #[test]
    fn as_many_are_allowed_as_have_not_been_taken_within_the_time() {
        let three = budget("3/1h");
        assert_eq!(three.allowance(&past(&[]), at(10_000)), Allowance::Machines(3));
        assert_eq!(three.allowance(&past(&[9_000, 9_500]), at(10_000)), Allowance::Machines(1));
        assert_eq!(three.allowance(&past(&[6_000, 9_000, 9_500]), at(10_000)), Allowance::Machines(1));
        assert_eq!(three.allowance(&past(&[9_500, 9_000, 9_900]), at(10_000)), Allowance::Later(at(12_600)));
        // More than the budget, since it was made smaller.
        assert_eq!(
            budget("1/1h").allowance(&past(&[9_000, 9_500]), at(10_000)),
            Allowance::Later(at(13_100))
        );
    }

    #[test]
    fn several_wait_until_enough_of_the_oldest_are_past_and_more_than_it_holds_wait_for_ever() {
        let three = budget("3/1h");
        let room = |machines, seconds: &[i64]| three.room_for(machines, &past(seconds), at(10_000));
        assert_eq!(
            (room(3, &[]), room(2, &[9_000]), room(3, &[6_400])),
            (BudgetRoom::Now, BudgetRoom::Now, BudgetRoom::Now)
        );
        assert_eq!(room(3, &[9_000]), BudgetRoom::Later(at(12_600)));
        assert_eq!(room(2, &[9_500, 9_000, 9_900]), BudgetRoom::Later(at(13_100)));
        assert_eq!((room(4, &[]), room(u32::MAX, &[9_000])), (BudgetRoom::Never, BudgetRoom::Never));
        assert_eq!(room(0, &[9_500, 9_000, 9_900]), BudgetRoom::Now);
    }

    #[test]
    fn a_clock_that_was_ahead_holds_nothing_up_for_longer_than_the_time() {
        assert_eq!(budget("1/1h").allowance(&past(&[999_999]), at(10_000)), Allowance::Later(at(13_600)));
    }

    #[test]
    fn what_is_stored_is_read_again_and_what_is_spoilt_is_left_out() {
        let mut noted = past(&[9_000]);
        noted.note(&"m7".into(), Timestamp::from_millisecond(10_000_700).unwrap());
        let text = noted.to_text().unwrap();
        assert_eq!(text, "m0~1970-01-01T02:30:00Z,m7~1970-01-01T02:46:40Z");
        assert_eq!(DisruptionHistory::parse(&text), noted);
        assert_eq!(DisruptionHistory::parse("never, m0~soon, m0~1970-01-01T00:00:07Z,"), past(&[7]));
        assert_eq!(DisruptionHistory::parse("").to_text(), None);
    }

    #[test]
    fn a_list_is_full_before_no_annotation_could_hold_it() {
        let mut noted = DisruptionHistory::default();
        for number in 0..MOST_NOTED {
            assert!(!noted.is_full());
            noted.note(&format!("{number:063}").as_str().into(), at(9_000));
        }
        assert!(noted.is_full() && noted.to_text().unwrap().len() < 96 * 1_024);
    }

    #[test]
    fn what_counts_no_more_is_known() {
        let hour = budget("2/1h");
        assert!(hour.counts(at(6_401), at(10_000)) && !hour.counts(at(6_400), at(10_000)));
    }

    #[test]
    fn what_is_no_budget_is_named() {
        let error = |text: &str| Budget::parse(text).unwrap_err().to_string();
        assert!(error("3").contains("\"3\" is not a number of Machines and a time"), "{}", error("3"));
        assert!(
            error("0/1h").contains("from 1 to 1000")
                && error("1001/1h").contains("from 1 to")
                && error("x/1h").contains("\"x\"")
        );
        assert!(error("3/never").contains("cannot be read") && error("3/0s").contains("not above 0"));
    }

    proptest! {
        #[test]
        fn no_span_of_the_time_has_more_than_the_budget(machines in 1_u32..4, steps in prop::collection::vec(0_i64..900, 1..60)) {
            let budget = budget(&format!("{machines}/1h"));
            let (mut past, mut now, mut taken) = (DisruptionHistory::default(), 0, Vec::new());
            for (number, step) in steps.into_iter().enumerate() {
                now += step;
                match budget.allowance(&past, at(now)) {
                    Allowance::Machines(_) => {
                        past.note(&format!("m{number}").into(), at(now));
                        taken.push(now);
                    }
                    Allowance::Later(until) => prop_assert!(until > at(now)),
                }
                let within = taken.iter().filter(|at| **at > now - 3_600).count();
                prop_assert!(within <= usize::try_from(machines).unwrap());
            }
        }
    }
}
