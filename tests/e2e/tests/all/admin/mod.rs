//! Output for operators, and its limits.
//!
//! | module | what it tests |
//! | --- | --- |
//! | `debug_access` | access to `/debug` of a host whose account reviews tokens at a real API server |
//! | `explain` | `machinist explain`: the whole chain, by port-forward and at an address |

pub(crate) mod debug_access;
pub(crate) mod explain;
