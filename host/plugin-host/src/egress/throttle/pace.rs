//! The rate of requests to one cloud account. A pure structure: answers and the time go in, the pace comes out.
//!
//! An account is free until the share of complaints among its answers is more than chance. Then the pace is cut, at
//! most once a second, to a little below the rate that the cloud granted, and the cut is a trial. If the share of
//! complaints stays the same, it does not depend on the pace (others use the account, or the cloud refuses for reasons
//! of its own), and the pace comes back. Otherwise the limit is real: the pace stays below it and grows by granted
//! requests, quickly while it is far from the last limit, slowly near it.

use std::time::Duration;

use tokio::time::Instant;

/// Nothing is slower, or one deletion of a node group would take hours.
const SLOWEST: f64 = 0.5;
/// No cloud's control plane is asked faster by one host.
const FASTEST: f64 = 1000.0;
/// The first cut of a free account leaves this at least: of a process that has just begun nothing is known yet.
const FIRST_LEAST: f64 = 5.0;
/// The first cut leaves no more than half of this.
const FIRST_MOST: f64 = 100.0;
/// A cloud's `Retry-After` is honoured up to here.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(3600);
/// A `Retry-After` up to here holds back all requests of the account only while complaints are more than chance; the
/// request that got it waits in any case.
const SHORT_PAUSE: Duration = Duration::from_secs(5);
/// Cuts are this far apart at least.
const BETWEEN_CUTS: Duration = Duration::from_secs(1);
/// An account is free again after this time without a complaint and without a request that had to wait.
const FREE_AFTER: Duration = Duration::from_secs(60);
/// Such a share of complaints is no reason to be slower.
const TOLERATED: f64 = 0.02;
/// A share above this always cuts the pace: half of all requests without success are harm, whatever the cause.
const MOST_TOLERATED: f64 = 0.5;
/// Standard deviations above the expected number of complaints that are no chance any more.
const DEVIATIONS: f64 = 3.0;
/// Answers fade in this time, or in that of so many answers where these are few.
const MEMORY_SECONDS: f64 = 3.0;
const MEMORY_ANSWERS: f64 = 20.0;
/// A cut goes this far below the granted rate.
const BELOW: f64 = 0.9;
/// And never below this part of the pace.
const DEEPEST_CUT: f64 = 0.125;
/// A trial ends when so many complaints would have come if the share had stayed as it was.
const TRIAL_COMPLAINTS: f64 = 8.0;
/// Bounds of the answers that a trial needs for that, and of its time.
const TRIAL_ANSWERS: (f64, f64) = (10.0, 100.0);
const TRIAL_TIME: Duration = Duration::from_secs(5);
/// By how much each granted request raises the pace: without a known limit, far below it, near it.
const GROWTH: f64 = 0.10;
const GROWTH_FAR: f64 = 0.15;
const GROWTH_NEAR: f64 = 0.02;
/// Where near begins and ends, as parts of the last limit.
const NEAR: (f64, f64) = (0.85, 1.05);

/// An answer of the cloud, as far as the pace is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::egress) enum RateSignal {
    /// The request was taken, whatever came of it.
    Granted,
    /// The cloud is asked too fast, it says, and perhaps how long to wait.
    TooFast { retry_after: Option<Duration> },
}

/// The pace of one account.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    slow: Option<Slow>,
    /// The share of complaints that does not depend on the pace.
    base: f64,
    /// Answers to requests that were sent since the pace was cut.
    seen: Sample,
    seen_at: Instant,
    /// When it was cut. Answers about requests that were sent before say nothing about the pace since then.
    cut_at: Option<Instant>,
    /// When a pause that the cloud asked for was last applied.
    closed_at: Option<Instant>,
    /// Requests of the last second, fading.
    recent: f64,
    last_sent: Instant,
    /// When the pace last mattered to anybody.
    mattered: Instant,
}

/// Answers, and those that were complaints.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    answers: f64,
    complaints: f64,
}

#[derive(Clone, Debug)]
struct Slow {
    rate: f64,
    opens: Instant,
    /// Turns that are ready at `counted`.
    ready: f64,
    counted: Instant,
    /// The pace at which complaints were last more than chance.
    limit: Option<f64>,
    trial: Option<CutTrial>,
}

/// A cut whose effect is observed.
#[derive(Clone, Copy, Debug)]
struct CutTrial {
    rate_before: f64,
    before: Sample,
}

impl Sample {
    fn share(self) -> f64 {
        self.complaints / self.answers.max(1.0)
    }

    /// True when there are more complaints than chance makes of this share.
    fn exceeds(self, share: f64) -> bool {
        let expected = share * self.answers;
        self.complaints > expected + DEVIATIONS * (expected * (1.0 - share)).sqrt() + 0.5
    }
}

impl Pace {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            slow: None,
            base: 0.0,
            seen: Sample::default(),
            seen_at: now,
            cut_at: None,
            closed_at: None,
            recent: 0.0,
            last_sent: now,
            mattered: now,
        }
    }

    /// When so many turns are ready; a free account is always ready.
    pub(super) fn opening(&mut self, turns: f64, now: Instant) -> Instant {
        self.advance(now);
        let Some(slow) = &self.slow else { return now };
        let from = now.max(slow.counted);
        let missing = turns - slow.ready - 1e-9;
        if missing <= 0.0 {
            return from;
        }
        let wait = Duration::try_from_secs_f64(missing / slow.rate).unwrap_or(LONGEST_PAUSE);
        // Rounded up: a request that comes at that time finds its turn.
        from + wait.min(LONGEST_PAUSE) + Duration::from_micros(1)
    }

    pub(super) fn sent(&mut self, now: Instant) {
        self.recent = self.recent_at(now) + 1.0;
        self.last_sent = now;
        if let Some(slow) = &mut self.slow {
            slow.ready = (slow.ready - 1.0).max(0.0);
        }
    }

    /// A request has to wait for its turn.
    pub(super) fn has_made_wait(&mut self, now: Instant) {
        self.mattered = now;
    }

    /// The cloud has answered a request that was sent at `sent_at`.
    pub(super) fn answered(&mut self, sent_at: Instant, now: Instant, answer: RateSignal) {
        self.advance(now);
        let retry_after = match answer {
            RateSignal::Granted => None,
            RateSignal::TooFast { retry_after } => retry_after,
        };
        if self.cut_at.is_some_and(|cut_at| sent_at < cut_at) {
            self.close(now, retry_after);
            return;
        }
        self.note(now, answer);
        let is_excess = self.seen.exceeds(self.base.max(TOLERATED));
        let is_on_trial = self.slow.as_ref().is_some_and(|slow| slow.trial.is_some());
        match answer {
            RateSignal::TooFast { .. } => {
                self.mattered = now;
                let may_cut = self.cut_at.is_none_or(|cut_at| now.duration_since(cut_at) >= BETWEEN_CUTS);
                if is_excess && may_cut && !is_on_trial {
                    self.cut(now);
                }
                // A trial needs answers: this pauses it for half of its time at most.
                let pause = retry_after.unwrap_or_default();
                let has_just_paused = self.closed_at.is_some_and(|at| now.duration_since(at) < 2 * pause);
                if (is_excess && !(is_on_trial && has_just_paused)) || pause > SHORT_PAUSE {
                    self.close(now, retry_after);
                }
            }
            RateSignal::Granted if !is_excess && !is_on_trial => self.grow(now),
            RateSignal::Granted => {}
        }
        if is_on_trial {
            self.judge(now);
        }
    }

    /// Requests a second, while they are limited.
    pub(super) fn per_second(&mut self, now: Instant) -> Option<f64> {
        self.advance(now);
        self.slow.as_ref().map(|slow| if slow.opens > now { 0.0 } else { slow.rate })
    }

    /// True when nothing would be lost by forgetting it.
    pub(super) fn is_idle(&mut self, now: Instant) -> bool {
        self.advance(now);
        self.slow.is_none() && self.recent_at(now) < 0.01
    }

    /// When it was asked last.
    pub(super) fn last_sent(&self) -> Instant {
        self.last_sent
    }

    fn recent_at(&self, now: Instant) -> f64 {
        self.recent * (-now.saturating_duration_since(self.last_sent).as_secs_f64()).exp()
    }

    /// Counts the turns that became ready, and sets the account free when its time has come.
    fn advance(&mut self, now: Instant) {
        let Some(slow) = &mut self.slow else { return };
        if now > slow.counted {
            // One turn is kept at most: a burst is what the cloud complained about.
            let time = now.saturating_duration_since(slow.counted).as_secs_f64();
            slow.ready = (slow.ready + slow.rate * time).min(1.0);
            slow.counted = now;
        }
        if now.saturating_duration_since(self.mattered.max(slow.opens)) >= FREE_AFTER {
            *self = Self { recent: self.recent, last_sent: self.last_sent, ..Self::new(now) };
        }
    }

    fn note(&mut self, now: Instant, answer: RateSignal) {
        let time = now.saturating_duration_since(self.seen_at).as_secs_f64();
        let rate = self.slow.as_ref().map_or(FIRST_LEAST, |slow| slow.rate);
        // During a trial each answer counts alike.
        if self.slow.as_ref().is_none_or(|slow| slow.trial.is_none()) {
            let kept = (-time / MEMORY_SECONDS.max(MEMORY_ANSWERS / rate)).exp();
            self.seen.answers *= kept;
            self.seen.complaints *= kept;
        }
        self.seen_at = now;
        self.seen.answers += 1.0;
        self.seen.complaints += if answer == RateSignal::Granted { 0.0 } else { 1.0 };
    }

    /// The cloud asked for a pause.
    fn close(&mut self, now: Instant, pause: Option<Duration>) {
        let Some(pause) = pause.filter(|pause| !pause.is_zero()) else { return };
        let opens = now + pause.min(LONGEST_PAUSE);
        self.closed_at = Some(now);
        let recent = self.recent_at(now);
        let slow = self.slow.get_or_insert_with(|| Slow::at(first_rate(recent, 0.5), now));
        slow.opens = slow.opens.max(opens);
        // A request that waited for as long as the cloud asked may go at once.
        (slow.ready, slow.counted) = (1.0, slow.opens);
    }

    fn cut(&mut self, now: Instant) {
        let before = self.seen;
        let rate_before =
            self.slow.as_ref().map_or_else(|| self.recent_at(now).min(FIRST_MOST), |slow| slow.rate);
        let rate = match &self.slow {
            // Of a free account little was seen: half, unless it granted more.
            None => first_rate(rate_before, ((1.0 - before.share()) * BELOW).clamp(0.5, BELOW)),
            Some(_) => {
                // With four more granted: a run of a few complaints is no measure yet.
                let granted = 1.0 - before.complaints / (before.answers + 4.0);
                (rate_before * (granted * BELOW).clamp(DEEPEST_CUT, BELOW)).max(SLOWEST)
            }
        };
        let slow = self.slow.get_or_insert_with(|| Slow::at(rate, now));
        slow.rate = rate;
        slow.limit = Some(rate_before);
        slow.trial = (rate < rate_before).then_some(CutTrial { rate_before, before });
        self.seen = Sample::default();
        (self.seen_at, self.cut_at) = (now, Some(now));
    }

    /// Ends a trial when enough was seen: does the share of complaints depend on the pace?
    fn judge(&mut self, now: Instant) {
        let Some(slow) = &mut self.slow else { return };
        let Some(CutTrial { rate_before, before }) = slow.trial else { return };
        let (fewest, most) = TRIAL_ANSWERS;
        let needed = (TRIAL_COMPLAINTS / before.share().max(0.01)).clamp(fewest, most);
        let is_over = self.cut_at.is_some_and(|cut_at| now.duration_since(cut_at) > TRIAL_TIME);
        if self.seen.answers < needed && !(is_over && self.seen.answers >= fewest) {
            return;
        }
        let (was, is) = (before.share(), self.seen.share());
        // The share that a real limit would still leave, were it what was granted before the cut.
        let left = (1.0 - (1.0 - was) * rate_before / slow.rate).max(0.0);
        let expected = self.base.max(left);
        let is_as_before = is > f64::midpoint(was, expected) && expected < was;
        // Where complaints became many more although the pace is lower, the limit shows only now.
        let is_plausible = is <= MOST_TOLERATED && is <= 1.3 * was + 0.05;
        if is_as_before && is_plausible {
            let both = Sample {
                answers: before.answers + self.seen.answers,
                complaints: before.complaints + self.seen.complaints,
            };
            self.base = both.share().min(MOST_TOLERATED);
            slow.rate = rate_before;
            slow.limit = None;
        } else if self.base > TOLERATED && left <= 0.05 && is >= self.base / 2.0 {
            // The base is what it was, and a limit lies above it.
            self.base = 0.75 * self.base + 0.25 * is.min(MOST_TOLERATED);
            let granted = ((1.0 - was) / (1.0 - self.base) * 0.95).min(BELOW);
            slow.rate = slow.rate.max(rate_before * granted);
        } else if left <= 0.05 {
            self.base = is.min(MOST_TOLERATED);
        } else {
            self.base = self.base.min(is);
        }
        slow.trial = None;
        self.seen = Sample::default();
    }

    /// Records a granted request. A pace that is not used does not grow.
    fn grow(&mut self, now: Instant) {
        let recent = self.recent_at(now);
        let Some(slow) = &mut self.slow else { return };
        let share = self.seen.share();
        if share < self.base {
            self.base += (share - self.base) / 100.0;
        }
        let (near, beyond) = NEAR;
        let growth = match slow.limit {
            Some(limit) if slow.rate < near * limit => GROWTH_FAR,
            Some(limit) if slow.rate < beyond * limit => GROWTH_NEAR,
            Some(_) | None => GROWTH,
        };
        if recent >= slow.rate / 2.0 || slow.rate < 2.0 {
            slow.rate = (slow.rate + growth).min(FASTEST);
        }
    }
}

impl Slow {
    fn at(rate: f64, now: Instant) -> Self {
        Self { rate, opens: now, ready: 0.0, counted: now, limit: None, trial: None }
    }
}

fn first_rate(recent: f64, part: f64) -> f64 {
    (recent.min(FIRST_MOST) * part).max(FIRST_LEAST)
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;
