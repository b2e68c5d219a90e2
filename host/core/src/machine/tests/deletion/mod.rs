//! From a deletion timestamp to nothing left.
//!
//! | module | what it tests |
//! | --- | --- |
//! | `delete` | whole deletions |
//! | `stages` | hooks, drain and Node, before the VM is deleted |
//! | `removal` | the deletion of the VM, and the answers of the cloud |
//! | `gone` | the proof that a VM is gone |

pub(crate) mod delete;
pub(crate) mod gone;
pub(crate) mod removal;
pub(crate) mod stages;
