//! The record of a version's calls, and the rule that quarantines a version whose calls break. Time is an argument.
//!
//! An author of classes must not stop a plugin for all others: calls that break for a few of its classes pause it for
//! these only.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::{SignedDuration, Timestamp};

use crate::registry::report::QuarantineRule;

/// A class counts among those that use a plugin for so long after its last call.
const SEEN_FOR: SignedDuration = SignedDuration::from_hours(1);
/// Classes that are remembered. Calls of others count for the plugin as a whole.
const MOST_CLASSES: usize = 4096;

/// The pause that begins with a call that broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QuarantinePause {
    /// The plugin is quarantined until then.
    Plugin(Timestamp),
    /// None for this class is.
    Class(Timestamp),
}

/// The record of one version.
#[derive(Debug, Default)]
pub(crate) struct Health {
    whole: FaultRecord,
    classes: BTreeMap<String, Class>,
}

#[derive(Debug)]
struct Class {
    record: FaultRecord,
    seen: Timestamp,
}

impl Health {
    /// Returns the end of the quarantine.
    pub(crate) fn quarantined_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.whole.until(now)
    }

    /// Returns the end of the quarantine for this class alone.
    pub(crate) fn class_quarantined_until(&self, class: &str, now: Timestamp) -> Option<Timestamp> {
        self.classes.get(class).and_then(|class| class.record.until(now))
    }

    /// How many quarantines there were since the last good call of the function that broke.
    pub(crate) fn quarantines(&self) -> u32 {
        self.whole.quarantine.map_or(0, |quarantine| quarantine.count)
    }

    /// A call of this function came back with an answer, be it an error of the cloud.
    pub(crate) fn worked(&mut self, function: &'static str, class: Option<&str>, now: Timestamp) {
        self.whole.worked(function);
        if let Some(class) = class.and_then(|class| self.seen(class, now)) {
            class.record.worked(function);
        }
    }

    /// A call of this function broke. Says what begins with it.
    pub(crate) fn broke(
        &mut self,
        function: &'static str,
        class: Option<&str>,
        rule: &QuarantineRule,
        now: Timestamp,
    ) -> Option<QuarantinePause> {
        if self.quarantined_until(now).is_some() {
            // A straggler from before.
            return None;
        }
        let own = class
            .and_then(|class| self.seen(class, now))
            .map(|class| class.record.broke(function, None, rule, now));
        let used = self.classes.values().filter(|class| now.duration_since(class.seen) <= SEEN_FOR).count();
        let class = class.filter(|_| own.is_some());
        let is_of_most = |broken: usize| class.is_none() || 2 * broken > used;
        if !self.whole.is_enough(function, class, rule, now, is_of_most) {
            return own.flatten().map(QuarantinePause::Class);
        }
        self.classes.values_mut().for_each(|class| class.record = FaultRecord::default());
        Some(QuarantinePause::Plugin(self.whole.begin(function, rule, now)))
    }

    fn seen(&mut self, class: &str, now: Timestamp) -> Option<&mut Class> {
        if !self.classes.contains_key(class) {
            if self.classes.len() >= MOST_CLASSES {
                self.classes.retain(|_, class| now.duration_since(class.seen) <= SEEN_FOR);
            }
            if self.classes.len() >= MOST_CLASSES {
                return None;
            }
            self.classes.insert(class.to_owned(), Class { record: FaultRecord::default(), seen: now });
        }
        let class = self.classes.get_mut(class)?;
        class.seen = now;
        Some(class)
    }
}

/// Calls of a plugin, or of one of its classes.
///
/// Each function has a run of its own: that a plugin answers what it is asked between two traps says nothing about what
/// traps.
#[derive(Debug, Default)]
struct FaultRecord {
    /// The broken calls of each function since its last good one, and for which class each was.
    broken: BTreeMap<&'static str, VecDeque<(Timestamp, Option<String>)>>,
    quarantine: Option<Quarantine>,
}

#[derive(Clone, Copy, Debug)]
struct Quarantine {
    /// The function that broke. A good call of it ends the record.
    function: &'static str,
    /// Quarantines since its last good call.
    count: u32,
    until: Timestamp,
}

impl FaultRecord {
    fn until(&self, now: Timestamp) -> Option<Timestamp> {
        self.quarantine.map(|quarantine| quarantine.until).filter(|&until| now < until)
    }

    fn worked(&mut self, function: &str) {
        self.broken.remove(function);
        self.quarantine = self.quarantine.filter(|quarantine| quarantine.function != function);
    }

    fn broke(
        &mut self,
        function: &'static str,
        class: Option<&str>,
        rule: &QuarantineRule,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let begins = self.until(now).is_none() && self.is_enough(function, class, rule, now, |_| true);
        begins.then(|| self.begin(function, rule, now))
    }

    /// Records a broken call. Returns true if there are enough of them, and `is_of_most` is true of the number of their
    /// classes.
    fn is_enough(
        &mut self,
        function: &'static str,
        class: Option<&str>,
        rule: &QuarantineRule,
        now: Timestamp,
        is_of_most: impl Fn(usize) -> bool,
    ) -> bool {
        let run = self.broken.entry(function).or_default();
        run.push_back((now, class.map(str::to_owned)));
        let is_over = |first: &Timestamp| now.duration_since(*first) > rule.window;
        while run.len() > MOST_BROKEN || run.front().is_some_and(|(first, _)| is_over(first)) {
            run.pop_front();
        }
        // After a quarantine one broken call is enough: nothing has changed.
        let is_again = self.quarantine.is_some_and(|quarantine| quarantine.function == function);
        let classes: BTreeSet<&Option<String>> = run.iter().map(|(_, class)| class).collect();
        (is_again || run.len() >= rule.broken_calls) && is_of_most(classes.len())
    }

    fn begin(&mut self, function: &'static str, rule: &QuarantineRule, now: Timestamp) -> Timestamp {
        let before = self.quarantine.map_or(0, |quarantine| quarantine.count);
        let doubled = rule.first.checked_mul(1 << before.min(16)).unwrap_or(rule.longest);
        let until = now.saturating_add(doubled.min(rule.longest)).unwrap_or(Timestamp::MAX);
        self.quarantine = Some(Quarantine { function, count: before.saturating_add(1), until });
        self.broken.clear();
        until
    }
}

/// Broken calls of a run that are remembered.
const MOST_BROKEN: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: QuarantineRule = QuarantineRule {
        broken_calls: 3,
        window: SignedDuration::from_secs(60),
        first: SignedDuration::from_secs(10),
        longest: SignedDuration::from_secs(30),
    };

    const CREATE: &str = "create";
    const LOOK: &str = "get-status";

    const CLASS: &str = "a";

    fn broke(health: &mut Health, function: &'static str, now: Timestamp) -> Option<Timestamp> {
        match health.broke(function, Some(CLASS), &RULE, now) {
            Some(QuarantinePause::Plugin(until)) => Some(until),
            Some(QuarantinePause::Class(until)) => panic!("for the one class that there is, until {until}"),
            None => None,
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).expect("in range")
    }

    #[test]
    fn a_run_of_broken_calls_is_a_quarantine() {
        let mut health = Health::default();
        assert_eq!(
            [0, 1, 2].map(|second| broke(&mut health, CREATE, at(second))),
            [None, None, Some(at(12))]
        );
        assert_eq!(health.quarantined_until(at(11)), Some(at(12)));
        assert_eq!(health.quarantined_until(at(12)), None);
    }

    #[test]
    fn a_good_call_ends_the_run() {
        let mut health = Health::default();
        for second in 0..20 {
            assert_eq!(broke(&mut health, CREATE, at(second)), None);
            if second % 2 == 1 {
                health.worked(CREATE, Some(CLASS), at(0));
            }
        }
    }

    #[test]
    fn good_calls_of_another_function_do_not_end_the_run_nor_what_follows() {
        let mut health = Health::default();
        for second in [0, 1] {
            assert_eq!(broke(&mut health, CREATE, at(second)), None);
            health.worked(LOOK, Some(CLASS), at(0));
        }
        assert_eq!(broke(&mut health, CREATE, at(2)), Some(at(12)));
        health.worked(LOOK, Some(CLASS), at(0));
        assert_eq!(health.quarantined_until(at(3)), Some(at(12)));
        assert_eq!(
            broke(&mut health, LOOK, at(12)),
            None,
            "one broken call of another function is none too many"
        );
        assert_eq!(broke(&mut health, CREATE, at(12)), Some(at(32)));
        health.worked(CREATE, Some(CLASS), at(0));
        assert_eq!(health.quarantined_until(at(13)), None);
    }

    #[test]
    fn broken_calls_far_apart_are_no_run() {
        let mut health = Health::default();
        assert!((0..20).all(|minute| broke(&mut health, CREATE, at(minute * 61)).is_none()));
    }

    #[test]
    fn each_further_quarantine_is_longer_up_to_a_limit() {
        let mut health = Health::default();
        let mut now = at(0);
        let mut lengths = Vec::new();
        for _ in 0..2 {
            assert_eq!(broke(&mut health, CREATE, now), None);
        }
        for _ in 0..4 {
            let until = broke(&mut health, CREATE, now).expect("a quarantine");
            assert_eq!(broke(&mut health, CREATE, now), None, "stragglers do not count");
            lengths.push(until.duration_since(now).as_secs());
            now = until;
        }
        assert_eq!(lengths, [10, 20, 30, 30]);
    }

    #[test]
    fn attack_a_class_that_makes_a_plugin_break_stops_it_for_itself_alone() {
        let mut health = Health::default();
        health.worked(LOOK, Some("honest"), at(0));
        let mut break_it = |class: &str, second: i64| health.broke(CREATE, Some(class), &RULE, at(second));
        assert_eq!(
            [0, 1, 2].map(|second| break_it("hostile", second)),
            [None, None, Some(QuarantinePause::Class(at(12)))]
        );
        assert_eq!([3, 4].map(|second| break_it("hostile", second)), [None; 2], "stragglers");
        assert_eq!(break_it("hostile", 12), Some(QuarantinePause::Class(at(32))), "nothing has changed");
        assert_eq!(health.class_quarantined_until("hostile", at(13)), Some(at(32)));
        assert_eq!(
            (health.class_quarantined_until("honest", at(13)), health.quarantined_until(at(13))),
            (None, None)
        );
    }

    #[test]
    fn a_plugin_that_breaks_for_most_of_its_classes_is_left_alone_by_all() {
        let mut health = Health::default();
        for class in ["a", "b", "c"] {
            health.worked(LOOK, Some(class), at(0));
        }
        let mut break_it = |class: &str, second: i64| health.broke(CREATE, Some(class), &RULE, at(second));
        assert_eq!([1, 2].map(|second| break_it("a", second)), [None; 2]);
        assert_eq!(break_it("b", 3), Some(QuarantinePause::Plugin(at(13))));
        assert_eq!(health.quarantined_until(at(4)), Some(at(13)));
    }

    #[test]
    fn a_class_that_is_not_used_any_more_counts_for_nothing() {
        let mut health = Health::default();
        health.worked(LOOK, Some("gone"), at(0));
        let ends = [3_700, 3_701, 3_702].map(|second| health.broke(CREATE, Some("a"), &RULE, at(second)));
        assert_eq!(ends, [None, None, Some(QuarantinePause::Plugin(at(3_712)))]);
    }

    #[test]
    fn calls_of_no_class_count_for_the_plugin() {
        let mut health = Health::default();
        health.worked(LOOK, Some("a"), at(0));
        let ends = [0, 1, 2].map(|second| health.broke(CREATE, None, &RULE, at(second)));
        assert_eq!(ends, [None, None, Some(QuarantinePause::Plugin(at(12)))]);
    }
}
