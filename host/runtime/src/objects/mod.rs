//! Writing API objects: metadata, finalizers, conditions, status.

pub(crate) mod conditions;
pub(crate) mod finalizers;
pub(crate) mod inherited;
pub(crate) mod merge;
pub(crate) mod metadata;
pub(crate) mod own_status;
pub(crate) mod selection;
pub(crate) mod status_write;
