//! One Machine, from its creation to its end.

pub(crate) mod capacity;
pub(crate) mod doubt;
pub(crate) mod frugal;
pub(crate) mod kept;
pub(crate) mod lifecycle;
pub(crate) mod mended;
pub(crate) mod moved;
pub(crate) mod prerequisites;
pub(crate) mod retries;
