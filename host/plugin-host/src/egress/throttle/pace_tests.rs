//! The pace against clouds: a client with more to do than the cloud takes, or as much as it likes, in virtual time.

use std::collections::BTreeMap;

use super::*;

const SECOND: Duration = Duration::from_secs(1);
/// Seeds of each figure.
const SEEDS: u64 = 8;

/// Numbers that look random (SplitMix64).
struct Dice(u64);

impl Dice {
    /// From 0 to 1.
    fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// The habits of a cloud.
#[derive(Clone, Copy, Default)]
struct Habits {
    /// The share that it refuses whatever the pace is.
    refuses: f64,
    /// Requests a second that it takes; a second's worth may come at once.
    limit: Option<f64>,
    /// From this second on it takes so many.
    change: Option<(f64, f64)>,
    /// The `Retry-After` of refusals.
    retry_after: Option<Duration>,
}

/// Requests a second that were granted, and the share that was refused.
struct Outcome {
    granted: f64,
    refused: f64,
    /// Requests that went in the second after one began.
    most_in_a_second: usize,
}

/// So many requests a second come, and those that were refused come again.
fn play(habits: Habits, wanted: f64, seconds: u64, seed: u64) -> Outcome {
    const ON_THEIR_WAY: usize = 200;
    let start = Instant::now();
    let end = start + Duration::from_secs(seconds);
    let (mut pace, mut dice) = (Pace::new(start), Dice(seed));
    let (mut now, mut line, mut next) = (start, 0_usize, start);
    let mut answers: BTreeMap<(Instant, u64), (Instant, RateSignal)> = BTreeMap::new();
    let (mut tokens, mut filled) = (habits.limit.unwrap_or_default(), start);
    let (mut granted, mut refused, mut number) = (0_u32, 0_u32, 0);
    let mut by_second: BTreeMap<u64, usize> = BTreeMap::new();
    while now < end {
        while next <= now {
            line = (line + 1).min(ON_THEIR_WAY);
            next += Duration::from_secs_f64(1.0 / wanted);
        }
        while let Some(((at, number), (sent_at, answer))) = answers.pop_first() {
            if at > now {
                answers.insert((at, number), (sent_at, answer));
                break;
            }
            pace.answered(sent_at, at, answer);
            line += usize::from(answer != RateSignal::Granted);
        }
        let mut wakes = next;
        while line > 0 && answers.len() < ON_THEIR_WAY {
            let opens = pace.opening(1.0, now);
            if opens > now {
                pace.has_made_wait(now);
                wakes = wakes.min(opens);
                break;
            }
            pace.sent(now);
            (line, number) = (line - 1, number + 1);
            let second = now.duration_since(start);
            *by_second.entry(second.as_secs()).or_default() += 1;
            let limit = match habits.change {
                Some((from, limit)) if second.as_secs_f64() >= from => Some(limit),
                _ => habits.limit,
            };
            let is_refused = dice.roll() < habits.refuses
                || limit.is_some_and(|limit| {
                    tokens = (tokens + limit * now.duration_since(filled).as_secs_f64()).min(limit.max(1.0));
                    filled = now;
                    let is_empty = tokens < 1.0;
                    tokens -= if is_empty { 0.0 } else { 1.0 };
                    is_empty
                });
            let answer = if is_refused {
                refused += 1;
                RateSignal::TooFast { retry_after: habits.retry_after }
            } else {
                granted += 1;
                RateSignal::Granted
            };
            let takes = Duration::from_secs_f64(0.05 + 0.1 * dice.roll());
            answers.insert((now + takes, number), (now, answer));
        }
        if let Some(((at, _), _)) = answers.first_key_value() {
            wakes = wakes.min(*at);
        }
        now = wakes.max(now + Duration::from_micros(1));
    }
    Outcome {
        granted: f64::from(granted) / seconds as f64,
        refused: f64::from(refused) / f64::from(granted + refused),
        most_in_a_second: by_second.into_values().max().unwrap_or_default(),
    }
}

#[test]
fn refusals_that_do_not_depend_on_the_pace_cost_only_the_requests_that_they_refuse() {
    for retry_after in [None, Some(SECOND)] {
        for refuses in [0.01, 0.1, 0.3] {
            for wanted in [5.0, 20.0, 100.0] {
                for seed in 0..SEEDS {
                    let habits = Habits { refuses, retry_after, ..Habits::default() };
                    let Outcome { granted, .. } = play(habits, wanted, 180, seed);
                    let least = 0.7 * (1.0 - refuses) * wanted;
                    assert!(granted >= least, "{retry_after:?} {refuses} {wanted} {seed}: {granted}");
                }
            }
        }
    }
}

#[test]
fn a_real_limit_is_used_and_seldom_passed() {
    for retry_after in [None, Some(SECOND)] {
        for limit in [2.0, 5.0, 20.0, 100.0] {
            for seed in 0..SEEDS {
                let habits = Habits { limit: Some(limit), retry_after, ..Habits::default() };
                let Outcome { granted, refused, .. } = play(habits, 4.0 * limit, 180, seed);
                assert!(granted >= 0.7 * limit, "{limit} {seed}: {granted} of {limit} a second");
                // A trial of eight answers at two a second takes a while in which the limit is passed.
                let most = if limit < 5.0 { 0.3 } else { 0.15 };
                assert!(refused <= most, "{limit} {seed}: {refused} refused");
            }
        }
    }
}

#[test]
fn a_real_limit_is_used_also_where_requests_are_refused_for_other_reasons() {
    for refuses in [0.01, 0.1, 0.3] {
        for limit in [5.0, 20.0, 100.0] {
            for seed in 0..SEEDS {
                let habits = Habits { refuses, limit: Some(limit), ..Habits::default() };
                let Outcome { granted, .. } = play(habits, 4.0 * limit, 180, seed);
                let least = 0.7 * (1.0 - refuses) * limit;
                assert!(granted >= least, "{refuses} {limit} {seed}: {granted}");
            }
        }
    }
}

#[test]
fn a_limit_that_drops_is_found_within_seconds_and_one_that_rises_is_used() {
    for seed in 0..SEEDS {
        let drops = Habits { limit: Some(100.0), change: Some((60.0, 20.0)), ..Habits::default() };
        let Outcome { granted, refused, .. } = play(drops, 400.0, 120, seed);
        assert!(granted >= 0.7 * 60.0 && refused <= 0.15, "{seed}: {granted} a second, {refused} refused");
        let rises = Habits { limit: Some(5.0), change: Some((60.0, 100.0)), ..Habits::default() };
        let Outcome { granted, .. } = play(rises, 400.0, 180, seed);
        assert!(granted >= 0.7 * (5.0 + 2.0 * 100.0) / 3.0, "{seed}: {granted} a second");
    }
}

#[test]
fn a_cloud_that_refuses_everything_is_hardly_asked() {
    let habits = Habits { refuses: 1.0, ..Habits::default() };
    let Outcome { refused, most_in_a_second, .. } = play(habits, 50.0, 10, 1);
    assert!(refused >= 1.0);
    assert!(most_in_a_second <= 20, "{most_in_a_second} in the first second");
}

fn too_fast(seconds: Option<u64>) -> RateSignal {
    RateSignal::TooFast { retry_after: seconds.map(Duration::from_secs) }
}

#[test]
fn requests_that_were_sent_together_cut_the_pace_once() {
    let start = Instant::now();
    let mut pace = Pace::new(start);
    (0..40).for_each(|_| pace.sent(start));
    let now = start + SECOND / 10;
    (0..40).for_each(|_| pace.answered(start, now, too_fast(None)));
    let rate = pace.per_second(now).expect("slow");
    assert!((15.0..=20.0).contains(&rate), "half of 40 a second: {rate}");
    let soon = now + SECOND / 2;
    (0..10).for_each(|_| pace.answered(soon, soon, too_fast(None)));
    assert_eq!(pace.per_second(soon), Some(rate), "one cut a second");
}

#[test]
fn one_complaint_among_many_that_were_granted_is_no_reason_to_be_slower() {
    let now = Instant::now();
    let mut pace = Pace::new(now);
    for _ in 0..100 {
        pace.sent(now);
        pace.answered(now, now, RateSignal::Granted);
    }
    pace.answered(now, now, too_fast(Some(1)));
    assert_eq!(pace.per_second(now), None);
    pace.answered(now, now, too_fast(Some(30)));
    assert_eq!(pace.per_second(now), Some(0.0), "a long pause is kept in any case");
}

#[test]
fn an_account_that_nobody_waits_for_and_that_nobody_complains_about_is_free_again() {
    let start = Instant::now();
    let mut pace = Pace::new(start);
    pace.answered(start, start, too_fast(None));
    assert!(pace.per_second(start + 59 * SECOND).is_some());
    assert!(pace.per_second(start + 60 * SECOND).is_none() && pace.is_idle(start + 61 * SECOND));
}

#[test]
fn an_unused_pace_does_not_grow() {
    let start = Instant::now();
    let mut pace = Pace::new(start);
    (0..100).for_each(|_| pace.sent(start));
    pace.answered(start, start, too_fast(None));
    let mut now = start;
    for _ in 0..100 {
        now += SECOND / 2;
        pace.has_made_wait(now);
        pace.sent(now);
        pace.answered(now, now, RateSignal::Granted);
    }
    assert!(pace.per_second(now).is_some_and(|rate| rate <= 50.0));
}
