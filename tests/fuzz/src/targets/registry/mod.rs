//! Answers of a registry.

pub(super) mod challenge;
pub(super) mod logins;
pub(super) mod manifest;
pub(super) mod reference;
pub(super) mod signature;
