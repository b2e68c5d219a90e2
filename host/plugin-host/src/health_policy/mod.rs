//! Health policies: components that get values, return a verdict, and have nothing but a log.
//!
//! They run on an engine of their own. Fuel counts their processor time, so that the same question costs the same on
//! each machine, and every source of difference between two runs is fixed.
//!
//! | module | what it does |
//! | --- | --- |
//! | `terms` | parses `policy.yaml` |
//! | `about` | checks a policy's description of itself |
//! | `call` | makes one call |
//! | `convert` | converts between the contract's types and those of the core |
//! | `link`, `guest` | links a log and inert interfaces; the data of one store |
//! | `limits` | limits of one call |

pub(crate) mod about;
pub(crate) mod call;
pub(crate) mod convert;
pub(crate) mod guest;
pub(crate) mod limits;
pub(crate) mod link;
pub(crate) mod terms;

pub use about::PolicyAbout;
pub use limits::PolicyLimits;
pub use terms::PolicyTerms;
pub(crate) use terms::PolicyTermsError;
