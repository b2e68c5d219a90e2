//! The queue of one cloud account: which request goes next, and when. A pure structure: events and the time go in, a
//! decision comes out. [`Pace`] decides the rate.
//!
//! Deletions and queries go before creates, and one of four turns goes to the create that waits longest.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::pace::{Pace, RateSignal};
use crate::resources::urgency::{Alternation, Urgency};

/// Requests that may wait for one account; beyond that a host has other worries than their order.
pub(super) const MOST_WAITING: usize = 1000;
/// A waiting request checks at least this often, since the pace may have increased.
const LOOK_AGAIN: Duration = Duration::from_millis(250);
/// For a request that is not first although its time has come: the first one is about to go.
const AFTER_YOU: Duration = Duration::from_millis(1);

/// A place in the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ticket(u64);

/// The answer to a request that comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Go,
    /// Ask again with the ticket, not before `until`.
    Wait {
        ticket: Ticket,
        until: Instant,
    },
    /// Its turn would come after its deadline.
    Late {
        retry_after: Duration,
    },
    /// Too many wait already.
    Crowded {
        retry_after: Duration,
    },
}

/// The answer to a request that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Send it; the ticket is used up.
    Go,
    /// Ask again, not before this.
    Wait { until: Instant },
    /// Its turn would come after its deadline; the ticket is given back.
    Late { retry_after: Duration },
}

/// The line of one account.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    pace: Pace,
    urgent: VecDeque<Ticket>,
    normal: VecDeque<Ticket>,
    alternation: Alternation,
    next_ticket: u64,
}

impl Bucket {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            pace: Pace::new(now),
            urgent: VecDeque::new(),
            normal: VecDeque::new(),
            alternation: Alternation::default(),
            next_ticket: 0,
        }
    }

    pub(super) fn enter(&mut self, urgency: Urgency, now: Instant, deadline: Instant) -> Entry {
        if self.waiting() >= MOST_WAITING {
            let until = self.pace.opening(self.waiting() as f64 + 1.0, now);
            return Entry::Crowded { retry_after: pause(now, until) };
        }
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        match urgency {
            Urgency::Urgent => self.urgent.push_back(ticket),
            Urgency::Normal => self.normal.push_back(ticket),
        }
        match self.poll(ticket, now, deadline) {
            Turn::Go => Entry::Go,
            Turn::Wait { until } => Entry::Wait { ticket, until },
            Turn::Late { retry_after } => Entry::Late { retry_after },
        }
    }

    /// A waiting request asks again.
    pub(super) fn poll(&mut self, ticket: Ticket, now: Instant, deadline: Instant) -> Turn {
        let Some(before) = self.before(ticket) else { return Turn::Go };
        let until = self.pace.opening(before as f64 + 1.0, now);
        if until > now {
            self.pace.has_made_wait(now);
            if until >= deadline {
                self.leave(ticket);
                return Turn::Late { retry_after: pause(now, until) };
            }
            return Turn::Wait { until: until.min(now + LOOK_AGAIN) };
        }
        if before > 0 && self.is_slow(now) {
            return Turn::Wait { until: now + AFTER_YOU };
        }
        let is_urgent = self.urgent.contains(&ticket);
        self.leave(ticket);
        self.alternation.went(if is_urgent { Urgency::Urgent } else { Urgency::Normal });
        self.pace.sent(now);
        Turn::Go
    }

    /// A request gives up its place.
    pub(super) fn leave(&mut self, ticket: Ticket) {
        self.urgent.retain(|waiting| *waiting != ticket);
        self.normal.retain(|waiting| *waiting != ticket);
    }

    /// The cloud has answered a request that was sent at `sent_at`.
    pub(super) fn answered(&mut self, sent_at: Instant, now: Instant, answer: RateSignal) {
        self.pace.answered(sent_at, now, answer);
    }

    /// True when nothing would be lost by forgetting it.
    pub(super) fn is_idle(&mut self, now: Instant) -> bool {
        self.waiting() == 0 && self.pace.is_idle(now)
    }

    /// When it was asked last.
    pub(super) fn last_sent(&self) -> Instant {
        self.pace.last_sent()
    }

    /// True while requests have to wait for turns.
    pub(super) fn is_slow(&mut self, now: Instant) -> bool {
        self.per_second(now).is_some()
    }

    /// Requests a second, while they have to wait for turns.
    pub(super) fn per_second(&mut self, now: Instant) -> Option<f64> {
        self.pace.per_second(now)
    }

    pub(super) fn waiting(&self) -> usize {
        self.urgent.len() + self.normal.len()
    }

    /// How many go before this one, were no other to come; `None` for one that does not wait.
    fn before(&self, ticket: Ticket) -> Option<usize> {
        let place = |line: &VecDeque<Ticket>| line.iter().position(|waiting| *waiting == ticket);
        if let Some(place) = place(&self.urgent) {
            return Some(place + self.alternation.normal_before(place).min(self.normal.len()));
        }
        let place = place(&self.normal)?;
        Some(place + self.alternation.urgent_before(place).min(self.urgent.len()))
    }
}

fn pause(now: Instant, until: Instant) -> Duration {
    until.saturating_duration_since(now)
}

#[cfg(test)]
#[path = "bucket_tests.rs"]
mod tests;
