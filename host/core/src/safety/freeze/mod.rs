//! When the gate is frozen: an API server is unreachable, or an operator asked for it.
//!
//! Without its API servers this program sees no changes, and kubelets cannot report, so that whole clusters look dead.
//! On such evidence nothing is created, failed or deleted.

use jiff::{SignedDuration, Timestamp};

use crate::scheduling::gate::{FreezeReason, Gate};

/// The result of one request to an API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerState {
    /// It answered as expected.
    Up,
    /// It did not answer in time, or not as a working API server does.
    Down,
}

/// The result of one check of the API servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerCheck {
    /// The cluster of the Machines.
    pub control: ServerState,
    /// The cluster that Nodes join; `None` without one.
    pub target: Option<ServerState>,
    /// An operator requests a freeze.
    pub is_requested: bool,
    /// Another control plane holds the cluster's mark.
    pub is_mark_held: bool,
    /// All caches have been listed since [`FreezeChange::CatchUp`] was returned last.
    pub is_caught_up: bool,
}

/// The interval of the checks, and the timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckInterval {
    /// The time between two checks while all servers answer.
    pub period: SignedDuration,
    /// How long a server may be unreachable before the gate closes.
    pub timeout: SignedDuration,
}

impl CheckInterval {
    /// Checks are this much more frequent while a server is unreachable or the gate is closed.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreezeChange {
    None,
    /// The gate was closed, or is closed for another reason.
    Froze {
        reason: FreezeReason,
    },
    /// All servers answer again: all caches must be listed again, and the gate opens when that is done.
    CatchUp,
    /// The gate was opened.
    Thawed {
        /// It was closed since then.
        since: Timestamp,
        /// The last reason for it.
        reason: FreezeReason,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FreezeState {
    /// No check has succeeded yet.
    Starting {
        since: Timestamp,
        /// The number of checks.
        looks: u32,
    },
    Open,
    Shut {
        since: Timestamp,
        reason: FreezeReason,
    },
}

/// The state of the caches while the gate is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CacheState {
    /// Their watches are up to date.
    Current,
    /// A server was unreachable, and watches reconnect one after the other, without notice.
    Behind,
    /// They are being listed again.
    Listing,
}

/// The gate, closed and opened by checks.
///
/// It is closed from the start until the first check in which all servers answer: a process that has just started knows
/// nothing. If that is its very first check, there was nothing to thaw. A server that is unreachable for less than the
/// timeout leaves no trace: the next failure is a first one. After an outage that has closed it, it opens when the
/// servers answer and the caches have caught up: an answer does not mean that all watches have delivered the changes of
/// the outage.
#[derive(Clone, Debug)]
pub struct Freeze {
    state: FreezeState,
    caches: CacheState,
    control_down: Option<Timestamp>,
    target_down: Option<Timestamp>,
    thawed_at: Option<Timestamp>,
}

impl Freeze {
    /// Returns a closed gate, until all servers have answered.
    pub fn starting(now: Timestamp) -> Self {
        let state = FreezeState::Starting { since: now, looks: 0 };
        Self { state, caches: CacheState::Current, control_down: None, target_down: None, thawed_at: None }
    }

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

    /// Returns whether no check has finished yet: then nothing may rely on the gate.
    pub fn is_starting(&self) -> bool {
        matches!(self.state, FreezeState::Starting { .. })
    }

    /// Returns whether the servers answer, and the caches are awaited: a check is due as soon as they are complete.
    pub fn is_catching_up(&self) -> bool {
        self.caches == CacheState::Listing
    }

    /// Returns when it opened last after it was closed; in whole seconds, as times in statuses.
    pub fn thawed_at(&self) -> Option<Timestamp> {
        self.thawed_at
    }

    /// Notes that no process has reconciled until `now`, for longer than a server may be unreachable: as after a thaw,
    /// earlier observations do not count.
    pub fn was_absent(&mut self, now: Timestamp) {
        self.thawed_at = Some(whole_seconds(now));
    }

    /// Notes a check. Returns the change.
    pub fn observe(&mut self, look: ServerCheck, pace: CheckInterval, now: Timestamp) -> FreezeChange {
        let control = since(&mut self.control_down, look.control, now);
        let target = since(&mut self.target_down, look.target.unwrap_or(ServerState::Up), now);
        let is_long = |down: Option<Timestamp>| down.is_some_and(|at| now.duration_since(at) >= pace.timeout);
        let wanted = if look.is_mark_held {
            // First, since it permits the least.
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
        // A closed gate opens only when all servers answer, and not because a failure is young.
        let is_well = control.is_none() && target.is_none();
        if !is_well && (is_long(control) || is_long(target) || matches!(self.state, FreezeState::Shut { .. }))
        {
            self.caches = CacheState::Behind;
        } else if (look.is_requested || look.is_mark_held) && self.is_catching_up() {
            // When the operator or the other control plane ends the freeze, this list is old.
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

    /// Returns the time until the next check.
    pub fn next_check(&self, pace: CheckInterval) -> SignedDuration {
        let is_well = self.control_down.is_none() && self.target_down.is_none();
        match self.state {
            FreezeState::Open if is_well => pace.when_well(),
            // Everything waits for the first good check, and a server that starts at the same time answers soon.
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

/// Returns since when a server is unreachable, after this answer.
fn since(down: &mut Option<Timestamp>, answer: ServerState, now: Timestamp) -> Option<Timestamp> {
    *down = match answer {
        ServerState::Up => None,
        // A clock that was set back must not move a failure into the future, where it would never be long.
        ServerState::Down => Some(down.map_or(now, |at| at.min(now))),
    };
    *down
}

/// Rounds down to whole seconds, as times in statuses, so that a status written after the thaw is never older than it.
fn whole_seconds(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

#[cfg(test)]
mod tests;
