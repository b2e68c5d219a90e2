//! Requests and answers: what leaves, what comes back, and what is changed on the way.

pub(crate) mod json;
pub(crate) mod outgoing;
pub(crate) mod response;
pub(crate) mod substitute;
pub(crate) mod synthetic;
