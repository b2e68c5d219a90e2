//! From a Machine to its VM.
//!
//! | module | what it tests |
//! | --- | --- |
//! | `create` | the order of effects, adoption, creates that take long |
//! | `failed` | missing prerequisites, failures, timeouts |
//! | `unresolved` | creates whose outcome is unknown |

pub(crate) mod create;
pub(crate) mod failed;
pub(crate) mod unresolved;
