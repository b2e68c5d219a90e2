//! The pace at which one cloud account takes requests. A pure structure: what happened and the time go in, a decision
//! comes out.
//!
//! An account is free until the cloud says that it is asked too fast. Then requests get turns, first come, first served,
//! at half the pace of the last second; each further complaint about a request that was sent at the reduced pace
//! halves it again. The pace doubles with time whatever happens, so no account stays slow for ever.

use std::collections::VecDeque;
use std::f64::consts::LN_2;
use std::time::Duration;

use tokio::time::Instant;

/// Nothing is slower, or one deletion of a node group would take hours.
const SLOWEST: f64 = 0.5;
/// At this pace an account is free again: no cloud's control plane is asked faster by one host.
const FREE: f64 = 100.0;
/// In which time the pace doubles: from the slowest to free in 77 s, about as fast as EC2 refills its buckets.
const DOUBLING: Duration = Duration::from_secs(10);
/// What a cloud asks for is honoured up to here.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(3600);
/// Requests that may wait for one account; beyond that a host has other worries than their order.
pub(super) const MOST_WAITING: usize = 1000;
/// Who waits looks again at least that often, since the pace may have changed for the better.
const LOOK_AGAIN: Duration = Duration::from_millis(250);
/// For who is not first although its time has come: the first one is about to go.
const AFTER_YOU: Duration = Duration::from_millis(1);

/// A place in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ticket(u64);

/// What a request is told that comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// Send it.
    Go,
    /// Ask again with the ticket, not before `until`.
    Wait { ticket: Ticket, until: Instant },
    /// Its turn would come after its deadline.
    Late { retry_after: Duration },
    /// Too many wait already.
    Crowded { retry_after: Duration },
}

/// What a request is told that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Send it; the ticket is used up.
    Go,
    /// Ask again, not before this.
    Wait { until: Instant },
    /// Its turn would come after its deadline; the ticket is given back.
    Late { retry_after: Duration },
}

/// The pace of one account.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    pace: Pace,
    waiting: VecDeque<Ticket>,
    next_ticket: u64,
    /// Requests of the last second, fading.
    recent: f64,
    last_sent: Instant,
}

#[derive(Clone, Debug)]
enum Pace {
    Free,
    Slow(Slow),
}

#[derive(Clone, Debug)]
struct Slow {
    /// Requests a second at `since`.
    rate: f64,
    /// From here on it grows; nothing goes before.
    since: Instant,
    /// Turns that are ready at `counted`.
    ready: f64,
    counted: Instant,
    /// A complaint about what was sent before says nothing about the pace that was set then.
    cut: Instant,
}

impl Bucket {
    pub(super) fn new(now: Instant) -> Self {
        Self { pace: Pace::Free, waiting: VecDeque::new(), next_ticket: 0, recent: 0.0, last_sent: now }
    }

    /// A request comes.
    pub(super) fn enter(&mut self, now: Instant, deadline: Instant) -> Entry {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        self.waiting.push_back(ticket);
        if self.waiting.len() > MOST_WAITING {
            let until = self.opening(self.waiting.len() - 1, now);
            self.leave(ticket);
            return Entry::Crowded { retry_after: pause(now, until) };
        }
        match self.poll(ticket, now, deadline) {
            Turn::Go => Entry::Go,
            Turn::Wait { until } => Entry::Wait { ticket, until },
            Turn::Late { retry_after } => Entry::Late { retry_after },
        }
    }

    /// A waiting request asks again.
    pub(super) fn poll(&mut self, ticket: Ticket, now: Instant, deadline: Instant) -> Turn {
        let Some(place) = self.waiting.iter().position(|waiting| *waiting == ticket) else { return Turn::Go };
        let until = self.opening(place, now);
        if until > now {
            if until >= deadline {
                self.leave(ticket);
                return Turn::Late { retry_after: pause(now, until) };
            }
            return Turn::Wait { until: until.min(now + LOOK_AGAIN) };
        }
        if place > 0 && matches!(self.pace, Pace::Slow(_)) {
            return Turn::Wait { until: now + AFTER_YOU };
        }
        self.leave(ticket);
        self.sent(now);
        Turn::Go
    }

    /// A request gives up its place.
    pub(super) fn leave(&mut self, ticket: Ticket) {
        self.waiting.retain(|waiting| *waiting != ticket);
    }

    /// The cloud said that a request which was sent at `sent_at` came too fast, and perhaps how long to wait.
    pub(super) fn slow_down(&mut self, sent_at: Instant, now: Instant, retry_after: Option<Duration>) {
        self.settle(now);
        let opens = now + retry_after.unwrap_or_default().min(LONGEST_PAUSE);
        let (rate, cut, opens) = match &self.pace {
            Pace::Free => ((self.recent_at(now) / 2.0).min(FREE / 2.0), now, opens),
            Pace::Slow(slow) if sent_at >= slow.cut => (slow.rate_at(now) / 2.0, now, opens.max(slow.since)),
            Pace::Slow(_) if retry_after.is_none() => return,
            Pace::Slow(slow) => (slow.rate_at(now), slow.cut, opens.max(slow.since)),
        };
        // Who waited for as long as the cloud asked may go at once.
        let ready = if opens > now { 1.0 } else { 0.0 };
        let rate = rate.max(SLOWEST);
        self.pace = Pace::Slow(Slow { rate, since: opens, ready, counted: opens, cut });
    }

    /// True when nothing would be lost by forgetting it.
    pub(super) fn is_idle(&mut self, now: Instant) -> bool {
        self.settle(now);
        matches!(self.pace, Pace::Free) && self.waiting.is_empty() && self.recent_at(now) < 0.01
    }

    /// When it was asked last.
    pub(super) fn last_sent(&self) -> Instant {
        self.last_sent
    }

    /// True while requests have to wait for turns.
    pub(super) fn is_slow(&mut self, now: Instant) -> bool {
        self.settle(now);
        matches!(self.pace, Pace::Slow(_))
    }

    /// Requests that wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// When the request with so many before it goes.
    fn opening(&mut self, before: usize, now: Instant) -> Instant {
        self.settle(now);
        match &self.pace {
            Pace::Free => now,
            Pace::Slow(slow) => slow.opening(before as f64 + 1.0, now),
        }
    }

    fn sent(&mut self, now: Instant) {
        self.recent = self.recent_at(now) + 1.0;
        self.last_sent = now;
        if let Pace::Slow(slow) = &mut self.pace {
            slow.ready = (slow.ready - 1.0).max(0.0);
        }
    }

    fn recent_at(&self, now: Instant) -> f64 {
        self.recent * (-now.saturating_duration_since(self.last_sent).as_secs_f64()).exp()
    }

    /// Counts the turns that became ready, and sets the account free when its time has come.
    fn settle(&mut self, now: Instant) {
        let Pace::Slow(slow) = &mut self.pace else { return };
        if now >= slow.free() {
            self.pace = Pace::Free;
        } else if now > slow.counted {
            // One turn is kept at most: a burst is what the cloud complained about.
            slow.ready = (slow.ready + slow.turns(slow.counted, now)).min(1.0);
            slow.counted = now;
        }
    }
}

impl Slow {
    fn age(&self, at: Instant) -> f64 {
        at.saturating_duration_since(self.since).as_secs_f64() / DOUBLING.as_secs_f64()
    }

    fn rate_at(&self, at: Instant) -> f64 {
        self.rate * self.age(at).exp2()
    }

    /// Turns between two times, which are the integral of the rate.
    fn turns(&self, from: Instant, to: Instant) -> f64 {
        self.turns_of_unit() * (self.age(to).exp2() - self.age(from).exp2())
    }

    fn turns_of_unit(&self) -> f64 {
        self.rate * DOUBLING.as_secs_f64() / LN_2
    }

    /// When it is free.
    fn free(&self) -> Instant {
        self.at_age((FREE / self.rate).log2())
    }

    /// When `turns` are ready at the earliest.
    fn opening(&self, turns: f64, now: Instant) -> Instant {
        let from = now.max(self.counted);
        let missing = turns - self.ready - f64::EPSILON;
        if missing <= 0.0 {
            return from;
        }
        let age = (self.age(from).exp2() + missing / self.turns_of_unit()).log2();
        self.at_age(age).max(from).min(self.free().max(from))
    }

    fn at_age(&self, age: f64) -> Instant {
        // Rounded up: who comes at that time shall find its turn.
        let after =
            Duration::try_from_secs_f64(age.max(0.0) * DOUBLING.as_secs_f64()).unwrap_or(LONGEST_PAUSE);
        self.since + after + Duration::from_micros(1)
    }
}

fn pause(now: Instant, until: Instant) -> Duration {
    until.saturating_duration_since(now)
}

#[cfg(test)]
#[path = "bucket_tests.rs"]
mod tests;
