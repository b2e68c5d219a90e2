//! The contracts of `wit/` as Rust types.
//!
//! | module | which contract |
//! | --- | --- |
//! | `driver` | `wit/provider` |
//! | `optional` | exports that a driver may leave out |
//! | `policy` | `wit/policy` |

pub(crate) mod driver;
pub(crate) mod optional;
pub(crate) mod policy;
