//! What a registry answers.

pub(crate) mod challenge;
pub(crate) mod logins;
pub(crate) mod manifest;
pub(crate) mod reference;
pub(crate) mod signature;
