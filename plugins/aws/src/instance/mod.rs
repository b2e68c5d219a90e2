//! The life of an instance: launch, marks, initialisation, adoption.

pub(crate) mod adoption;
pub(crate) mod create;
pub(crate) mod initialize;
pub(crate) mod launch;
pub(crate) mod machine;
pub(crate) mod map;
pub(crate) mod marks;
