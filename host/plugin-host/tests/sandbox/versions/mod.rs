//! New versions: at once, as a canary, as a shadow.

pub(crate) mod canary;
pub(crate) mod shadows;
pub(crate) mod swap;
