//! Driver for AWS EC2.
//!
//! | topic | module |
//! | --- | --- |
//! | the calls of the host | `component` |
//! | the work of each call in EC2 | `instance::{machine, create, initialize}` |
//! | ownership of instances | `instance::{marks, adoption}`, `tags` |
//! | the fields of a class, and lenient JSON | `class::{spec, lenient}` |
//! | the parameters of a launch | `instance::launch`, `class::{placement, zone}` |
//! | the resources of a Node | `class::resources` |
//! | the target of a call | `ec2::{region, settings}` |
//! | EC2's API and its objects | `ec2`, `ec2::{answer, xml, params}` |
//! | requests and credentials | `ec2::{http, credentials}` |
//! | EC2's error codes | `ec2::{error_codes, errors, lost_answers}` |
//! | state between calls | `ec2::pending` |
//! | from EC2's objects to the contract's types | `instance::map`, `class::volume` |
//!
//! Only `component` and `ec2::http` use the host. The other modules are plain functions, tested natively against a
//! model of EC2.

mod class;
mod component;
mod ec2;
mod instance;
mod tags;

/// Public for `tests/fuzz`, which calls it natively.
#[doc(hidden)]
pub use component::AwsDriver;

#[cfg(test)]
mod tests;
