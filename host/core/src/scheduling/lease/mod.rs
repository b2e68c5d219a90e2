//! Leader election over the fields of a Lease, compatible with other members of the cluster.
//!
//! The age of another holder's lease is measured from the moment when this process first saw the record: times of
//! another machine's clock are compared and never trusted. The age of this process's own lease is measured from before
//! the write was sent, so that it ends here before it ends for any observer.

use jiff::{SignedDuration, Timestamp};

/// The resolution of times in a Lease.
const RECORD_TICK: SignedDuration = SignedDuration::from_micros(1);

/// A moment on two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Since some fixed point, on a monotonic clock. It may stop while the machine sleeps.
    pub monotonic: SignedDuration,
    /// The wall clock: it continues while the machine sleeps, and may be set.
    pub wall: Timestamp,
}

impl Moment {
    /// Returns at most the time that has really passed, to wait until another holder's lease has expired.
    fn surely_since(self, earlier: Self) -> SignedDuration {
        self.monotonic.saturating_sub(earlier.monotonic).max(SignedDuration::ZERO)
    }

    /// Returns at least the time that has really passed, unless the wall clock was set back during a sleep, for the age
    /// of one's own lease.
    fn possibly_since(self, earlier: Self) -> SignedDuration {
        self.surely_since(earlier).max(self.wall.duration_since(earlier.wall))
    }
}

/// The times of an election. The defaults are those of Kubernetes' own components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseTimes {
    /// Others wait this long after the last renewal that they saw.
    pub duration: SignedDuration,
    /// A leader that could not renew for this long stops leading. Calls in flight then have `duration - renew_deadline`
    /// to end.
    pub renew_deadline: SignedDuration,
    /// The time between two renewals, and between two reads of another holder's Lease.
    pub retry: SignedDuration,
}

impl Default for LeaseTimes {
    fn default() -> Self {
        Self {
            duration: SignedDuration::from_secs(15),
            renew_deadline: SignedDuration::from_secs(10),
            retry: SignedDuration::from_secs(2),
        }
    }
}

impl LeaseTimes {
    /// Returns true when a leader can renew before it steps down, and steps down before others take over.
    pub fn are_sound(&self) -> bool {
        SignedDuration::ZERO < self.retry
            && self.retry < self.renew_deadline
            && self.renew_deadline < self.duration
    }
}

/// The fields of a Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseFact {
    /// The holder; empty after a release.
    pub holder: String,
    /// The number of changes of the holder.
    pub transitions: i32,
    /// How long the holder's lease lasts.
    pub duration: SignedDuration,
    /// The time by the holder's clock. It only shows whether the record has changed.
    pub renewed_at: Option<Timestamp>,
}

/// The next step of an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseAction {
    /// Write it with this process as the holder, on the version that was read; create it if there was none. Then call
    /// [`Election::wrote`] if that was accepted, else read it and call [`Election::observed`].
    Acquire {
        /// To write into it.
        transitions: i32,
    },
    /// Write it with a new time. Then as for `Acquire`.
    Renew,
    /// After this time, read it if another process holds it, and ask again.
    Wait { delay: SignedDuration },
    /// Give it back: write [`Election::released`].
    Release,
    /// It was held and is lost. Everything that needs it ends at once.
    Lost,
}

#[derive(Clone, Debug)]
struct Observed {
    lease: LeaseFact,
    /// When this process first saw these very fields.
    changed_at: Moment,
}

/// One process in the election of one Lease.
///
/// Promises: [`Election::holds`] is true only while no other process that follows the same rules can take the Lease, as
/// long as clocks run at about the same speed. If the wall clock is set, a leader steps down early at worst; if the
/// monotonic clock stops, a candidate waits longer at worst. A person who deletes the Lease voids the promise for one
/// `retry`.
///
/// Assumes that `me` is unique among all processes and all starts of a process, and that writes carry the version of
/// the record that was read, so that the server refuses all but one.
#[derive(Clone, Debug)]
pub struct Election {
    me: String,
    times: LeaseTimes,
    observed: Option<Observed>,
    /// When the last accepted write of this process was sent.
    renewed_at: Option<Moment>,
}

impl Election {
    /// Returns a candidate without an observation. Read the Lease and call [`Election::observed`] before the first
    /// [`Election::decide`], or it treats the Lease as missing, which the server then refuses to create.
    pub fn new(me: impl Into<String>, times: LeaseTimes) -> Self {
        Self { me: me.into(), times, observed: None, renewed_at: None }
    }

    /// Notes the Lease that was read; `None`: there is none.
    pub fn observed(&mut self, lease: Option<LeaseFact>, now: Moment) {
        self.observed = match (lease, self.observed.take()) {
            (Some(lease), Some(known)) if known.lease == lease => Some(known),
            (Some(lease), _) => Some(Observed { lease, changed_at: now }),
            (None, _) => None,
        };
    }

    /// Notes that a write with this process as the holder was accepted. `sent_at` is from before it was sent.
    pub fn wrote(&mut self, lease: LeaseFact, sent_at: Moment) {
        self.observed = Some(Observed { lease, changed_at: sent_at });
        self.renewed_at = Some(sent_at);
    }

    /// Gives up the Lease, whether or not the write of [`Election::released`] has arrived.
    pub fn gave_back(&mut self) {
        self.renewed_at = None;
    }

    /// Returns the next step. Changes nothing.
    pub fn decide(&self, now: Moment) -> LeaseAction {
        match self.renewed_at {
            Some(renewed_at) => self.lead(now.possibly_since(renewed_at)),
            None => self.follow(now),
        }
    }

    /// Returns true while this process holds it for certain.
    pub fn holds(&self, now: Moment) -> bool {
        match self.decide(now) {
            LeaseAction::Lost => false,
            LeaseAction::Acquire { .. }
            | LeaseAction::Renew
            | LeaseAction::Wait { .. }
            | LeaseAction::Release => self.renewed_at.is_some(),
        }
    }

    /// Returns the fields to write as the holder: now, with `transitions` as decided. For [`LeaseAction::Renew`] use
    /// [`Election::transitions`].
    ///
    /// Each time of one process is later than the one before, also when its wall clock was set back: to a candidate
    /// that reads seldom, a renewal with an earlier time would look unchanged.
    pub fn claim(&self, transitions: i32, now: Moment) -> LeaseFact {
        let ours = self.observed.as_ref().filter(|observed| observed.lease.holder == self.me);
        let earlier = ours.and_then(|observed| observed.lease.renewed_at);
        let later = earlier.map(|earlier| earlier.checked_add(RECORD_TICK).unwrap_or(earlier));
        LeaseFact {
            holder: self.me.clone(),
            transitions,
            duration: self.times.duration,
            renewed_at: Some(later.map_or(now.wall, |later| later.max(now.wall))),
        }
    }

    /// Returns the number of changes of the holder when the Lease was last seen.
    pub fn transitions(&self) -> i32 {
        self.observed.as_ref().map_or(0, |observed| observed.lease.transitions)
    }

    /// Returns the fields to write to give it back: no holder, and the smallest duration. `None` when another process
    /// is known to hold it.
    pub fn released(&self, now: Moment) -> Option<LeaseFact> {
        let ours = self.observed.as_ref().filter(|observed| observed.lease.holder == self.me)?;
        Some(LeaseFact {
            holder: String::new(),
            transitions: ours.lease.transitions,
            duration: SignedDuration::from_secs(1),
            renewed_at: Some(now.wall),
        })
    }

    /// Returns true when the next [`Election::decide`] of a candidate would take it.
    fn is_free(&self, now: Moment) -> bool {
        matches!(self.follow(now), LeaseAction::Acquire { .. })
    }

    fn lead(&self, age: SignedDuration) -> LeaseAction {
        if age >= self.times.renew_deadline {
            return LeaseAction::Lost;
        }
        match &self.observed {
            Some(observed) if observed.lease.holder != self.me => LeaseAction::Lost,
            // Somebody deleted it. Only one process can create it; until then the lease lasts as long as after a
            // renewal.
            None => LeaseAction::Acquire { transitions: 0 },
            Some(_) if age >= self.times.retry => LeaseAction::Renew,
            Some(_) => LeaseAction::Wait { delay: self.times.retry.saturating_sub(age) },
        }
    }

    fn follow(&self, now: Moment) -> LeaseAction {
        let Some(Observed { lease, changed_at }) = &self.observed else {
            return LeaseAction::Acquire { transitions: 0 };
        };
        if lease.holder == self.me {
            // An earlier write of this process has arrived although its answer has not.
            return LeaseAction::Acquire { transitions: lease.transitions };
        }
        let left = lease.duration.saturating_sub(now.surely_since(*changed_at));
        if lease.holder.is_empty() || left <= SignedDuration::ZERO {
            return LeaseAction::Acquire { transitions: lease.transitions.saturating_add(1) };
        }
        LeaseAction::Wait { delay: left.min(self.times.retry) }
    }
}

/// The next steps for the Leases of a leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeadershipActions {
    pub first: LeaseAction,
    /// About the second, where there is one.
    pub second: Option<LeaseAction>,
}

/// The election of all Leases of a leader: one or two; the process leads only while it holds all.
///
/// Of two, the first is taken only when both look free, the second only while the first is held, and the first is given
/// back when another process has the second. So candidates cannot wait for each other in a ring, and a process that
/// holds one Lease and cannot lead does not block two processes that need one each.
#[derive(Clone, Debug)]
pub struct Leadership {
    pub first: Election,
    /// Taken second; none where one is enough.
    pub second: Option<Election>,
}

impl Leadership {
    /// Returns true while all are held for certain.
    pub fn leads(&self, now: Moment) -> bool {
        self.first.holds(now) && self.second.as_ref().is_none_or(|second| second.holds(now))
    }

    /// Returns the next step for each. [`LeaseAction::Lost`] for any means that leadership is lost.
    pub fn decide(&self, now: Moment) -> LeadershipActions {
        match &self.second {
            None => LeadershipActions { first: self.first.decide(now), second: None },
            Some(second) => {
                let (first, second) = Self::decide_both(&self.first, second, now);
                LeadershipActions { first, second: Some(second) }
            }
        }
    }

    fn decide_both(one: &Election, other: &Election, now: Moment) -> (LeaseAction, LeaseAction) {
        let wait = |election: &Election| LeaseAction::Wait { delay: election.times.retry };
        let (first, second) = (one.decide(now), other.decide(now));
        match (one.renewed_at, other.renewed_at) {
            (Some(_), Some(_)) => (first, second),
            (Some(_), None) if first == LeaseAction::Lost => (first, wait(other)),
            (Some(_), None) if other.is_free(now) => (first, second),
            (Some(_), None) => (LeaseAction::Release, second),
            (None, Some(_)) => (wait(one), LeaseAction::Release),
            (None, None) if other.is_free(now) => (first, wait(other)),
            (None, None) if one.is_free(now) => (wait(one), second),
            (None, None) => (first, second),
        }
    }
}

#[cfg(test)]
mod tests;
