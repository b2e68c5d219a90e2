//! Health policies: components that get values, return a verdict, and have nothing but a log.
//!
//! They run on an engine of their own. Fuel counts their processor time, so that the same question costs the same on
//! each machine, and every source of difference between two runs is fixed.
//!
//! | module | what it does |
//! | --- | --- |
//! | `terms` | parses `policy.yaml`, limits included |
//! | `call` | makes one call |
//! | `convert` | checks what a policy says about itself, and converts between the contract's types and those of the core |
//! | `guest` | links a log and inert interfaces; the data of one store |

pub(crate) mod call;
pub(crate) mod convert;
pub(crate) mod guest;
pub(crate) mod terms;

pub use convert::PolicyAbout;
pub(crate) use terms::PolicyTermsError;
pub use terms::{PolicyLimits, PolicyTerms};
