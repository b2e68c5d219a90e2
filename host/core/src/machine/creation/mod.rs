//! From a Machine to its one VM.
//!
//! | module | what it does |
//! | --- | --- |
//! | `create` | the order of effects that makes it exactly one VM |
//! | `prerequisites` | class, Secret and driver, without which creation does not start |
//! | `doubt` | may an earlier create have made a VM that no read has shown yet? |
//! | `failed` | a create that failed or takes too long, up to phase Failed |

pub(crate) mod create;
pub(crate) mod doubt;
pub(crate) mod failed;
pub(crate) mod prerequisites;
