//! Collects the errors of a reconcile. The reconcile continues; its end reports the errors and the requeue.

use crate::driver::write_error::ActError;
use crate::machine::{Requeue, retry_write};
use crate::scheduling::retry::RetryPolicy;

use super::conclusion::SetReason;

#[derive(Clone, Debug)]
pub(super) struct SetError {
    pub(super) reason: SetReason,
    pub(super) message: String,
    pub(super) wake: Requeue,
}

/// The errors in the order of their discovery. The worst is reported: creation and deletion matter more than other
/// writes.
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

    /// Adds that many names in a row belong to Machines of others.
    pub(super) fn names_taken(&mut self, names: usize) {
        let message = format!(
            "failed to create a Machine: the next {names} names belong to Machines of others; delete these, or recreate the \
             set under another name"
        );
        let wake = Requeue::retry(RetryPolicy::LONG);
        self.add(SetReason::CreationFailed, message, wake);
    }

    /// Adds that the ordinals are used up: the annotation has a number that no set reaches.
    pub(super) fn ordinals_used_up(&mut self, annotation: &str) {
        let message = format!(
            "failed to create a Machine: the annotation {annotation} of the set leaves no ordinal to give out: remove it"
        );
        let wake = Requeue::retry(RetryPolicy::LONG);
        self.add(SetReason::CreationFailed, message, wake);
    }

    /// The caches are behind.
    pub(super) fn unseen(&mut self, message: &str) {
        let wake = Requeue::retry(RetryPolicy::CONFLICT);
        self.add(SetReason::CachesBehind, message.to_owned(), wake);
    }

    pub(super) fn worst(&self) -> Option<&SetError> {
        self.0.iter().min_by_key(|error| error.reason)
    }

    fn add(&mut self, reason: SetReason, message: String, wake: Requeue) {
        self.0.push(SetError { reason, message, wake });
    }
}
