//! Why a text is no grants.

/// Grants beyond this size are no grants that a person reviewed.
pub(crate) const TEXT_LIMIT_BYTES: usize = 256 * 1024;

/// Why a text is no grants.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("failed to read grants: {bytes} bytes are more than {TEXT_LIMIT_BYTES}")]
    TooLong { bytes: usize },
    /// Neither YAML nor JSON, an unknown field, or a value of another type.
    #[error("failed to read grants: {detail}")]
    Syntax { detail: String },
    #[error("failed to read grants: {place}: {problem}")]
    Invalid {
        /// Path of the value, such as `egress[0].host`.
        place: String,
        /// The problem, and the valid form.
        problem: String,
    },
}

impl Error {
    pub(crate) fn invalid(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Invalid { place: place.into(), problem: problem.into() }
    }
}
