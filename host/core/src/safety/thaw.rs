//! Restarts the clocks of a Machine after a thaw.
//!
//! During an outage nothing could be observed, but clocks ran. They start again.

use jiff::Timestamp;

use crate::scheduling::gate::Gate;
use crate::value::phase::Phase;

/// Returns true when the Machine returns to Running because of a thaw, with a new health timeout: it is Unknown since
/// before the thaw, so that the outage may be the cause. If its Node is unhealthy, the next reconcile finds that out.
///
/// Assumes that `thawed_at` is in whole seconds, like the times in statuses, so that a Machine returns once for each
/// thaw.
pub fn returns_to_running(
    phase: Phase,
    phase_since: Option<Timestamp>,
    gate: Gate,
    thawed_at: Option<Timestamp>,
) -> bool {
    let is_open = match gate {
        Gate::Open => true,
        Gate::Frozen { .. } => false,
    };
    let is_from_before = thawed_at.is_some_and(|thawed_at| phase_since.unwrap_or(Timestamp::MIN) < thawed_at);
    is_open && is_from_before && phase == Phase::Unknown
}

/// Returns from when a timeout that began at `since` counts: an outage in between does not use it up.
///
/// For timeouts that are longer than most outages, such as that of a creation, this gives more time than was lost; a
/// Machine that waits too long costs less than one that fails for an outage.
pub fn counts_from(since: Timestamp, thawed_at: Option<Timestamp>) -> Timestamp {
    thawed_at.map_or(since, |thawed_at| since.max(thawed_at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduling::gate::FreezeReason;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    const SHUT: Gate =
        Gate::Frozen { since: Timestamp::UNIX_EPOCH, reason: FreezeReason::TargetClusterUnreachable };

    #[test]
    fn only_a_machine_that_is_unknown_since_before_the_thaw_returns_to_running() {
        for phase in Phase::ALL {
            for since in [None, Some(at(9)), Some(at(10)), Some(at(11))] {
                for gate in [Gate::Open, SHUT] {
                    for thawed in [None, Some(at(10))] {
                        let expected = phase == Phase::Unknown
                            && gate == Gate::Open
                            && thawed.is_some()
                            && (since.is_none() || since == Some(at(9)));
                        let returns = returns_to_running(phase, since, gate, thawed);
                        assert_eq!(returns, expected, "{phase:?} {since:?} {gate:?} {thawed:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_machine_returns_once_for_each_thaw() {
        // It returns at the second of the thaw, and falls ill in the same second.
        assert!(!returns_to_running(Phase::Unknown, Some(at(10)), Gate::Open, Some(at(10))));
        assert!(returns_to_running(Phase::Unknown, Some(at(10)), Gate::Open, Some(at(20))));
    }

    #[test]
    fn a_clock_starts_at_the_thaw_or_later() {
        assert_eq!(counts_from(at(5), None), at(5));
        assert_eq!(counts_from(at(5), Some(at(10))), at(10));
        assert_eq!(counts_from(at(15), Some(at(10))), at(15));
    }
}
