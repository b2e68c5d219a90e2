//! The states of a plugin, and the rule by which a broken one is left alone for a while.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use jiff::{SignedDuration, Timestamp};

/// Where a source is on its way, or where that way ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PluginState {
    /// Seen.
    Declared,
    /// Its component is unpacked and has the right digest.
    Fetched,
    /// The component's outside fits this host; it is being compiled.
    Verified,
    /// Compiled and described. The newest Ready version of a plugin serves.
    Ready,
    /// Ready, and answers a part of the calls beside the version that serves.
    Trial,
    /// Ready, and answers no call: it broke, failed or was slow, and another version serves. The reason says which.
    Withdrawn,
    /// Something is wrong with it; the reason says what.
    Rejected,
    /// It broke again and again, and is not called until then.
    Quarantined {
        /// The end of it.
        until: Timestamp,
    },
}

impl PluginState {
    /// The state's name, for metrics and Events.
    pub fn name(self) -> &'static str {
        match self {
            Self::Declared => "Declared",
            Self::Fetched => "Fetched",
            Self::Verified => "Verified",
            Self::Ready => "Ready",
            Self::Trial => "Trial",
            Self::Withdrawn => "Withdrawn",
            Self::Rejected => "Rejected",
            Self::Quarantined { .. } => "Quarantined",
        }
    }
}

impl fmt::Display for PluginState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quarantined { until } => write!(f, "Quarantined until {until}"),
            Self::Declared
            | Self::Fetched
            | Self::Verified
            | Self::Ready
            | Self::Trial
            | Self::Withdrawn
            | Self::Rejected => f.write_str(self.name()),
        }
    }
}

/// When a plugin that breaks is left alone, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuarantineRule {
    /// So many broken calls of one function in a row …
    pub broken_calls: usize,
    /// … within this time.
    pub window: SignedDuration,
    /// How long the first time; each time without a good call in between doubles it.
    pub first: SignedDuration,
    /// And no longer than this.
    pub longest: SignedDuration,
}

impl Default for QuarantineRule {
    fn default() -> Self {
        Self {
            // More than the retries of one unlucky machine within the window.
            broken_calls: 10,
            window: SignedDuration::from_mins(1),
            first: SignedDuration::from_secs(15),
            longest: SignedDuration::from_mins(5),
        }
    }
}

/// The record of one generation. Time is an argument.
///
/// Each function has a run of its own: that a plugin answers what it is asked between two traps says nothing about what traps.
#[derive(Debug, Default)]
pub(crate) struct Health {
    /// Times of the broken calls of each function since its last good one.
    broken: BTreeMap<&'static str, VecDeque<Timestamp>>,
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

impl Health {
    /// The end of the quarantine that holds at `now`.
    pub(crate) fn quarantined_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.quarantine.map(|quarantine| quarantine.until).filter(|&until| now < until)
    }

    /// How many there were since the last good call of the function that broke.
    pub(crate) fn quarantines(&self) -> u32 {
        self.quarantine.map_or(0, |quarantine| quarantine.count)
    }

    /// A call of this function came back with an answer, be it an error of the cloud.
    pub(crate) fn worked(&mut self, function: &str) {
        self.broken.remove(function);
        self.quarantine = self.quarantine.filter(|quarantine| quarantine.function != function);
    }

    /// A call of this function broke. Says until when, if that begins a quarantine.
    pub(crate) fn broke(
        &mut self,
        function: &'static str,
        rule: &QuarantineRule,
        now: Timestamp,
    ) -> Option<Timestamp> {
        if self.quarantined_until(now).is_some() {
            // A straggler from before.
            return None;
        }
        let run = self.broken.entry(function).or_default();
        run.push_back(now);
        while run.front().is_some_and(|&first| now.duration_since(first) > rule.window) {
            run.pop_front();
        }
        // After a quarantine one broken call is enough: nothing has changed.
        let before = self.quarantine.map_or(0, |quarantine| quarantine.count);
        let is_again = self.quarantine.is_some_and(|quarantine| quarantine.function == function);
        if !is_again && run.len() < rule.broken_calls {
            return None;
        }
        let doubled = rule.first.checked_mul(1 << before.min(16)).unwrap_or(rule.longest);
        let until = now.saturating_add(doubled.min(rule.longest)).unwrap_or(Timestamp::MAX);
        self.quarantine = Some(Quarantine { function, count: before.saturating_add(1), until });
        self.broken.clear();
        Some(until)
    }
}

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

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).expect("in range")
    }

    #[test]
    fn a_run_of_broken_calls_is_a_quarantine() {
        let mut health = Health::default();
        assert_eq!(
            [0, 1, 2].map(|second| health.broke(CREATE, &RULE, at(second))),
            [None, None, Some(at(12))]
        );
        assert_eq!(health.quarantined_until(at(11)), Some(at(12)));
        assert_eq!(health.quarantined_until(at(12)), None);
    }

    #[test]
    fn a_good_call_ends_the_run() {
        let mut health = Health::default();
        for second in 0..20 {
            assert_eq!(health.broke(CREATE, &RULE, at(second)), None);
            if second % 2 == 1 {
                health.worked(CREATE);
            }
        }
    }

    #[test]
    fn good_calls_of_another_function_do_not_end_the_run_nor_what_follows() {
        let mut health = Health::default();
        for second in [0, 1] {
            assert_eq!(health.broke(CREATE, &RULE, at(second)), None);
            health.worked(LOOK);
        }
        assert_eq!(health.broke(CREATE, &RULE, at(2)), Some(at(12)));
        health.worked(LOOK);
        assert_eq!(health.quarantined_until(at(3)), Some(at(12)));
        assert_eq!(
            health.broke(LOOK, &RULE, at(12)),
            None,
            "one broken call of another function is none too many"
        );
        assert_eq!(health.broke(CREATE, &RULE, at(12)), Some(at(32)));
        health.worked(CREATE);
        assert_eq!(health.quarantined_until(at(13)), None);
    }

    #[test]
    fn broken_calls_far_apart_are_no_run() {
        let mut health = Health::default();
        assert!((0..20).all(|minute| health.broke(CREATE, &RULE, at(minute * 61)).is_none()));
    }

    #[test]
    fn each_further_quarantine_is_longer_up_to_a_limit() {
        let mut health = Health::default();
        let mut now = at(0);
        let mut lengths = Vec::new();
        for _ in 0..2 {
            assert_eq!(health.broke(CREATE, &RULE, now), None);
        }
        for _ in 0..4 {
            let until = health.broke(CREATE, &RULE, now).expect("a quarantine");
            assert_eq!(health.broke(CREATE, &RULE, now), None, "stragglers do not count");
            lengths.push(until.duration_since(now).as_secs());
            now = until;
        }
        assert_eq!(lengths, [10, 20, 30, 30]);
    }
}
