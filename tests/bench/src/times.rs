//! Many times of the same thing.

use std::time::Duration;

#[derive(Clone, Debug, Default)]
pub(crate) struct Times(Vec<Duration>);

impl Times {
    pub(crate) fn of(mut times: Vec<Duration>) -> Self {
        times.sort();
        Self(times)
    }

    /// Half of them took at most this.
    pub(crate) fn median(&self) -> Duration {
        self.share(1, 2)
    }

    /// Of a hundred, 99 took at most this.
    pub(crate) fn p99(&self) -> Duration {
        self.share(99, 100)
    }

    pub(crate) fn longest(&self) -> Duration {
        self.0.last().copied().unwrap_or_default()
    }

    fn share(&self, part: usize, of: usize) -> Duration {
        let place = (self.0.len() * part).div_ceil(of).saturating_sub(1);
        self.0.get(place).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_the_time_that_so_many_did_not_exceed() {
        let times = Times::of((1..=200).rev().map(Duration::from_millis).collect());
        assert_eq!(times.median(), Duration::from_millis(100));
        assert_eq!(times.p99(), Duration::from_millis(198));
        assert_eq!(times.longest(), Duration::from_millis(200));
    }

    #[test]
    fn of_no_times_every_share_is_zero() {
        assert_eq!(Times::default().p99(), Duration::ZERO);
    }
}
