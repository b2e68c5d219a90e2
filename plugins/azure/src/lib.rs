//! Driver for virtual machines of Azure.
//!
//! | topic | module |
//! | --- | --- |
//! | the calls of the host | `component` |
//! | the work of each call in Azure | `vm::{machine, create, delete, remains, initialize}` |
//! | ownership of resources | `vm::{marks, adoption}`, `tags` |
//! | the fields of a class, and lenient JSON | `class::{spec, storage, lenient}` |
//! | the bodies of requests | `vm::body` |
//! | zones: failure domains, and those that a create tries | `class::zone` |
//! | the resources of a Node | `vm::resources` |
//! | Azure's API and its objects | `arm`, `arm::{answer, names, operation, graph}` |
//! | requests and credentials | `arm::{call, settings, credentials}` |
//! | Azure's error codes | `arm::{error_codes, errors}` |
//! | state between calls | `arm::pending` |
//! | from Azure's objects to the contract's types | `vm::map`, `class::volume` |
//!
//! Only `component`, `arm::call` and `arm::credentials` use the host. The tests run the driver natively against
//! `tests/clouds/azure`.

mod arm;
mod class;
mod component;
mod tags;
mod vm;

/// Public for tests of the whole driver, which call it natively.
#[doc(hidden)]
pub use component::AzureDriver;

#[cfg(test)]
mod tests;
