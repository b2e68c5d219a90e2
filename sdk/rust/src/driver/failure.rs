//! Failures of calls.

use std::fmt;
use std::ops::{Deref, DerefMut};

use super::{Code, DriverError};

/// The answer of a failed call. The host decides by `code` when to retry; `message` is for people and must not hold a
/// secret, user data or a complete answer of the cloud.
///
/// A failure boxes the contract's record: you can read and set all its fields.
#[derive(Clone)]
pub struct Failure(Box<DriverError>);

impl Failure {
    /// Creates a failure with a code and a message, and defaults for all other fields.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self(Box::new(DriverError {
            code,
            message: message.into(),
            cloud_code: None,
            retry_after_ms: None,
            terminal: false,
            may_have_happened: false,
            last_known_state: None,
            provider_id: None,
            node_name: None,
        }))
    }

    /// Marks the failure as terminal: no retry helps until class, Secret or Machine change.
    #[must_use]
    pub fn terminal(mut self) -> Self {
        self.0.terminal = true;
        self
    }

    /// Marks that the cloud may have done the work: the host checks before it calls again.
    #[must_use]
    pub fn may_have_happened(mut self) -> Self {
        self.0.may_have_happened = true;
        self
    }

    /// Sets the cloud's own code.
    #[must_use]
    pub fn cloud_code(mut self, code: impl Into<String>) -> Self {
        self.0.cloud_code = Some(code.into());
        self
    }

    /// Sets the earliest time of the next call.
    #[must_use]
    pub fn retry_after_ms(mut self, ms: impl Into<Option<u64>>) -> Self {
        self.0.retry_after_ms = ms.into();
        self
    }

    /// Returns the contract's record.
    pub fn into_record(self) -> DriverError {
        *self.0
    }
}

impl Deref for Failure {
    type Target = DriverError;

    fn deref(&self) -> &DriverError {
        &self.0
    }
}

impl DerefMut for Failure {
    fn deref_mut(&mut self) -> &mut DriverError {
        &mut self.0
    }
}

impl From<DriverError> for Failure {
    fn from(record: DriverError) -> Self {
        Self(Box::new(record))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0.message)
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, to)
    }
}

impl std::error::Error for Failure {}

/// The class or the machine can never work.
pub fn invalid(message: impl Into<String>) -> Failure {
    Failure::new(Code::InvalidArgument, message).terminal()
}

/// The machine does not exist in the cloud.
pub fn not_found(message: impl Into<String>) -> Failure {
    Failure::new(Code::NotFound, message)
}

/// This driver does not offer the call.
pub fn unimplemented(call: &str) -> Failure {
    Failure::new(Code::Unimplemented, format!("this driver does not offer {call}"))
}
