//! Which Machine owns a VM or a Node.
//!
//! | module | what it does |
//! | --- | --- |
//! | `conflict` | several Machines name one VM or one Node: nothing is done to it |
//! | `mark` | the stored cluster mark is not this process's: nothing is done to the VM |
//! | `unproven` | the driver cannot prove that the VM with the Machine's id is the Machine's |

pub mod conflict;
pub mod mark;
pub(crate) mod unproven;
