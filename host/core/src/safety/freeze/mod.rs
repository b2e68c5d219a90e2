//! When the gate is frozen: an API server is unreachable, or an operator asked for it.
//!
//! Without its API servers this program sees no changes, and kubelets cannot report, so that whole clusters look dead.
//! On such evidence nothing is created, failed or cleaned up.

use jiff::{SignedDuration, Timestamp};

use crate::scheduling::gate::{FreezeReason, Gate};

/// What one question to an API server gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerState {
    /// It has answered as one that works.
    Up,
    /// Nothing came in time, or what came is not what an API server in order says.
    Down,
}

/// What is known after a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerCheck {
    /// The cluster of the Machines.
    pub control: ServerState,
    /// The cluster that Nodes join; `None` without one.
    pub target: Option<ServerState>,
    /// An operator wants everything held.
    pub is_requested: bool,
    /// Another control plane holds the cluster's mark.
    pub is_mark_held: bool,
    /// All caches have been listed since [`FreezeChange::CatchUp`] was answered last.
    pub is_caught_up: bool,
}

/// How often and how patiently is looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckInterval {
    /// Between two looks while all is well.
    pub period: SignedDuration,
    /// For how long a server may be away before the gate is shut.
    pub timeout: SignedDuration,
}

impl CheckInterval {
    /// Looks come so much more often while a server is away or the gate is shut.
    const HASTE: i32 = 5;

    /// Never more often than this, whatever the settings say.
    const SHORTEST: SignedDuration = SignedDuration::from_millis(100);

    fn when_well(self) -> SignedDuration {
        self.period.max(Self::SHORTEST)
    }

    fn when_worried(self) -> SignedDuration {
        (self.timeout / Self::HASTE).min(self.period).max(Self::SHORTEST)
    }
}

/// What a look has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreezeChange {
    /// Nothing.
    None,
    /// The gate was shut, or is shut for another reason.
    Froze {
        /// Why.
        reason: FreezeReason,
    },
    /// All servers answer again: everything they hold is to be listed anew, and the gate opens when that is done.
    CatchUp,
    /// The gate was opened.
    Thawed {
        /// It had been shut since then.
        since: Timestamp,
        /// The last reason for it.
        reason: FreezeReason,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FreezeState {
    /// No look was without worry yet.
    Starting {
        since: Timestamp,
        /// How many looks there were.
        looks: u32,
    },
    Open,
    Shut {
        since: Timestamp,
        reason: FreezeReason,
    },
}

/// What the caches are worth while the gate is shut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CacheState {
    /// They follow what happens.
    Current,
    /// A server was away, and watches come back one after the other, without saying so.
    Behind,
    /// They are being listed anew.
    Listing,
}

/// The gate, as looks shut and open it.
///
/// It is shut from the beginning until the first look in which all servers answer: a process that has just started knows
/// nothing. If that is its first look at all, nothing had to be thawed. A server that is away for less than the time-out
/// leaves no trace: the next failure is a first one. After an outage that has shut it, it opens when the servers answer and the
/// caches have caught up: a server that answers does not mean that all watches tell what happened meanwhile.
#[derive(Clone, Debug)]
pub struct Freeze {
    state: FreezeState,
    caches: CacheState,
    control_down: Option<Timestamp>,
    target_down: Option<Timestamp>,
    thawed_at: Option<Timestamp>,
}

impl Freeze {
    /// Shut until all servers have answered.
    pub fn starting(now: Timestamp) -> Self {
        let state = FreezeState::Starting { since: now, looks: 0 };
        Self { state, caches: CacheState::Current, control_down: None, target_down: None, thawed_at: None }
    }

    /// The gate.
    pub fn gate(&self) -> Gate {
        match self.state {
            FreezeState::Open => Gate::Open,
            FreezeState::Shut { since, .. } if self.is_catching_up() => {
                Gate::Frozen { since, reason: FreezeReason::CatchingUp }
            }
            FreezeState::Shut { since, reason } => Gate::Frozen { since, reason },
            FreezeState::Starting { since, .. } => {
                let is_target = self.control_down.is_none() && self.target_down.is_some();
                let reason = if is_target {
                    FreezeReason::TargetClusterUnreachable
                } else {
                    FreezeReason::ControlClusterUnreachable
                };
                Gate::Frozen { since, reason }
            }
        }
    }

    /// No look has told anything yet: nobody should act on what the gate says.
    pub fn is_starting(&self) -> bool {
        matches!(self.state, FreezeState::Starting { .. })
    }

    /// The servers answer, and the caches are awaited: a look is due as soon as they are complete.
    pub fn is_catching_up(&self) -> bool {
        self.caches == CacheState::Listing
    }

    /// When it opened last after it had been shut; in whole seconds, as statuses hold times.
    pub fn thawed_at(&self) -> Option<Timestamp> {
        self.thawed_at
    }

    /// Nobody has looked after the Machines until `now`, for longer than a server may be away: as after a thaw, what is known
    /// from before counts for nothing.
    pub fn was_absent(&mut self, now: Timestamp) {
        self.thawed_at = Some(whole_seconds(now));
    }

    /// Takes note of a look.
    pub fn observe(&mut self, look: ServerCheck, pace: CheckInterval, now: Timestamp) -> FreezeChange {
        let control = since(&mut self.control_down, look.control, now);
        let target = since(&mut self.target_down, look.target.unwrap_or(ServerState::Up), now);
        let is_long = |down: Option<Timestamp>| down.is_some_and(|at| now.duration_since(at) >= pace.timeout);
        let wanted = if look.is_mark_held {
            // First, since it permits least.
            Some(FreezeReason::ClusterMarkHeld)
        } else if look.is_requested {
            Some(FreezeReason::Requested)
        } else if is_long(control) {
            Some(FreezeReason::ControlClusterUnreachable)
        } else if is_long(target) {
            Some(FreezeReason::TargetClusterUnreachable)
        } else {
            None
        };
        // Who is shut opens only when all is well, and not because a failure is young.
        let is_well = control.is_none() && target.is_none();
        if !is_well && (is_long(control) || is_long(target) || matches!(self.state, FreezeState::Shut { .. }))
        {
            self.caches = CacheState::Behind;
        } else if (look.is_requested || look.is_mark_held) && self.is_catching_up() {
            // By the time that the operator or the other control plane lets go, this listing is history.
            self.caches = CacheState::Behind;
        }
        match (self.state, wanted) {
            (FreezeState::Open, None) => FreezeChange::None,
            (FreezeState::Open, Some(reason)) => self.shut(now, reason),
            (FreezeState::Starting { since, .. }, Some(reason)) => self.shut(since, reason),
            (FreezeState::Starting { looks: 0, .. }, None) if is_well => {
                self.state = FreezeState::Open;
                FreezeChange::None
            }
            (FreezeState::Starting { since, .. }, None) if is_well => {
                self.open(since, FreezeReason::ControlClusterUnreachable, now)
            }
            (FreezeState::Starting { since, looks }, None) => {
                self.state = FreezeState::Starting { since, looks: looks.saturating_add(1) };
                FreezeChange::None
            }
            (FreezeState::Shut { reason: before, .. }, Some(reason)) if before == reason => {
                FreezeChange::None
            }
            (FreezeState::Shut { since, .. }, Some(reason)) => self.shut(since, reason),
            (FreezeState::Shut { since, reason }, None) if is_well => match self.caches {
                CacheState::Behind => {
                    self.caches = CacheState::Listing;
                    FreezeChange::CatchUp
                }
                CacheState::Listing if !look.is_caught_up => FreezeChange::None,
                CacheState::Listing | CacheState::Current => self.open(since, reason, now),
            },
            (FreezeState::Shut { .. }, None) => FreezeChange::None,
        }
    }

    /// Until the next look.
    pub fn next_look(&self, pace: CheckInterval) -> SignedDuration {
        let is_well = self.control_down.is_none() && self.target_down.is_none();
        match self.state {
            FreezeState::Open if is_well => pace.when_well(),
            // Everything waits for the first good look, and a server that starts too answers soon.
            FreezeState::Starting { looks, .. } => {
                crate::scheduling::retry::soon(looks).min(pace.when_worried())
            }
            FreezeState::Open | FreezeState::Shut { .. } => pace.when_worried(),
        }
    }

    fn shut(&mut self, since: Timestamp, reason: FreezeReason) -> FreezeChange {
        self.state = FreezeState::Shut { since, reason };
        FreezeChange::Froze { reason }
    }

    fn open(&mut self, since: Timestamp, reason: FreezeReason, now: Timestamp) -> FreezeChange {
        self.state = FreezeState::Open;
        self.caches = CacheState::Current;
        self.thawed_at = Some(whole_seconds(now));
        FreezeChange::Thawed { since, reason }
    }
}

/// Since when a server is away, after this answer.
fn since(down: &mut Option<Timestamp>, answer: ServerState, now: Timestamp) -> Option<Timestamp> {
    *down = match answer {
        ServerState::Up => None,
        // A clock that was set back must not make a failure one of the future, which would never be long.
        ServerState::Down => Some(down.map_or(now, |at| at.min(now))),
    };
    *down
}

/// Statuses hold whole seconds. Rounded down, a status that is written after the thaw is never from before it.
fn whole_seconds(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

#[cfg(test)]
mod tests;
