//! Events about objects: which text is the same news, in which order they are written, and through which API group.

pub mod dialect;
pub mod masked;
pub mod name;
pub mod outbox;
