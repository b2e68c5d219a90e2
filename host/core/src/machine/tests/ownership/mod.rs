//! Which Machine owns a VM or a Node.
//!
//! | module | what it tests |
//! | --- | --- |
//! | `conflict` | several Machines with one VM or one Node |
//! | `mark` | another cluster's mark on a Machine or class |

pub(crate) mod conflict;
pub(crate) mod mark;
