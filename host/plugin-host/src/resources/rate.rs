//! The call rate limit of each plugin. All versions of a plugin share a bucket, so that a swap gives no more calls.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::SignedDuration;
use machinist_core::driver::error::Refusal;
use machinist_core::value::id::PluginName;

const MINUTE: Duration = Duration::from_secs(60);

/// The buckets of the plugins whose grants limit the rate.
#[derive(Default)]
pub(crate) struct CallRates {
    buckets: Mutex<HashMap<PluginName, TokenBucket>>,
}

impl CallRates {
    /// Takes a call of this plugin's minute; `None` is no limit.
    pub(crate) fn take(
        &self,
        plugin: &PluginName,
        per_minute: Option<u32>,
        now: Instant,
    ) -> Result<(), Refusal> {
        let Some(per_minute) = per_minute else { return Ok(()) };
        // A panic elsewhere leaves nothing half-done here.
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = buckets.entry(plugin.clone()).or_insert(TokenBucket { full_at: now });
        bucket.take(per_minute, now).map_err(|wait| Refusal::TooOften {
            plugin: plugin.to_string(),
            per_minute,
            retry_after: rounded_up(wait),
        })
    }
}

/// Holds the calls of one minute and fills evenly.
struct TokenBucket {
    full_at: Instant,
}

impl TokenBucket {
    /// Takes a call. `Err`: the wait until there is one.
    fn take(&mut self, per_minute: u32, now: Instant) -> Result<(), Duration> {
        let full_at = self.full_at.max(now) + MINUTE / per_minute.max(1);
        let missing = full_at.duration_since(now).saturating_sub(MINUTE);
        if missing.is_zero() {
            self.full_at = full_at;
            Ok(())
        } else {
            Err(missing)
        }
    }
}

/// Rounds up to whole seconds: a caller that retries too early is refused again.
fn rounded_up(wait: Duration) -> SignedDuration {
    let seconds = wait.as_millis().div_ceil(1000);
    SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minutes_calls_may_come_at_once_and_then_evenly() {
        let start = Instant::now();
        let mut bucket = TokenBucket { full_at: start };
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        assert!((0..6).all(|_| bucket.take(6, at(0)).is_ok()));
        assert_eq!(bucket.take(6, at(0)), Err(Duration::from_secs(10)));
        assert_eq!(bucket.take(6, at(7)), Err(Duration::from_secs(3)));
        assert_eq!((bucket.take(6, at(10)), bucket.take(6, at(10))), (Ok(()), Err(Duration::from_secs(10))));
        assert!((0..6).all(|_| bucket.take(6, at(1000)).is_ok()), "a pause fills it");
        assert!(bucket.take(6, at(1000)).is_err(), "and no further");
    }

    #[test]
    fn a_limit_that_changes_counts_at_once() {
        let start = Instant::now();
        let call_rates = CallRates::default();
        let take = |plugin: &str, limit| call_rates.take(&plugin.into(), limit, start);
        assert!(take("a", Some(1)).is_ok());
        let refused = take("a", Some(1)).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "plugin a may be called 1 times a minute: the next call is possible in 1m; raise limits.calls_per_minute of its grants if that is too few"
        );
        assert!(take("a", None).is_ok() && take("b", Some(1)).is_ok());
        assert!(take("a", Some(2)).is_err() && take("b", Some(100)).is_err());
        assert!((0..50_000).all(|_| take("c", Some(1_000_000)).is_ok()));
    }
}
