//! Machines and their Nodes.
//!
//! | module | what it tests |
//! | --- | --- |
//! | `joining` | Nodes that do not join, become unhealthy, recover, or are deleted |
//! | `names_and_tokens` | names that are taken, VMs that vanish, and tokens that cannot be written |
//! | `forms` | clouds whose Nodes have their provider ids in another form than the driver |
//! | `conflicts` | two Machines for one Node or one VM, removed labels, and invalid settings |
//! | `preserving` | Machines that are preserved although they failed |
//! | `replacing` | many unhealthy Machines at a time: how many fail, and when none does |
//! | `unmanaged` | Nodes without a Machine |

pub(crate) mod conflicts;
pub(crate) mod forms;
pub(crate) mod joining;
pub(crate) mod names_and_tokens;
pub(crate) mod preserving;
pub(crate) mod replacing;
pub(crate) mod unmanaged;
