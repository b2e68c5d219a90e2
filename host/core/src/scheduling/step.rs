//! The next step of a reconcile, and when it happens again.

use jiff::SignedDuration;

use super::retry::RetryPolicy;

/// The next step of a reconcile whose effects are `E` and whose end is `C`.
#[derive(Clone, Debug)]
pub enum Step<E, C> {
    /// Carry out these effects in parallel, then ask again.
    Act(Vec<E>),
    /// The reconcile is over.
    Finish(C),
}

impl<E, C> Step<E, C> {
    /// A batch of one.
    pub fn act(effect: E) -> Self {
        Self::Act(vec![effect])
    }
}

/// When an object is reconciled again. A change of any observed object requeues it as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requeue {
    /// At the next resync.
    Resync,
    /// As soon as the cache shows the writes of this reconcile.
    Now,
    After(SignedDuration),
    /// After this time, to check a failed operation: its failures stay counted, and this is none.
    Check(SignedDuration),
    /// The reconcile failed: after a time that grows with the failures in a row.
    Retry {
        policy: RetryPolicy,
        hint: Option<SignedDuration>,
    },
    /// Never: the object is gone.
    Gone,
}

impl Requeue {
    /// Returns the requeue after a failure that gives no hint when to try again.
    pub(crate) const fn retry(policy: RetryPolicy) -> Self {
        Self::Retry { policy, hint: None }
    }
}
