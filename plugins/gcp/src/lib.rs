//! Driver for Google Compute Engine.
//!
//! | topic | module |
//! | --- | --- |
//! | the calls of the host | `component` |
//! | the work of each call in Compute Engine | `instance::{machine, create, delete, initialize, listing}` |
//! | ownership of instances | `instance::{marks, adoption}` |
//! | the fields of a class, and lenient JSON | `class::{spec, lenient}` |
//! | the body of a new instance | `instance::launch` |
//! | zones | `class::zone` |
//! | the resources of a Node | `class::resources` |
//! | the API and its objects | `gce`, `gce::answer` |
//! | project, endpoint, credentials | `gce::{settings, credentials}` |
//! | error codes | `gce::{error_codes, errors}` |
//! | names, and the marks of instances | `names` |
//! | state between calls | `gce::pending` |
//! | from Google's objects to the contract's types | `instance::map`, `class::volume` |
//!
//! Only `component`, `gce` and `gce::credentials` use the host. The other modules are plain functions.

mod class;
mod component;
mod gce;
mod instance;
mod names;

/// Public for `tests/fuzz`, which calls it natively.
#[doc(hidden)]
pub use component::GcpDriver;

#[cfg(test)]
mod tests;
