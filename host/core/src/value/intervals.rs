//! The least values of intervals. An interval of nothing or of milliseconds is a loop without a pause, which nobody
//! means.
//!
//! A time-out is no interval: one of nothing ends its wait at once, and nothing is repeated.

use jiff::SignedDuration;

/// Every object is reconciled again at least this far apart.
pub const LEAST_RESYNC: SignedDuration = SignedDuration::from_mins(1);

/// An API server is asked at most so often whether it is there, and may be away for at least this long.
pub const LEAST_API_CHECK: SignedDuration = SignedDuration::from_secs(1);

/// VMs without a Machine are searched at most so often: each search lists whole accounts, three times in each period.
pub const LEAST_ORPHAN_VMS_PERIOD: SignedDuration = SignedDuration::from_secs(3);

/// A create is repeated at most so often: as often as after any other error.
pub const LEAST_RESOURCE_EXHAUSTED_RETRY: SignedDuration = SignedDuration::from_secs(5);

/// A Lease is asked for at most so often.
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
