//! Limits requests to an API server: a token bucket that fills steadily, as in Kubernetes' own clients.

use jiff::SignedDuration;

/// The limit of a client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Requests a second, in the long run. Above 0.
    pub per_second: f64,
    /// Requests at once, after a pause. At least 1.
    pub burst: u32,
}

/// The bucket of one client. Full at the beginning.
///
/// Stores only the time when it will be full. Each request moves that by the time of one token.
#[derive(Clone, Debug)]
pub struct Bucket {
    /// For one token to come.
    token: SignedDuration,
    /// The time to fill all others, while it has one.
    others: SignedDuration,
    /// On the clock of the callers.
    full_at: SignedDuration,
}

/// The bucket's answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendPermit {
    /// Send it: its token is taken.
    Go,
    /// Ask again after this time: no token was taken.
    After(SignedDuration),
}

impl Bucket {
    /// Returns a full bucket. A rate that is not above 0 counts as one request in an hour, a burst of 0 as 1.
    pub fn new(rate: Rate) -> Self {
        const LONGEST: SignedDuration = SignedDuration::from_hours(1);
        let token = SignedDuration::try_from_secs_f64(1.0 / rate.per_second).unwrap_or(LONGEST);
        let shortest = if rate.per_second > 0.0 { SignedDuration::from_nanos(1) } else { LONGEST };
        let token = token.max(shortest).min(LONGEST);
        let others = i32::try_from(rate.burst.saturating_sub(1)).unwrap_or(i32::MAX);
        let others = token.checked_mul(others).unwrap_or(SignedDuration::MAX);
        Self { token, others, full_at: SignedDuration::MIN }
    }

    /// Takes a token, if there is one. `now` is any clock that is never set back; a clock that is set back delays
    /// requests and permits no more.
    pub fn take(&mut self, now: SignedDuration) -> SendPermit {
        let missing = self.full_at.saturating_sub(now).max(SignedDuration::ZERO);
        let wait = missing.saturating_sub(self.others);
        if wait > SignedDuration::ZERO {
            return SendPermit::After(wait);
        }
        self.full_at = now.saturating_add(missing).saturating_add(self.token);
        SendPermit::Go
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(number: i64) -> SignedDuration {
        SignedDuration::from_millis(number)
    }

    fn bucket(per_second: f64, burst: u32) -> Bucket {
        Bucket::new(Rate { per_second, burst })
    }

    #[test]
    fn a_burst_goes_at_once_and_then_one_each_time_a_token_has_come() {
        let mut bucket = bucket(20.0, 3);
        for _ in 0..3 {
            assert_eq!(bucket.take(ms(7)), SendPermit::Go);
        }
        assert_eq!(bucket.take(ms(7)), SendPermit::After(ms(50)));
        assert_eq!(bucket.take(ms(56)), SendPermit::After(ms(1)));
        assert_eq!(bucket.take(ms(57)), SendPermit::Go);
        assert_eq!(bucket.take(ms(57)), SendPermit::After(ms(50)));
    }

    #[test]
    fn a_rest_fills_the_bucket_and_not_more() {
        let mut bucket = bucket(10.0, 2);
        for hour in 1..4 {
            let now = SignedDuration::from_hours(hour);
            assert_eq!([bucket.take(now), bucket.take(now)], [SendPermit::Go, SendPermit::Go]);
            assert_eq!(bucket.take(now), SendPermit::After(ms(100)));
        }
    }

    #[test]
    fn rates_that_make_no_sense_let_something_through_and_stop_nothing_for_ever() {
        let mut never = bucket(0.0, 0);
        assert_eq!(never.take(ms(0)), SendPermit::Go);
        assert_eq!(never.take(ms(0)), SendPermit::After(SignedDuration::from_hours(1)));
        for rate in [f64::NAN, f64::INFINITY, -1.0, 1e-300, 1e300] {
            let mut unusual = bucket(rate, u32::MAX);
            assert_eq!(unusual.take(ms(0)), SendPermit::Go, "{rate}");
        }
        let mut fast = bucket(f64::from(f32::MAX), 1);
        for time in 0..9 {
            assert_eq!(fast.take(ms(time)), SendPermit::Go);
        }
    }

    proptest! {
        #[test]
        fn in_no_stretch_of_time_more_go_than_rate_and_burst_allow_and_a_request_that_waits_as_long_as_it_should_goes(
            per_second in 1..200_u32, burst in 1..50_u32, pauses in proptest::collection::vec(0..300_i64, 1..200)
        ) {
            let mut bucket = bucket(f64::from(per_second), burst);
            let (mut now, mut went) = (SignedDuration::ZERO, Vec::new());
            for pause in pauses {
                now += ms(pause);
                match bucket.take(now) {
                    SendPermit::Go => went.push(now),
                    SendPermit::After(wait) => {
                        now += wait;
                        prop_assert_eq!(bucket.take(now), SendPermit::Go);
                        went.push(now);
                    }
                }
            }
            for (index, from) in went.iter().enumerate() {
                for (count, until) in went[index..].iter().enumerate() {
                    let allowed = f64::from(burst) + (*until - *from).as_secs_f64() * f64::from(per_second);
                    prop_assert!((count + 1) as f64 <= allowed + 1e-3, "{} from {from} to {until}", count + 1);
                }
            }
        }
    }
}
