//! Measures the difference between the clocks of this host and an API server. Objects are created by the server's clock
//! and judged by the host's.

use jiff::{SignedDuration, Timestamp};

/// The resolution of the `Date` header.
const DATE_TICK: SignedDuration = SignedDuration::from_secs(1);

/// Clocks that are closer than this count as equal: the measure is in seconds, and every timeout in minutes.
pub const NOTED: SignedDuration = SignedDuration::from_secs(5);

/// Returns how far the host's clock is ahead at least; negative where it is behind. An answer with this `date` came to
/// a request of this time. Zero where the clocks may be equal.
pub fn ahead(sent: Timestamp, received: Timestamp, date: Timestamp) -> SignedDuration {
    let least = sent.duration_since(date).saturating_sub(DATE_TICK);
    let most = received.duration_since(date);
    if least > SignedDuration::ZERO { least } else { most.min(SignedDuration::ZERO) }
}

/// Returns the time of the host's clock at a moment of the server's.
pub fn by_host(at: Timestamp, ahead: SignedDuration) -> Timestamp {
    if ahead.abs() < NOTED {
        return at;
    }
    at.saturating_add(ahead).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn only_what_is_certain_counts_as_apart() {
        for (sent, received, date, expected) in [
            (100, 100, 100, 0),
            (100, 101, 99, 0),
            (100, 130, 100, 0),
            (100, 130, 120, 0),
            (100, 101, 40, 59),
            (100, 101, 161, -60),
        ] {
            assert_eq!(
                ahead(at(sent), at(received), at(date)).as_secs(),
                expected,
                "{sent} {received} {date}"
            );
        }
    }

    #[test]
    fn ages_are_counted_by_the_clock_of_the_server() {
        let (created, hour) = (at(10_000), SignedDuration::from_hours(1));
        assert_eq!(by_host(created, hour), at(13_600), "a minute later the host says 13660");
        assert_eq!(by_host(created, -hour), at(6_400));
        assert_eq!(by_host(created, SignedDuration::from_secs(4)), created);
        assert_eq!(by_host(Timestamp::MAX, hour), Timestamp::MAX);
    }
}
