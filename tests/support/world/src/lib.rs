//! The surroundings of hosts in one process, for tests with clouds and kubelets of their own.
//!
//! | question | module |
//! | --- | --- |
//! | how does a call of a driver travel, and break | `calls` |
//! | may a kubelet join with its user data | `joining` |
//! | what do Machines need that users create | `objects` |
//! | what does a host without plugins have | `ports` |

mod calls;
mod joining;
mod objects;
mod ports;

pub use calls::carry;
pub use joining::may_join;
pub use objects::{account, class};
pub use ports::Nothing;
