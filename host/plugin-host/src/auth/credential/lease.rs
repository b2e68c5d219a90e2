//! Values that expire, and when to renew them.

use std::time::Duration;

use jiff::Timestamp;

/// A value is renewed so long before its end, or at half its life if that is later, so that none ends on the way to a
/// cloud.
const RENEWED_BEFORE: Duration = Duration::from_secs(300);
/// A value that ends sooner is not used.
const USABLE_BEFORE: Duration = Duration::from_secs(30);

/// A value with its end.
#[derive(Clone, Debug)]
pub(crate) struct Lease<T> {
    pub(crate) value: T,
    expires: Timestamp,
    renewed_at: Timestamp,
}

impl<T> Lease<T> {
    /// Returns `None` if the value has ended, or ends too soon to be used.
    pub(crate) fn until(value: T, expires: Timestamp, now: Timestamp) -> Option<Self> {
        if expires <= now + USABLE_BEFORE {
            return None;
        }
        let life = Duration::try_from(expires.duration_since(now)).unwrap_or_default();
        let renewed_at = expires - RENEWED_BEFORE.min(life / 2);
        Some(Self { value, expires, renewed_at })
    }

    /// Changes the value and keeps its end.
    pub(crate) fn map<U>(self, change: impl FnOnce(T) -> U) -> Lease<U> {
        Lease { value: change(self.value), expires: self.expires, renewed_at: self.renewed_at }
    }

    pub(crate) fn expires(&self) -> Timestamp {
        self.expires
    }

    /// True until the host should ask for another one.
    pub(crate) fn is_fresh(&self, now: Timestamp) -> bool {
        now < self.renewed_at
    }

    /// True while a request may be sent with it.
    pub(crate) fn is_usable(&self, now: Timestamp) -> bool {
        now + USABLE_BEFORE < self.expires
    }
}
