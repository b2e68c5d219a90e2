//! Shortens the pauses of keys whose cloud account answers other keys again.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::{RetryPolicy, SPREAD, scale, unit};

/// How long an answer proves that the account works: a few first pauses. A longer time would start an outage with that
/// many tries of each key.
const SPEAKS_FOR: SignedDuration = SignedDuration::from_secs(20);

/// The number of keys that one answer wakes. Each successful call wakes the next ones, so that waiting keys return at
/// the pace of the account's answers.
const CALLED_BY_AN_ANSWER: usize = 2;

/// The number of failures in a row, while the account answers other keys, after which a key fails alone. If every
/// second call fails, this happens once in four thousand times.
const OWN_FAULT: u32 = 12;

/// The shortest pause after a failure while the account answers others: it works, and most failures are chance.
const BETWEEN_ANSWERS: SignedDuration = SignedDuration::from_secs(2);

/// The most retries a second of all keys that fail while others are answered, as far as the first pause of their policy
/// allows.
const RETRIES_PER_SECOND: usize = 40;

#[derive(Clone, Copy, Debug)]
pub struct FailedCall {
    pub policy: RetryPolicy,
    /// The pause without other calls to this account.
    pub delay: SignedDuration,
    /// The earliest retry that the cloud asks for.
    pub hint: Option<SignedDuration>,
    /// The caller's random number, 0 to 1.
    pub jitter: f64,
}

/// The keys of each account whose last call has failed with a transient error.
///
/// Promises: no key is tried before two seconds (spread), and the more keys fail the later, up to the first pause of
/// their policy; nor sooner than the cloud has asked for; an answer wakes at most two keys; a key that fails again and
/// again while others do not returns to growing pauses.
///
/// The size is bounded by the number of keys that fail, and of accounts that answered a moment ago.
#[derive(Clone, Debug)]
pub struct CloudAccounts<A, K> {
    accounts: BTreeMap<A, CloudAccount<K>>,
    /// The number of failures in a row of each key while its account answered others.
    own: BTreeMap<K, u32>,
}

#[derive(Clone, Debug)]
struct CloudAccount<K> {
    answered: Option<Timestamp>,
    /// The waiting keys, and how soon each may be tried.
    waiting: BTreeMap<K, Timestamp>,
}

impl<K> Default for CloudAccount<K> {
    fn default() -> Self {
        Self { answered: None, waiting: BTreeMap::new() }
    }
}

impl<K> CloudAccount<K> {
    fn answers(&self, now: Timestamp) -> bool {
        self.answered.is_some_and(|at| now.duration_since(at).abs() < SPEAKS_FOR)
    }
}

impl<A, K> Default for CloudAccounts<A, K> {
    fn default() -> Self {
        Self { accounts: BTreeMap::new(), own: BTreeMap::new() }
    }
}

impl<A: Ord, K: Ord + Clone> CloudAccounts<A, K> {
    /// Notes a failed call of `key` to `account`. Returns the pause: no longer than after a first failure if the
    /// account has just answered another key.
    pub fn failed(&mut self, account: A, key: K, attempt: FailedCall, now: Timestamp) -> SignedDuration {
        self.came(&key);
        if attempt.policy != RetryPolicy::SHORT {
            if self.accounts.get(&account).is_some_and(|account| account.answers(now)) {
                self.fails_alone(key);
            }
            return attempt.delay;
        }
        let hint = scale(attempt.hint.unwrap_or_default(), 1.0 + SPREAD * unit(attempt.jitter));
        let no_sooner = |pause: SignedDuration| pause.max(hint).min(attempt.delay);
        let account = self.accounts.entry(account).or_default();
        if account.answers(now) {
            let is_own_fault = self.fails_alone(key) > OWN_FAULT;
            let pause = between_answers(self.own.len(), attempt);
            return if is_own_fault { attempt.delay } else { no_sooner(pause) };
        }
        let first = no_sooner(attempt.policy.delay(1, attempt.jitter));
        let earliest = now.checked_add(first).unwrap_or(Timestamp::MAX);
        account.waiting.insert(key, earliest);
        attempt.delay
    }

    fn fails_alone(&mut self, key: K) -> u32 {
        let own = self.own.entry(key).or_default();
        *own = own.saturating_add(1);
        *own
    }

    /// Returns true when the account has answered a moment ago, and the key does not fail alone. For keys with a timer
    /// of their own.
    pub fn eases(&self, account: &A, key: &K, now: Timestamp) -> bool {
        let own = self.own.get(key).copied().unwrap_or_default();
        own <= OWN_FAULT && self.accounts.get(account).is_some_and(|account| account.answers(now))
    }

    /// Notes that `key` has failed before, and waits for a timer of its own. An answer wakes it as those that have just
    /// failed.
    pub fn waits(&mut self, account: A, key: K, now: Timestamp) {
        let earliest = now.checked_add(RetryPolicy::SHORT.base).unwrap_or(Timestamp::MAX);
        self.accounts.entry(account).or_default().waiting.insert(key, earliest);
    }

    /// Notes an answer of the account. Returns the keys to try sooner than planned, and when.
    pub fn answered(&mut self, account: A, now: Timestamp) -> Vec<(K, Timestamp)> {
        self.accounts.retain(|_, account| !account.waiting.is_empty() || account.answers(now));
        let account = self.accounts.entry(account).or_default();
        account.answered = Some(now);
        let mut next: Vec<(Timestamp, K)> =
            account.waiting.iter().map(|(key, earliest)| (*earliest, key.clone())).collect();
        next.sort();
        next.truncate(CALLED_BY_AN_ANSWER);
        for (_, key) in &next {
            account.waiting.remove(key);
        }
        next.into_iter().map(|(earliest, key)| (key, earliest.max(now))).collect()
    }

    /// Notes that the key is tried, so that it need not be woken.
    pub fn came(&mut self, key: &K) {
        for account in self.accounts.values_mut() {
            account.waiting.remove(key);
        }
    }

    /// Forgets a key that has succeeded, or is gone.
    pub fn forget(&mut self, key: &K) {
        self.came(key);
        self.own.remove(key);
    }
}

/// Returns the pause of one of `failing` keys while others are answered.
fn between_answers(failing: usize, attempt: FailedCall) -> SignedDuration {
    let crowd = i64::try_from(failing / RETRIES_PER_SECOND).unwrap_or(i64::MAX);
    let base = BETWEEN_ANSWERS.max(SignedDuration::from_secs(crowd)).min(attempt.policy.base);
    RetryPolicy { base, ..attempt.policy }.delay(1, attempt.jitter)
}

#[cfg(test)]
mod tests {
    use super::super::FailureCounts;
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    struct Fixture {
        ledger: FailureCounts<&'static str>,
        accounts: CloudAccounts<&'static str, &'static str>,
    }

    impl Fixture {
        fn new() -> Self {
            Self { ledger: FailureCounts::new(), accounts: CloudAccounts::default() }
        }

        fn fails_by(
            &mut self,
            key: &'static str,
            second: i64,
            policy: RetryPolicy,
            hint: Option<i64>,
        ) -> i64 {
            let hint = hint.map(SignedDuration::from_secs);
            let delay = self.ledger.failed(key, policy, hint, 0.5);
            let attempt = FailedCall { policy, delay, hint, jitter: 0.5 };
            self.accounts.failed("account", key, attempt, at(second)).as_secs()
        }

        fn fails(&mut self, key: &'static str, second: i64) -> i64 {
            self.fails_by(key, second, RetryPolicy::SHORT, None)
        }

        fn answers(&mut self, second: i64) -> Vec<(&'static str, i64)> {
            let called = self.accounts.answered("account", at(second));
            called.into_iter().map(|(key, at)| (key, at.as_second())).collect()
        }
    }

    #[test]
    fn without_an_answer_pauses_grow() {
        let mut world = Fixture::new();
        let pauses: Vec<i64> = (0..5).map(|try_| world.fails("a", try_ * 100)).collect();
        assert_eq!(pauses, [5, 10, 20, 40, 80]);
    }

    #[test]
    fn an_outage_is_nobodys_own_fault_however_long_it_was() {
        let mut world = Fixture::new();
        for second in 0..20 {
            world.fails("a", second * 120);
        }
        assert_eq!(world.answers(2_300), [("a", 2_300)]);
        assert_eq!(world.fails("a", 2_301), 2);
    }

    #[test]
    fn an_answer_calls_the_two_that_may_come_first_and_nobody_before_its_first_pause() {
        let mut world = Fixture::new();
        for (key, second) in [("a", 1), ("b", 2), ("c", 3), ("d", 50)] {
            world.fails(key, second);
        }
        assert_eq!(world.answers(51), [("a", 51), ("b", 51)]);
        assert_eq!(world.answers(51), [("c", 51), ("d", 55)]);
        assert!(world.answers(52).is_empty());
    }

    #[test]
    fn while_an_account_answers_others_a_failure_is_tried_again_within_seconds() {
        let mut world = Fixture::new();
        let busy = |world: &mut Fixture, second| {
            world.answers(second);
            world.fails("a", second)
        };
        let pauses: Vec<i64> = (0..14).map(|try_| busy(&mut world, try_ * 2)).collect();
        assert_eq!(pauses, [2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 108, 108], "at last it fails by itself");
        assert_eq!(world.fails("b", 41), 2);
        assert_eq!(world.fails("b", 46), 10, "the last answer is too long ago");
        assert_eq!(world.accounts.answered("other", at(67)), [], "another account says nothing of this one");
    }

    #[test]
    fn the_more_fail_at_the_same_time_the_longer_are_their_pauses_up_to_a_first_one() {
        let attempt = FailedCall {
            policy: RetryPolicy::SHORT,
            delay: SignedDuration::from_mins(1),
            hint: None,
            jitter: 0.5,
        };
        let pauses = [1, 100, 160, 1_000].map(|failing| between_answers(failing, attempt).as_secs());
        assert_eq!(pauses, [2, 2, 4, 5]);
    }

    #[test]
    fn what_the_cloud_asks_for_and_what_does_not_pass_by_itself_is_not_shortened() {
        let mut world = Fixture::new();
        world.fails_by("told", 0, RetryPolicy::SHORT, Some(90));
        assert_eq!(world.answers(10), [("told", 99)]);
        assert_eq!(world.fails_by("told", 20, RetryPolicy::SHORT, Some(90)), 99);
        let quota = RetryPolicy::steady(SignedDuration::from_mins(10));
        for policy in [quota, RetryPolicy::LONG, RetryPolicy::MEDIUM] {
            world.fails_by("refused", 100, policy, None);
        }
        assert!(world.answers(101).is_empty());
    }

    #[test]
    fn an_answer_calls_a_key_that_waits_for_a_time_of_its_own() {
        let mut world = Fixture::new();
        let eases = |world: &Fixture, key, second| world.accounts.eases(&"account", &key, at(second));
        assert!(!eases(&world, "doubtful", 0));
        world.accounts.waits("account", "doubtful", at(0));
        assert_eq!(world.answers(3), [("doubtful", 5)]);
        assert!(eases(&world, "doubtful", 4) && !eases(&world, "doubtful", 40));
        assert!(world.answers(41).is_empty(), "it is called once");
        let steady = RetryPolicy::steady(SignedDuration::from_secs(1));
        for _ in 0..13 {
            world.fails_by("doubtful", 42, steady, None);
        }
        assert!(!eases(&world, "doubtful", 43) && eases(&world, "another", 43), "it fails by itself");
    }

    #[test]
    fn who_waits_no_more_is_not_called() {
        let mut world = Fixture::new();
        world.fails("a", 0);
        world.accounts.forget(&"a");
        assert!(world.answers(10).is_empty());
    }
}
