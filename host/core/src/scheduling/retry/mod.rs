//! The retry table: when a failed driver call is tried again.
//!
//! `policy` is the table for driver calls: from the situation and the error code to the first and the longest pause.
//! The test `every_code_has_its_retry_in_every_situation` prints it whole. Failed writes to API servers have a policy
//! of their own, in `machine::step::retry_write` and `machine_deployment::step`.
//!
//! | module | what it does |
//! | --- | --- |
//! | `accounts` | shortens the pauses of a cloud account that answers again |

mod accounts;

use std::collections::BTreeMap;

use jiff::SignedDuration;

use crate::driver::error::Code;

pub use accounts::{CloudAccounts, FailedCall};

/// The spread of a retry around its nominal time: Machines that failed together must not retry together.
const SPREAD: f64 = 0.2;

/// The longest retry-after that is applied. Clouds ask for seconds or minutes; a day is a bug, and an object that is
/// not reconciled for a day counts as lost.
pub const MAX_RETRY_AFTER: SignedDuration = SignedDuration::from_hours(1);

/// How long a machine waits for quota or capacity when the settings say nothing, or zero.
pub const DEFAULT_RESOURCE_EXHAUSTED: SignedDuration = SignedDuration::from_mins(10);

/// Where retries start and how far apart they grow.
///
/// With `base` at or above `cap` the interval is `cap`, always: neither doubling nor jitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// After the first failure.
    pub base: SignedDuration,
    /// Never more than this, except for a retry-after.
    pub cap: SignedDuration,
}

impl RetryPolicy {
    /// A write conflicted with another: the cache catches up within milliseconds.
    pub const CONFLICT: Self =
        Self { base: SignedDuration::from_millis(200), cap: SignedDuration::from_secs(5) };
    /// A transient error: an outage, a timeout, a concurrent change.
    pub const SHORT: Self = Self { base: SignedDuration::from_secs(5), cap: SignedDuration::from_mins(2) };
    /// Somebody must fix something, and may be doing it.
    pub const MEDIUM: Self = Self { base: SignedDuration::from_secs(5), cap: SignedDuration::from_mins(3) };
    /// Somebody must fix something, and nobody waits for it.
    pub const LONG: Self = Self { base: SignedDuration::from_secs(5), cap: SignedDuration::from_mins(10) };

    /// A terminal error: no retry helps before a change, and most changes are seen.
    pub const TERMINAL: Self =
        Self { base: SignedDuration::from_mins(10), cap: SignedDuration::from_hours(1) };

    /// Always the same interval.
    pub const fn steady(interval: SignedDuration) -> Self {
        Self { base: interval, cap: interval }
    }

    /// Returns the pause after `failures` in a row (1 for the first): `base` doubled with each, up to `cap`, spread by
    /// `jitter` (0 to 1, uniform) over a fifth around it, or a fifth below `cap`.
    ///
    /// Any `jitter` is accepted: values outside are clamped, NaN counts as 0. Never negative.
    pub fn delay(self, failures: u32, jitter: f64) -> SignedDuration {
        if self.base >= self.cap || self.cap <= SignedDuration::ZERO {
            return self.cap.max(SignedDuration::ZERO);
        }
        let nominal = self.nominal(failures);
        let low = scale(nominal, 1.0 - SPREAD);
        let high = scale(nominal, 1.0 + SPREAD).min(self.cap);
        low.saturating_add(scale(high.saturating_sub(low), unit(jitter)))
    }

    /// Returns the delay after so many failures, without its spread.
    fn nominal(self, failures: u32) -> SignedDuration {
        let base = self.base.max(SignedDuration::from_millis(1));
        // 2^40 ms is 35 years: after so many doublings the cap is reached.
        let doubled = base.as_nanos().saturating_mul(1_i128 << failures.saturating_sub(1).min(40));
        duration_of(doubled).min(self.cap)
    }
}

/// The first pause of an attempt at the start of the host: most failures then are those of a server that starts as
/// well.
const SOON: SignedDuration = SignedDuration::from_millis(50);

/// Returns the pause after so many attempts at the start that have failed: 50 ms, and twice as long each time. The
/// caller has a bound of its own.
pub fn soon(failures: u32) -> SignedDuration {
    duration_of(SOON.as_nanos().saturating_mul(1_i128 << failures.saturating_sub(1).min(40)))
}

/// Pauses this long are reported each time: the longest of [`RetryPolicy::LONG`] with its spread.
const LONG_PAUSE: SignedDuration = SignedDuration::from_mins(8);

/// The next attempt after a failure, and whether it is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// How many have failed in a row.
    pub number: u32,
    /// The pause before the next one.
    pub after: SignedDuration,
    /// The pause is longer than the one before, or rare: worth a write. A hundred objects that fail at the same pace
    /// for hours are not written again.
    pub is_news: bool,
    /// The time of the next attempt is reported. If later attempts are not reported either, it would soon be in the
    /// past.
    pub is_announced: bool,
}

/// Returns the attempt after failure number `number` in a row: after the delay of the `policy`, but not earlier than
/// `retry_after`.
///
/// `retry_after` may exceed the policy's cap, is applied up to [`MAX_RETRY_AFTER`], and is spread upwards, since many
/// objects get the same. `jitter` (0 to 1) is the caller's random number.
pub fn attempt(
    policy: RetryPolicy,
    number: u32,
    retry_after: Option<SignedDuration>,
    jitter: f64,
) -> Attempt {
    let delay = policy.delay(number, jitter);
    let after = match retry_after {
        Some(asked) => {
            let asked = asked.clamp(SignedDuration::ZERO, MAX_RETRY_AFTER);
            delay.max(scale(asked, 1.0 + SPREAD * unit(jitter)))
        }
        None => delay,
    };
    let is_rare = after >= LONG_PAUSE;
    let grows = |number: u32| policy.nominal(number) > policy.nominal(number.saturating_sub(1));
    Attempt {
        number,
        after,
        is_news: is_rare || number <= 1 || grows(number),
        is_announced: is_rare || grows(number.saturating_add(1)),
    }
}

fn duration_of(nanos: i128) -> SignedDuration {
    SignedDuration::try_from_nanos_i128(nanos).unwrap_or(SignedDuration::MAX)
}

/// Milliseconds suffice here, and a factor below 2 of them fits.
fn scale(duration: SignedDuration, factor: f64) -> SignedDuration {
    // A cast from float saturates.
    SignedDuration::from_millis((duration.as_millis() as f64 * factor) as i64)
}

fn unit(jitter: f64) -> f64 {
    if jitter.is_nan() { 0.0 } else { jitter.clamp(0.0, 1.0) }
}

/// The operation during which a driver failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Situation {
    /// A VM is created; also the query that comes before.
    Create,
    /// The step after creation.
    Initialize,
    /// The query during a deletion.
    Status,
    /// A machine is removed.
    Delete,
}

/// Returns the retry policy for `code` in this `situation`: the table of retries.
///
/// The caller recognises codes that are no failure in some situation (a query that finds nothing, an operation that is
/// not offered); the table has a value for them too. `resource_exhausted` comes from the settings and is used without
/// doubling, because the autoscaler's own back-off is tuned to it; zero or less means [`DEFAULT_RESOURCE_EXHAUSTED`].
pub fn policy(situation: Situation, code: Code, resource_exhausted: SignedDuration) -> RetryPolicy {
    let passes_by_itself = match code {
        Code::Unknown | Code::DeadlineExceeded | Code::Aborted | Code::Unavailable => true,
        Code::Canceled
        | Code::InvalidArgument
        | Code::NotFound
        | Code::AlreadyExists
        | Code::PermissionDenied
        | Code::ResourceExhausted
        | Code::FailedPrecondition
        | Code::OutOfRange
        | Code::Unimplemented
        | Code::Internal
        | Code::DataLoss
        | Code::Unauthenticated
        | Code::Uninitialized => false,
    };
    if passes_by_itself {
        return RetryPolicy::SHORT;
    }
    match situation {
        Situation::Create if code == Code::ResourceExhausted => {
            let is_set = resource_exhausted > SignedDuration::ZERO;
            RetryPolicy::steady(if is_set { resource_exhausted } else { DEFAULT_RESOURCE_EXHAUSTED })
        }
        // The VM exists and costs money: the step is retried soon, whatever the code.
        Situation::Initialize => RetryPolicy::SHORT,
        Situation::Create | Situation::Status => RetryPolicy::MEDIUM,
        Situation::Delete => RetryPolicy::LONG,
    }
}

/// Counts the failures in a row of each key.
///
/// Promises: a failure always has a time to try again, however many there were; keys do not influence each other; only
/// keys whose last attempt failed are stored.
///
/// Assumes that [`FailureCounts::forget`] is called for objects that are gone.
#[derive(Clone, Debug)]
pub struct FailureCounts<K> {
    failures: BTreeMap<K, u32>,
}

impl<K> Default for FailureCounts<K> {
    fn default() -> Self {
        Self { failures: BTreeMap::new() }
    }
}

impl<K: Ord> FailureCounts<K> {
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a failure of `key` and returns the pause of `policy`, but not less than `retry_after`.
    ///
    /// `retry_after` may exceed the policy's cap, is applied up to [`MAX_RETRY_AFTER`], and is spread upwards, since
    /// many objects get the same. `jitter` (0 to 1) is the caller's random number.
    pub fn failed(
        &mut self,
        key: K,
        policy: RetryPolicy,
        retry_after: Option<SignedDuration>,
        jitter: f64,
    ) -> SignedDuration {
        let failures = self.failures.entry(key).or_default();
        *failures = failures.saturating_add(1);
        attempt(policy, *failures, retry_after, jitter).after
    }

    /// Notes a success: the next failure is a first one.
    pub fn succeeded(&mut self, key: &K) {
        self.failures.remove(key);
    }

    /// Notes that the object, its class or its Secret has changed, so that a retry may work: the next failure is a
    /// first one. Not to be called for the status that the controller writes itself.
    pub fn changed(&mut self, key: &K) {
        self.failures.remove(key);
    }

    /// The object is gone.
    pub fn forget(&mut self, key: &K) {
        self.failures.remove(key);
    }

    /// Returns how often in a row `key` has failed.
    pub fn attempts(&self, key: &K) -> u32 {
        self.failures.get(key).copied().unwrap_or_default()
    }

    /// How many keys are in a run of failures.
    pub fn len(&self) -> usize {
        self.failures.len()
    }

    /// True when no key is in a run of failures.
    pub fn is_empty(&self) -> bool {
        self.failures.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;

    const TEN_MINUTES: SignedDuration = SignedDuration::from_mins(10);

    fn check(policy: RetryPolicy, jitter: f64, expected: &Expect) {
        let mut ledger = FailureCounts::new();
        let delays: Vec<_> =
            (0..8).map(|_| ledger.failed("key", policy, None, jitter).as_millis().to_string()).collect();
        expected.assert_eq(&delays.join(" "));
    }

    #[test]
    fn retries_double_up_to_the_cap() {
        check(RetryPolicy::SHORT, 0.5, &expect!["5000 10000 20000 40000 80000 108000 108000 108000"]);
    }

    #[test]
    fn jitter_spreads_a_fifth_around_and_never_beyond_the_cap() {
        check(RetryPolicy::SHORT, 0.0, &expect!["4000 8000 16000 32000 64000 96000 96000 96000"]);
        check(RetryPolicy::SHORT, 1.0, &expect!["6000 12000 24000 48000 96000 120000 120000 120000"]);
    }

    #[test]
    fn a_steady_policy_is_taken_as_it_is() {
        check(
            RetryPolicy::steady(TEN_MINUTES),
            0.3,
            &expect!["600000 600000 600000 600000 600000 600000 600000 600000"],
        );
    }

    #[test]
    fn every_code_has_its_retry_in_every_situation() {
        let row = |code| {
            let cell = |situation| {
                let RetryPolicy { base, cap } = policy(situation, code, TEN_MINUTES);
                format!("{:>4}→{:<4}", base.as_secs(), cap.as_secs())
            };
            let cells =
                [Situation::Create, Situation::Initialize, Situation::Status, Situation::Delete].map(cell);
            format!("{:<18} {}", code.to_string(), cells.join(" ")).trim_end().to_owned()
        };
        let table: Vec<String> = Code::ALL.into_iter().map(row).collect();
        expect![[r#"
            Canceled              5→180     5→120     5→180     5→600
            Unknown               5→120     5→120     5→120     5→120
            InvalidArgument       5→180     5→120     5→180     5→600
            DeadlineExceeded      5→120     5→120     5→120     5→120
            NotFound              5→180     5→120     5→180     5→600
            AlreadyExists         5→180     5→120     5→180     5→600
            PermissionDenied      5→180     5→120     5→180     5→600
            ResourceExhausted   600→600     5→120     5→180     5→600
            FailedPrecondition    5→180     5→120     5→180     5→600
            Aborted               5→120     5→120     5→120     5→120
            OutOfRange            5→180     5→120     5→180     5→600
            Unimplemented         5→180     5→120     5→180     5→600
            Internal              5→180     5→120     5→180     5→600
            Unavailable           5→120     5→120     5→120     5→120
            DataLoss              5→180     5→120     5→180     5→600
            Unauthenticated       5→180     5→120     5→180     5→600
            Uninitialized         5→180     5→120     5→180     5→600
        "#]]
        .assert_eq(&format!("{}\n", table.join("\n")));
    }

    #[test]
    fn a_resource_exhausted_interval_of_zero_means_the_default() {
        let zero = policy(Situation::Create, Code::ResourceExhausted, SignedDuration::ZERO);
        assert_eq!(zero, RetryPolicy::steady(DEFAULT_RESOURCE_EXHAUSTED));
    }

    #[test]
    fn a_retry_after_is_a_lower_bound_that_may_exceed_the_cap() {
        let mut ledger = FailureCounts::new();
        let asked = SignedDuration::from_mins(7);
        assert_eq!(ledger.failed("a", RetryPolicy::SHORT, Some(asked), 0.0), asked);
        assert_eq!(
            ledger.failed("a", RetryPolicy::SHORT, Some(SignedDuration::from_secs(1)), 0.5).as_secs(),
            10
        );
    }

    #[test]
    fn an_attempt_is_reported_while_pauses_grow_and_when_they_are_long() {
        let reported = |policy: RetryPolicy, retry_after: Option<SignedDuration>| -> String {
            let one = |number| {
                let Attempt { is_news, is_announced, .. } = attempt(policy, number, retry_after, 0.5);
                match (is_news, is_announced) {
                    (true, true) => '@',
                    (true, false) => 'n',
                    (false, true) => '!',
                    (false, false) => '-',
                }
            };
            (1..=9).map(one).collect()
        };
        assert_eq!(reported(RetryPolicy::SHORT, None), "@@@@@n---");
        assert_eq!(reported(RetryPolicy::LONG, None), "@@@@@@@@@", "ten minutes apart at the end");
        assert_eq!(reported(RetryPolicy::steady(TEN_MINUTES), None), "@@@@@@@@@");
        assert_eq!(reported(RetryPolicy::steady(SignedDuration::from_secs(30)), None), "n--------");
        assert_eq!(reported(RetryPolicy::SHORT, Some(SignedDuration::from_secs(90))), "@@@@@n---");
    }

    #[test]
    fn at_the_start_pauses_begin_small_and_grow_fast() {
        let pauses: Vec<_> = (0..8).map(|failures| soon(failures).as_millis()).collect();
        assert_eq!(pauses, [50, 50, 100, 200, 400, 800, 1_600, 3_200]);
        assert!(soon(u32::MAX) > SignedDuration::from_hours(1));
    }

    #[test]
    fn an_absurd_retry_after_does_not_park_a_key() {
        let delay = FailureCounts::new().failed("a", RetryPolicy::SHORT, Some(SignedDuration::MAX), 0.0);
        assert_eq!(delay, MAX_RETRY_AFTER);
    }

    #[test]
    fn success_and_change_start_again_for_their_key_only() {
        let mut ledger = FailureCounts::new();
        for key in ["mended", "changed", "gone", "other"] {
            ledger.failed(key, RetryPolicy::SHORT, None, 0.5);
            ledger.failed(key, RetryPolicy::SHORT, None, 0.5);
        }
        ledger.succeeded(&"mended");
        ledger.changed(&"changed");
        ledger.forget(&"gone");
        let attempts = ["mended", "changed", "gone", "other"].map(|key| ledger.attempts(&key));
        assert_eq!((attempts, ledger.len()), ([0, 0, 0, 2], 1));
        assert_eq!(ledger.failed("mended", RetryPolicy::SHORT, None, 0.5).as_secs(), 5);
    }

    proptest! {
        #[test]
        fn any_failure_has_a_next_attempt_within_its_bounds(
            failures in any::<u32>(),
            base in any::<i64>(),
            cap in any::<i64>(),
            jitter in any::<f64>(),
        ) {
            let policy = RetryPolicy { base: SignedDuration::from_nanos(base), cap: SignedDuration::from_nanos(cap) };
            let delay = policy.delay(failures, jitter);
            prop_assert!(delay >= SignedDuration::ZERO);
            prop_assert!(delay <= policy.cap.max(SignedDuration::ZERO));
        }

        #[test]
        fn retries_never_come_closer(failures in 1..60_u32, base in 1..10_000_i64, cap in 1..1_000_000_i64) {
            let policy = RetryPolicy { base: SignedDuration::from_millis(base), cap: SignedDuration::from_millis(cap) };
            prop_assert!(policy.delay(failures, 0.5) <= policy.delay(failures + 1, 0.5));
        }
    }
}
