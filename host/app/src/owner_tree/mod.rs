//! The sets of a deployment, and notes about objects. Pure.
//!
//! | module | what it does |
//! | --- | --- |
//! | `sets` | which sets belong to a deployment, and which has its template; compares and prints templates |
//! | `notes` | the conditions of an object that needs attention |
//! | `core_notes` | the same of the kinds of Cluster API, and of MachinistMachines |
//! | `vm_state` | where a MachinistMachine is in its life |

pub(crate) mod core_notes;
mod notes;
mod sets;
mod vm_state;

pub(crate) use notes::{Note, of_deployment, of_machine, of_set};
pub(crate) use sets::{Sets, is_same, revision, template_of, text};
pub(crate) use vm_state::{VmState, vm_state};

use kube::core::ObjectMeta;

/// The uid of the object that controls this one.
pub(crate) fn controller_uid(meta: &ObjectMeta) -> Option<&str> {
    let mut owners = meta.owner_references.iter().flatten();
    owners.find(|owner| owner.controller == Some(true)).map(|owner| owner.uid.as_str())
}

pub(crate) fn name(meta: &ObjectMeta) -> &str {
    meta.name.as_deref().unwrap_or_default()
}

pub(crate) fn annotation<'a>(meta: &'a ObjectMeta, name: &str) -> Option<&'a str> {
    meta.annotations.as_ref().and_then(|all| all.get(name)).map(String::as_str)
}

/// A number of Machines; 0 for a negative one.
pub(crate) fn count(number: Option<i32>) -> u32 {
    u32::try_from(number.unwrap_or_default()).unwrap_or_default()
}
