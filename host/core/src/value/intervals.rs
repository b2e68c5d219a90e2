//! The least values of intervals. An interval of zero or of milliseconds is a loop without a pause.
//!
//! A timeout is no interval: zero ends its wait at once, and nothing is repeated.

use jiff::SignedDuration;

/// Every object is reconciled again at least this far apart.
pub const LEAST_RESYNC: SignedDuration = SignedDuration::from_mins(1);

/// The least interval between checks of an API server, and the least time that it may be unreachable.
pub const LEAST_API_CHECK: SignedDuration = SignedDuration::from_secs(1);

/// The least period of searches for VMs without a Machine: each search lists whole accounts, three times in each
/// period.
pub const LEAST_ORPHAN_VMS_PERIOD: SignedDuration = SignedDuration::from_secs(3);

/// The least pause before a create is repeated: as after any other error.
pub const LEAST_RESOURCE_EXHAUSTED_RETRY: SignedDuration = SignedDuration::from_secs(5);

/// The least interval between requests for a Lease.
pub const LEAST_LEASE_RETRY: SignedDuration = SignedDuration::from_millis(100);

/// Returns the interval of a resync. Zero means never, as in machine-controller-manager.
pub fn resync(given: SignedDuration) -> SignedDuration {
    if given <= SignedDuration::ZERO { SignedDuration::MAX } else { given.max(LEAST_RESYNC) }
}

/// Returns an interval that is at least `least`. Zero means the `default`.
pub fn at_least(least: SignedDuration, given: SignedDuration, default: SignedDuration) -> SignedDuration {
    if given <= SignedDuration::ZERO { default } else { given.max(least) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_means_never_or_the_default_and_a_moment_means_the_least() {
        let (zero, moment, hour) =
            (SignedDuration::ZERO, SignedDuration::from_millis(1), SignedDuration::from_hours(1));
        assert_eq!([zero, moment, hour].map(resync), [SignedDuration::MAX, LEAST_RESYNC, hour]);
        let day = SignedDuration::from_hours(24);
        let floored = [zero, moment, hour, -hour].map(|given| at_least(LEAST_API_CHECK, given, day));
        assert_eq!(floored, [day, LEAST_API_CHECK, hour, day]);
    }
}
