//! Alternatives for a Machine that a cloud has no capacity for: an ordered list of pools (a zone, an instance type, a
//! class), and a memory of exhausted ones.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::value::id::Name;

/// The pause of a pool after it was first found exhausted. Capacity returns within minutes, if it does.
pub const FIRST_REST: SignedDuration = SignedDuration::from_mins(10);

/// The longest pause; it doubles with each time in a row. The pool is tried again even then.
pub const LONGEST_REST: SignedDuration = SignedDuration::from_hours(2);

/// The pools that were found exhausted. They are kept in memory only: a restart costs one request too many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exhausted(BTreeMap<Name, Exhaustion>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Exhaustion {
    times: u32,
    until: Timestamp,
}

/// The pool to create a Machine in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice<'a> {
    Pool(&'a Name),
    /// All of them pause; this one ends its pause first.
    Later {
        pool: &'a Name,
        until: Timestamp,
    },
    None,
}

impl Exhausted {
    /// Returns the first pool of the list that does not pause.
    pub fn choose<'a>(&self, pools: &'a [Name], now: Timestamp) -> Choice<'a> {
        let rest =
            |pool: &Name| self.0.get(pool).map(|exhaustion| exhaustion.until).filter(|until| *until > now);
        if let Some(pool) = pools.iter().find(|pool| rest(pool).is_none()) {
            return Choice::Pool(pool);
        }
        // Of those that end their pause at the same time, the first of the list.
        let resting = pools.iter().filter_map(|pool| Some((rest(pool)?, pool)));
        let first = resting.min_by_key(|(until, _)| *until);
        first.map_or(Choice::None, |(until, pool)| Choice::Later { pool, until })
    }

    /// Notes that the cloud has no capacity in a pool. Several answers to calls from before its pause count once.
    pub fn found(&mut self, pool: &Name, now: Timestamp) {
        let known = self.0.get(pool).copied();
        if known.is_some_and(|known| known.until > now) {
            return;
        }
        let times = known.map_or(0, |known| known.times).saturating_add(1);
        let doubled = FIRST_REST.saturating_mul(1 << times.saturating_sub(1).min(10));
        let until = now.checked_add(doubled.min(LONGEST_REST)).unwrap_or(Timestamp::MAX);
        self.0.insert(pool.clone(), Exhaustion { times, until });
    }

    /// Notes that the cloud has created a Machine in a pool.
    pub fn refuted(&mut self, pool: &Name) {
        self.0.remove(pool);
    }

    /// Forgets pools that are no longer named.
    pub fn retain(&mut self, is_named: impl Fn(&Name) -> bool) {
        self.0.retain(|pool, _| is_named(pool));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(minute * 60).unwrap()
    }

    fn pools() -> Vec<Name> {
        ["zone-a", "zone-b", "zone-c"].map(Name::new).to_vec()
    }

    fn chosen(exhausted: &Exhausted, minute: i64) -> String {
        match exhausted.choose(&pools(), at(minute)) {
            Choice::Pool(pool) => pool.to_string(),
            Choice::Later { pool, until } => format!("{pool} at {}", until.as_second() / 60),
            Choice::None => "none".into(),
        }
    }

    #[test]
    fn the_first_pool_is_asked_until_it_is_exhausted_and_again_after_its_rest() {
        let mut exhausted = Exhausted::default();
        assert_eq!(chosen(&exhausted, 0), "zone-a");
        exhausted.found(&"zone-a".into(), at(0));
        assert_eq!((chosen(&exhausted, 9), chosen(&exhausted, 10)), ("zone-b".into(), "zone-a".into()));
    }

    #[test]
    fn when_all_rest_the_first_to_end_its_rest_is_named() {
        let mut exhausted = Exhausted::default();
        exhausted.found(&"zone-b".into(), at(0));
        exhausted.found(&"zone-a".into(), at(1));
        exhausted.found(&"zone-c".into(), at(2));
        assert_eq!(chosen(&exhausted, 3), "zone-b at 10");
        assert_eq!(exhausted.choose(&[], at(3)), Choice::None);
    }

    #[test]
    fn the_rest_doubles_up_to_its_limit_and_begins_again_after_a_success() {
        let mut exhausted = Exhausted::default();
        let pool: Name = "zone-a".into();
        let mut minute = 0;
        let mut rests = Vec::new();
        for _ in 0..6 {
            exhausted.found(&pool, at(minute));
            let Choice::Later { until, .. } = exhausted.choose(std::slice::from_ref(&pool), at(minute))
            else {
                panic!()
            };
            rests.push(until.as_second() / 60 - minute);
            minute = until.as_second() / 60;
        }
        assert_eq!(rests, [10, 20, 40, 80, 120, 120]);
        exhausted.refuted(&pool);
        exhausted.found(&pool, at(minute));
        assert_eq!(chosen(&exhausted, minute + 10), "zone-a");
    }

    #[test]
    fn answers_that_were_on_their_way_count_once_and_what_nobody_names_is_forgotten() {
        let mut exhausted = Exhausted::default();
        for _ in 0..50 {
            exhausted.found(&"zone-a".into(), at(0));
        }
        assert_eq!(chosen(&exhausted, 10), "zone-a");
        exhausted.retain(|_| false);
        assert_eq!(exhausted, Exhausted::default());
    }
}
