//! Checks of files, folders, modules and type names.

pub mod circles;
pub mod siblings;
pub mod sizes;
pub mod type_names;
