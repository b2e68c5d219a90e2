//! What has gone wrong in a pass. The rest of the pass goes on, and its end says what it was and when to come back.

use crate::driver::write_error::ActError;
use crate::machine::{Requeue, retry_write};
use crate::scheduling::retry::RetryPolicy;

use super::conclusion::SetReason;

/// One thing.
#[derive(Clone, Debug)]
pub(super) struct SetError {
    pub(super) reason: SetReason,
    pub(super) message: String,
    pub(super) wake: Requeue,
}

/// All of it, as it was found. The worst is told first: creation and deletion concern the user more than other writes.
#[derive(Clone, Debug, Default)]
pub(crate) struct SetErrors(Vec<SetError>);

impl SetErrors {
    pub(super) fn write(&mut self, what: &str, error: &ActError) {
        self.add(SetReason::WriteFailed, format!("failed to {what}: {error}"), retry_write(error));
    }

    pub(super) fn creation(&mut self, error: &ActError) {
        let message = format!("failed to create a Machine: {error}");
        self.add(SetReason::CreationFailed, message, retry_write(error));
    }

    pub(super) fn deletion(&mut self, error: &ActError) {
        let message = format!("failed to delete a Machine: {error}");
        self.add(SetReason::DeletionFailed, message, retry_write(error));
    }

    /// The name of the next Machine belongs to others, time and again.
    pub(super) fn names_taken(&mut self, names: usize) {
        let message = format!(
            "failed to create a Machine: the next {names} names belong to Machines of others; delete these, or recreate the \
             set under another name"
        );
        let wake = Requeue::Retry { policy: RetryPolicy::LONG, hint: None };
        self.add(SetReason::CreationFailed, message, wake);
    }

    /// Somebody has written a number that no set reaches.
    pub(super) fn ordinals_used_up(&mut self, annotation: &str) {
        let message = format!(
            "failed to create a Machine: the annotation {annotation} of the set leaves no ordinal to give out: remove it"
        );
        let wake = Requeue::Retry { policy: RetryPolicy::LONG, hint: None };
        self.add(SetReason::CreationFailed, message, wake);
    }

    /// The caches are behind.
    pub(super) fn unseen(&mut self, message: &str) {
        let wake = Requeue::Retry { policy: RetryPolicy::CONFLICT, hint: None };
        self.add(SetReason::CachesBehind, message.to_owned(), wake);
    }

    /// What the user is told.
    pub(super) fn worst(&self) -> Option<&SetError> {
        self.0.iter().min_by_key(|trouble| trouble.reason)
    }

    fn add(&mut self, reason: SetReason, message: String, wake: Requeue) {
        self.0.push(SetError { reason, message, wake });
    }
}
