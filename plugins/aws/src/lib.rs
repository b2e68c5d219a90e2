//! Driver for AWS EC2.
//!
//! | question | module |
//! | --- | --- |
//! | what does the host call | `component` |
//! | what does each call do in the cloud | `create`, `initialize`, `machine` |
//! | which instance is whose | `marks`, `adoption` |
//! | what may a class say, and how leniently is it read | `spec`, `lenient` |
//! | what does an instance launch with | `launch`, `placement` |
//! | where does a call go | `region`, `settings` |
//! | what does the API look like | `ec2`, `answer`, `xml`, `params` |
//! | how is EC2 asked | `http`, `credentials` |
//! | what does a failure mean | `codes`, `errors`, `trouble` |
//! | what is known from one call to the next | `state` |
//! | how do EC2's words become the contract's | `map`, `volume` |
//!
//! Only `component` and `http` know the host; the rest is plain functions, tested natively against a model of EC2.

mod class;
mod component;
mod ec2;
mod instance;
mod machine;

/// For `tests/fuzz`, which calls it natively.
#[doc(hidden)]
pub use component::AwsDriver;

#[cfg(test)]
mod tests;
