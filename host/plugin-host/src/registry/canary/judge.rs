//! The decision about a trial, by its calls.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;

use super::Figures;
use super::record::{TrialRecord, TrialSide};
use crate::sources::release::Release;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TrialEnd {
    /// The new version serves from now on.
    Promote(Figures),
    /// It answers no call any more.
    Withdraw(Cause),
}

/// Why a version was withdrawn.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cause {
    Broken {
        calls: u64,
    },
    /// It fails more often than the version that serves.
    Errors {
        /// Of all that it was asked for each Machine, per cent that failed last.
        new: f64,
        /// The same of the version that serves, in the same time.
        stable: f64,
    },
    /// It is slower than the version that serves.
    Slow {
        function: &'static str,
        new: Duration,
        /// The median of the version that serves.
        stable: Duration,
    },
    /// As a shadow it would have done otherwise.
    Differs {
        calls: u64,
        /// … of so many that were compared.
        compared: u64,
    },
    /// It was quarantined again and again while it served.
    Quarantined,
    Asked,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken { calls } => write!(f, "{calls} of its calls broke"),
            Self::Errors { new, stable } => {
                write!(f, "{new:.1}% of what it was asked fails, and {stable:.1}% in the version that serves")
            }
            Self::Slow { function, new, stable } => write!(
                f,
                "its {function} takes {} ms (median), and {} ms in the version that serves",
                new.as_millis(),
                stable.as_millis()
            ),
            Self::Differs { calls, compared } => write!(
                f,
                "{calls} of {compared} calls would have been other calls than those of the version that serves"
            ),
            Self::Quarantined => f.write_str("its calls broke again after it was left alone"),
            Self::Asked => f.write_str("somebody has withdrawn it"),
        }
    }
}

/// One of a thousand differences as large as this comes by chance. It is checked after each call, so one of a hundred
/// would come up.
const SIGNIFICANT: f64 = 3.09;

/// A smaller difference does not count.
const SLACK: Duration = Duration::from_millis(10);

/// Decides at `now`. A pure function of the counts: failures of the cloud reach both versions, so errors and times are
/// compared, and not measured against a fixed bound.
pub(crate) fn judge(record: &TrialRecord, terms: &Release, now: Timestamp) -> Option<TrialEnd> {
    let (new, stable) = (record.side(TrialSide::New), record.side(TrialSide::Stable));
    if new.broken >= terms.broken_calls {
        return Some(TrialEnd::Withdraw(Cause::Broken { calls: new.broken }));
    }
    let minimum = usize::try_from(terms.minimum_calls).unwrap_or(usize::MAX);
    let can_compare = new.asked() >= minimum && stable.asked() >= minimum;
    let beyond = new.failure_rate() - stable.failure_rate();
    if can_compare && beyond > terms.error_rate / 100.0 && is_significant(record) {
        let (new, stable) = (new.failure_rate() * 100.0, stable.failure_rate() * 100.0);
        return Some(TrialEnd::Withdraw(Cause::Errors { new, stable }));
    }
    if let Some(cause) = slower(record, terms) {
        return Some(TrialEnd::Withdraw(cause));
    }
    let is_long_enough = now.duration_since(record.began) >= terms.promote_time;
    // Without calls to compare with, only a version that hardly fails is trusted.
    let fails_more = if can_compare { beyond } else { new.failure_rate() } > terms.error_rate / 100.0;
    let may_serve = terms.promotes_itself
        && is_long_enough
        && new.answered >= terms.promote_calls
        && new.broken == 0
        && !fails_more;
    may_serve.then(|| TrialEnd::Promote(Figures::of(record)))
}

/// Two shares of a pooled sample, one-sided.
fn is_significant(record: &TrialRecord) -> bool {
    let (new, stable) = (record.side(TrialSide::New), record.side(TrialSide::Stable));
    let (n, m) = (new.asked() as f64, stable.asked() as f64);
    let pooled = (new.failing() + stable.failing()) as f64 / (n + m);
    let spread = (pooled * (1.0 - pooled) * (1.0 / n + 1.0 / m)).sqrt();
    // All of both failed, or none did: no difference. One all and the other none has a spread.
    spread > 0.0 && (new.failure_rate() - stable.failure_rate()) / spread > SIGNIFICANT
}

fn slower(record: &TrialRecord, terms: &Release) -> Option<Cause> {
    let medians = |side| record.side(side).medians(terms.minimum_calls);
    medians(TrialSide::New).find_map(|(function, new)| {
        let (_, stable) = medians(TrialSide::Stable).find(|(other, _)| *other == function)?;
        let bound = stable.checked_mul(1_000)?.as_secs_f64() * terms.latency / 1_000.0;
        (new.as_secs_f64() > bound + SLACK.as_secs_f64()).then_some(Cause::Slow { function, new, stable })
    })
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::super::record::CallOutcome;
    use super::*;

    const TERMS: &str = "{mode: canary, promote_after: {calls: 50, minutes: 10}}";

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000).expect("in range") + SignedDuration::from_mins(minute)
    }

    /// Calls of a side: answered after 20 ms, failed, broken.
    struct Seen(TrialRecord);

    impl Seen {
        fn new() -> Self {
            Self(TrialRecord::new(at(0)))
        }

        fn calls(mut self, side: TrialSide, count: u64, outcome: CallOutcome) -> Self {
            for _ in 0..count {
                // Each for a Machine of its own.
                let lot = self.0.side(side).asked().to_string();
                self.0.note(side, &lot, "create", outcome);
            }
            self
        }

        fn good(self, side: TrialSide, count: u64) -> Self {
            self.calls(side, count, CallOutcome::Answered(Duration::from_millis(20)))
        }

        fn decision(&self, minute: i64) -> String {
            match judge(&self.0, &Release::parse(TERMS).expect("terms"), at(minute)) {
                None => "go on".to_owned(),
                Some(TrialEnd::Promote(figures)) => format!("promote after {}", figures.calls),
                Some(TrialEnd::Withdraw(cause)) => cause.to_string(),
            }
        }
    }

    #[test]
    fn enough_good_calls_for_long_enough_promote() {
        let seen = Seen::new().good(TrialSide::New, 50).good(TrialSide::Stable, 450);
        assert_eq!(seen.decision(9), "go on");
        assert_eq!(seen.decision(10), "promote after 50");
        assert_eq!(Seen::new().good(TrialSide::New, 49).decision(60), "go on");
        assert_eq!(
            Seen::new().good(TrialSide::New, 50).decision(60),
            "promote after 50",
            "nobody to compare with"
        );
    }

    #[test]
    fn broken_calls_withdraw_and_a_single_one_holds_the_promotion() {
        let seen = Seen::new().good(TrialSide::New, 1_000).calls(TrialSide::New, 2, CallOutcome::Broken);
        assert_eq!(seen.decision(60), "go on");
        assert_eq!(seen.calls(TrialSide::New, 1, CallOutcome::Broken).decision(0), "3 of its calls broke");
    }

    #[test]
    fn errors_of_the_cloud_withdraw_nobody() {
        let both = Seen::new().good(TrialSide::New, 30).calls(TrialSide::New, 30, CallOutcome::Failed);
        let both = both.good(TrialSide::Stable, 300).calls(TrialSide::Stable, 300, CallOutcome::Failed);
        assert_eq!(both.decision(0), "go on");
        assert_eq!(both.decision(10), "promote after 60");
    }

    #[test]
    fn errors_of_its_own_withdraw_it_once_that_is_no_chance() {
        let few = Seen::new()
            .good(TrialSide::New, 17)
            .calls(TrialSide::New, 2, CallOutcome::Failed)
            .good(TrialSide::Stable, 500);
        assert_eq!(few.decision(60), "go on");
        let many = Seen::new()
            .good(TrialSide::New, 80)
            .calls(TrialSide::New, 20, CallOutcome::Failed)
            .good(TrialSide::Stable, 500);
        assert_eq!(many.decision(0), "20.0% of what it was asked fails, and 0.0% in the version that serves");
    }

    #[test]
    fn a_version_that_fails_is_not_promoted_because_nobody_was_there_to_compare() {
        let seen = Seen::new().good(TrialSide::New, 80).calls(TrialSide::New, 20, CallOutcome::Failed);
        assert_eq!(seen.decision(60), "go on");
    }

    #[test]
    fn a_slow_version_is_withdrawn_by_function() {
        let slow = |ms| {
            let took = CallOutcome::Answered(Duration::from_millis(ms));
            Seen::new().calls(TrialSide::New, 30, took).good(TrialSide::Stable, 30)
        };
        assert_eq!(slow(49).decision(0), "go on");
        assert_eq!(
            slow(60).decision(0),
            "its create takes 60 ms (median), and 20 ms in the version that serves"
        );
        assert_eq!(slow(60).0.side(TrialSide::New).answered, 30);
    }

    #[test]
    fn nothing_follows_from_nothing() {
        assert_eq!(Seen::new().decision(10_000), "go on");
    }
}
