//! Failures of a write to an API server, as far as decisions differ.

use jiff::SignedDuration;

/// The error of a write that was not done, or may not be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ActError {
    /// The object has changed since it was observed.
    #[error("the object changed in the meantime")]
    Conflict,
    #[error("the object is gone")]
    Gone,
    /// The server asks to wait.
    #[error("the API server is throttling")]
    Throttled { after: Option<SignedDuration> },
    /// This account may not do it.
    #[error("forbidden: {message}")]
    Denied { message: String },
    /// The server refuses the object as it is.
    #[error("refused: {message}")]
    Invalid { message: String },
    #[error("the API server is unreachable: {message}")]
    Unreachable { message: String },
    #[error("the outcome is unknown: {message}")]
    Ambiguous { message: String },
    /// Leadership or the gate forbade it.
    #[error("not permitted at the moment: {reason}")]
    Forbidden { reason: &'static str },
}

impl ActError {
    /// For how long the server asks to wait, if it does.
    pub fn retry_after(&self) -> Option<SignedDuration> {
        match self {
            Self::Throttled { after } => *after,
            Self::Conflict
            | Self::Gone
            | Self::Denied { .. }
            | Self::Invalid { .. }
            | Self::Unreachable { .. }
            | Self::Ambiguous { .. }
            | Self::Forbidden { .. } => None,
        }
    }

    /// For metrics: a closed set.
    pub fn category(&self) -> &'static str {
        match self {
            Self::Conflict => "conflict",
            Self::Gone => "gone",
            Self::Throttled { .. } => "throttled",
            Self::Denied { .. } => "denied",
            Self::Invalid { .. } => "invalid",
            Self::Unreachable { .. } => "unreachable",
            Self::Ambiguous { .. } => "ambiguous",
            Self::Forbidden { .. } => "forbidden",
        }
    }
}
