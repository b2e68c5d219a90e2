//! Health policies: components that are given values, answer with a verdict, and have nothing but a log.
//!
//! They run on an engine of their own: processor time is counted in fuel, so that the same question costs the same on each
//! machine, and all that could differ between two runs is fixed.

pub(crate) mod about;
pub(crate) mod call;
pub(crate) mod convert;
pub(crate) mod dispatch;
pub(crate) mod guest;
pub(crate) mod limits;
pub(crate) mod link;
pub(crate) mod terms;

pub use about::PolicyAbout;
pub use limits::PolicyLimits;
pub use terms::{Terms, TermsError};
