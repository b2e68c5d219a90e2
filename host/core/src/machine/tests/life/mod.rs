//! A Machine with its Node.
//!
//! | module | what it tests |
//! | --- | --- |
//! | `join` | joining, and its timeout |
//! | `health` | Running, Unknown, Failed, and the health timeout |
//! | `vm_checks` | queries of VMs in service |
//! | `policies` | opinions of health policies |
//! | `preservation` | preservation before a Node exists |
//! | `replacing` | permits and silent zones |

pub(crate) mod health;
pub(crate) mod join;
pub(crate) mod policies;
pub(crate) mod preservation;
pub(crate) mod replacing;
pub(crate) mod vm_checks;
