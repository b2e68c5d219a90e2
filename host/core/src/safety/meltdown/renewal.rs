//! Spaces Machines that fail at once since the name of their Node is taken: one after the other, with growing pauses.
//!
//! The next VM usually gets another name, so that the first one is replaced at once. If it does not, each replacement
//! costs a VM for nothing: the pauses grow to the time that a Machine has to join.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::value::id::ObjectKey;

use super::OwnerGroup;

/// The pause after the first one, doubled with each that follows.
const FIRST_PAUSE: SignedDuration = SignedDuration::from_mins(1);

/// The longest pause: the creation time-out by default.
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_mins(20);

/// After this time without one, the next one is a first one.
const FORGOTTEN: SignedDuration = SignedDuration::from_hours(1);

/// The pause before the next request while another one is being replaced.
const TURN: SignedDuration = SignedDuration::from_secs(20);

#[derive(Clone, Debug)]
struct Renewed {
    last: ObjectKey,
    at: Timestamp,
    times: u32,
}

impl Renewed {
    fn pause(&self) -> SignedDuration {
        // More doublings than lead to the longest pause change nothing.
        let doublings = self.times.saturating_sub(1).min(8);
        FIRST_PAUSE.saturating_mul(1 << doublings).min(LONGEST_PAUSE)
    }
}

/// The last one of each group.
#[derive(Clone, Debug, Default)]
pub(super) struct Renewals(BTreeMap<OwnerGroup, Renewed>);

impl Renewals {
    /// Returns `Ok` if this Machine may fail, however often it asks. Otherwise when to ask again. `is_there`: whether a
    /// Machine still exists and has not recovered.
    pub(super) fn ask(
        &mut self,
        group: &OwnerGroup,
        key: &ObjectKey,
        is_there: impl Fn(&ObjectKey) -> bool,
        now: Timestamp,
    ) -> Result<(), SignedDuration> {
        self.0.retain(|_, renewed| now.duration_since(renewed.at).abs() < FORGOTTEN);
        let Some(renewed) = self.0.get_mut(group) else {
            self.0.insert(group.clone(), Renewed { last: key.clone(), at: now, times: 1 });
            return Ok(());
        };
        if renewed.last == *key {
            return Ok(());
        }
        let left = renewed.pause().saturating_sub(now.duration_since(renewed.at)).min(LONGEST_PAUSE);
        if left > SignedDuration::ZERO {
            return Err(left);
        }
        if is_there(&renewed.last) {
            return Err(TURN);
        }
        *renewed = Renewed { last: key.clone(), at: now, times: renewed.times.saturating_add(1) };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minutes(minutes: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minutes)
    }

    fn group() -> OwnerGroup {
        OwnerGroup::Set("garden".into(), "pool".into())
    }

    #[test]
    fn the_first_is_failed_at_once_and_each_further_one_after_a_longer_pause() {
        let mut renewals = Renewals::default();
        let (mut now, mut pauses) = (0, Vec::new());
        for number in 0..8 {
            let key = ObjectKey::new("garden", format!("m-{number}").as_str());
            let begun = now;
            while renewals.ask(&group(), &key, |_| false, minutes(now)).is_err() {
                now += 1;
            }
            pauses.push(now - begun);
        }
        assert_eq!(pauses, [0, 1, 2, 4, 8, 16, 20, 20]);
    }

    #[test]
    fn a_second_request_gets_the_same_answer_and_no_other_does_while_it_is_there() {
        let mut renewals = Renewals::default();
        let (one, other) = (ObjectKey::new("garden", "a"), ObjectKey::new("garden", "b"));
        assert_eq!(renewals.ask(&group(), &one, |_| true, minutes(0)), Ok(()));
        assert_eq!(renewals.ask(&group(), &one, |_| true, minutes(1)), Ok(()), "its write was lost");
        assert_eq!(renewals.ask(&group(), &other, |_| true, minutes(2)), Err(TURN), "one at a time");
        assert_eq!(renewals.ask(&group(), &other, |_| false, minutes(2)), Ok(()));
        let elsewhere = OwnerGroup::Set("garden".into(), "other".into());
        assert_eq!(renewals.ask(&elsewhere, &one, |_| true, minutes(2)), Ok(()));
    }

    #[test]
    fn an_hour_without_one_is_forgotten_and_a_clock_that_jumps_holds_up_nobody() {
        let mut renewals = Renewals::default();
        for (number, at) in [0, 5, 65, -600].into_iter().enumerate() {
            let key = ObjectKey::new("garden", format!("m-{number}").as_str());
            assert_eq!(renewals.ask(&group(), &key, |_| false, minutes(at)), Ok(()), "{at}");
        }
    }
}
