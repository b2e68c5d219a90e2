//! Leader election over the fields of a Lease, compatible with other members of the cluster.
//!
//! The age of another's claim is measured from the moment when this process first saw the record as it is: times that
//! another machine's clock wrote are compared and never trusted. The age of this process's own claim is measured from
//! before the write was sent, so that the claim ends here before it ends for any observer.

use jiff::{SignedDuration, Timestamp};

/// What the time in a Lease can tell apart.
const RECORD_TICK: SignedDuration = SignedDuration::from_micros(1);

/// A moment on two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Since some fixed point, on a clock that is never set. It may stand still while the machine sleeps.
    pub monotonic: SignedDuration,
    /// On the wall: it goes on while the machine sleeps, and may be set.
    pub wall: Timestamp,
}

impl Moment {
    /// At most the time that has really passed: right for waiting until somebody else's claim has run out.
    fn surely_since(self, earlier: Self) -> SignedDuration {
        self.monotonic.saturating_sub(earlier.monotonic).max(SignedDuration::ZERO)
    }

    /// At least the time that has really passed, unless the wall clock was set back during a sleep: right for the age of
    /// one's own claim.
    fn possibly_since(self, earlier: Self) -> SignedDuration {
        self.surely_since(earlier).max(self.wall.duration_since(earlier.wall))
    }
}

/// How long things take in an election. The defaults are those of Kubernetes' own components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseTimes {
    /// Others wait this long after the last renewal that they saw.
    pub duration: SignedDuration,
    /// A leader that could not renew for this long is one no more. What is in flight then has `duration - renew_deadline`
    /// to end.
    pub renew_deadline: SignedDuration,
    /// Between two renewals, and between two looks at somebody else's Lease.
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
    /// True when a leader has a chance to renew before it steps down, and steps down before others take over.
    pub fn are_sound(&self) -> bool {
        SignedDuration::ZERO < self.retry
            && self.retry < self.renew_deadline
            && self.renew_deadline < self.duration
    }
}

/// The fields of a Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseFact {
    /// Who holds it; empty after a release.
    pub holder: String,
    /// How often it has changed hands.
    pub transitions: i32,
    /// How long the holder's claim lasts.
    pub duration: SignedDuration,
    /// The holder's own clock. Only tells whether the record has changed.
    pub renewed_at: Option<Timestamp>,
}

/// What to do about a Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseAction {
    /// Write it with oneself as the holder, on the version that was read; create it if there was none. Then
    /// [`Election::wrote`] if that was accepted, else read it and [`Election::observed`].
    Acquire {
        /// To write into it.
        transitions: i32,
    },
    /// Write it with a new time. Then as for `Acquire`.
    Renew,
    /// After this time, read it if somebody else holds it, and ask again.
    Wait {
        /// From now.
        delay: SignedDuration,
    },
    /// Give it back: write [`Election::released`].
    Release,
    /// It was held and is not any more. Everything that needs it ends at once.
    Lost,
}

#[derive(Clone, Debug)]
struct Observed {
    lease: LeaseFact,
    /// When this process first saw these very fields.
    changed_at: Moment,
}

/// One process's part in the election over one Lease.
///
/// Promises: [`Election::holds`] is true only while no other process that follows the same rules can take the Lease, as
/// long as clocks run at about the same speed; a wall clock that is set makes a leader step down early at worst, and a
/// standing-still monotonic clock makes a candidate wait longer at worst. A person who deletes the Lease voids the promise
/// for one `retry`.
///
/// Assumes that `me` is unique among all processes and all starts of a process, and that writes carry the version of the
/// record that was read, so that the server refuses all but one.
#[derive(Clone, Debug)]
pub struct Election {
    me: String,
    times: LeaseTimes,
    observed: Option<Observed>,
    /// The last write of ours that was accepted was sent then.
    renewed_at: Option<Moment>,
}

impl Election {
    /// A candidate that has not looked yet. Read the Lease and call [`Election::observed`] before the first
    /// [`Election::decide`], or it takes the Lease for missing, which the server then refuses to create.
    pub fn new(me: impl Into<String>, times: LeaseTimes) -> Self {
        Self { me: me.into(), times, observed: None, renewed_at: None }
    }

    /// The Lease was read; `None`: there is none.
    pub fn observed(&mut self, lease: Option<LeaseFact>, now: Moment) {
        self.observed = match (lease, self.observed.take()) {
            (Some(lease), Some(known)) if known.lease == lease => Some(known),
            (Some(lease), _) => Some(Observed { lease, changed_at: now }),
            (None, _) => None,
        };
    }

    /// A write that says that we hold the Lease was accepted. `sent_at` is from before it was sent.
    pub fn wrote(&mut self, lease: LeaseFact, sent_at: Moment) {
        self.observed = Some(Observed { lease, changed_at: sent_at });
        self.renewed_at = Some(sent_at);
    }

    /// We no longer want it, whether or not the write of [`Election::released`] has arrived.
    pub fn gave_back(&mut self) {
        self.renewed_at = None;
    }

    /// What to do. Changes nothing.
    pub fn decide(&self, now: Moment) -> LeaseAction {
        match self.renewed_at {
            Some(renewed_at) => self.lead(now.possibly_since(renewed_at)),
            None => self.follow(now),
        }
    }

    /// True while we hold it for certain.
    pub fn holds(&self, now: Moment) -> bool {
        match self.decide(now) {
            LeaseAction::Lost => false,
            LeaseAction::Acquire { .. }
            | LeaseAction::Renew
            | LeaseAction::Wait { .. }
            | LeaseAction::Release => self.renewed_at.is_some(),
        }
    }

    /// The fields to write when we hold it: now, with `transitions` as decided. For [`LeaseAction::Renew`] use
    /// [`Election::transitions`].
    ///
    /// Each claim of one process is later than the one before, also when its wall clock was set back: to a candidate that
    /// looks seldom, a renewal with the time of an earlier one would be a record that stood still.
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

    /// How often the Lease had changed hands when it was last seen.
    pub fn transitions(&self) -> i32 {
        self.observed.as_ref().map_or(0, |observed| observed.lease.transitions)
    }

    /// The fields to write when we give it back: nobody holds it, and the claim lasts no longer than the field's smallest
    /// value. `None` when it is not ours to give: another is known to hold it.
    pub fn released(&self, now: Moment) -> Option<LeaseFact> {
        let ours = self.observed.as_ref().filter(|observed| observed.lease.holder == self.me)?;
        Some(LeaseFact {
            holder: String::new(),
            transitions: ours.lease.transitions,
            duration: SignedDuration::from_secs(1),
            renewed_at: Some(now.wall),
        })
    }

    /// True when the next [`Election::decide`] of a candidate would take it.
    fn is_free(&self, now: Moment) -> bool {
        matches!(self.follow(now), LeaseAction::Acquire { .. })
    }

    fn lead(&self, age: SignedDuration) -> LeaseAction {
        if age >= self.times.renew_deadline {
            return LeaseAction::Lost;
        }
        match &self.observed {
            Some(observed) if observed.lease.holder != self.me => LeaseAction::Lost,
            // Somebody deleted it. Only one process can create it; until then the claim stands as long as a renewal's.
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
            // An earlier write of ours has arrived although its answer has not.
            return LeaseAction::Acquire { transitions: lease.transitions };
        }
        let left = lease.duration.saturating_sub(now.surely_since(*changed_at));
        if lease.holder.is_empty() || left <= SignedDuration::ZERO {
            return LeaseAction::Acquire { transitions: lease.transitions.saturating_add(1) };
        }
        LeaseAction::Wait { delay: left.min(self.times.retry) }
    }
}

/// What to do about the Leases of a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeadershipActions {
    /// About the first.
    pub first: LeaseAction,
    /// About the second, where there is one.
    pub second: Option<LeaseAction>,
}

/// The election over all Leases that a leader holds: one or two, and leader only while all are held.
///
/// Of two, the first is taken only when both look free, the second only while the first is held, and the first is given back
/// when the second turns out to be another's. So candidates like this one cannot wait for each other in a ring, and a
/// pair of processes that need one Lease each is not starved by one that holds one of them and works under neither.
#[derive(Clone, Debug)]
pub struct Leadership {
    /// Taken first.
    pub first: Election,
    /// Taken second; none where one is enough.
    pub second: Option<Election>,
}

impl Leadership {
    /// True while all are held for certain.
    pub fn leads(&self, now: Moment) -> bool {
        self.first.holds(now) && self.second.as_ref().is_none_or(|second| second.holds(now))
    }

    /// What to do about each. [`LeaseAction::Lost`] for any means that leadership is lost.
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
