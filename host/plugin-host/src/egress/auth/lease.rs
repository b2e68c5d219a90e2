//! What is good for a while.

use std::time::Duration;

use jiff::Timestamp;

/// It is renewed so long before its end, or at half its life where that is later: no request is ever sent with what ends on
/// its way.
const RENEWED_BEFORE: Duration = Duration::from_secs(300);
/// What ends sooner is not used any more.
const USABLE_BEFORE: Duration = Duration::from_secs(30);

/// Something that ends.
#[derive(Clone, Debug)]
pub(super) struct Lease<T> {
    pub(super) value: T,
    expires: Timestamp,
    renewed_at: Timestamp,
}

impl<T> Lease<T> {
    /// `None` when it ended before it came.
    pub(super) fn until(value: T, expires: Timestamp, now: Timestamp) -> Option<Self> {
        if expires <= now + USABLE_BEFORE {
            return None;
        }
        let life = Duration::try_from(expires.duration_since(now)).unwrap_or_default();
        let renewed_at = expires - RENEWED_BEFORE.min(life / 2);
        Some(Self { value, expires, renewed_at })
    }

    /// The same end for something else.
    pub(super) fn map<U>(self, change: impl FnOnce(T) -> U) -> Lease<U> {
        Lease { value: change(self.value), expires: self.expires, renewed_at: self.renewed_at }
    }

    /// Its end.
    pub(super) fn expires(&self) -> Timestamp {
        self.expires
    }

    /// True until another should be asked for.
    pub(super) fn is_fresh(&self, now: Timestamp) -> bool {
        now < self.renewed_at
    }

    /// True while a request may be sent with it.
    pub(super) fn is_usable(&self, now: Timestamp) -> bool {
        now + USABLE_BEFORE < self.expires
    }
}
