//! The sets of a deployment, and notes about them. Pure.
//!
//! | module | what it does |
//! | --- | --- |
//! | `sets` | which sets belong to a deployment, and which has its template; compares and prints templates |
//! | `notes` | the conditions of an object that needs attention |

mod notes;
mod sets;

pub(crate) use notes::{Note, of_deployment, of_machine, of_set};
pub(crate) use sets::{Sets, is_same, revision, template_of, text};

use kube::core::ObjectMeta;

/// The uid of the object that controls this one.
pub(crate) fn controller_uid(meta: &ObjectMeta) -> Option<&str> {
    let mut owners = meta.owner_references.iter().flatten();
    owners.find(|owner| owner.controller == Some(true)).map(|owner| owner.uid.as_str())
}

/// The name of an object.
pub(crate) fn name(meta: &ObjectMeta) -> &str {
    meta.name.as_deref().unwrap_or_default()
}

/// An annotation of an object.
pub(crate) fn annotation<'a>(meta: &'a ObjectMeta, name: &str) -> Option<&'a str> {
    meta.annotations.as_ref().and_then(|all| all.get(name)).map(String::as_str)
}

/// A number of Machines; 0 for a negative one.
pub(crate) fn count(number: Option<i32>) -> u32 {
    u32::try_from(number.unwrap_or_default()).unwrap_or_default()
}
