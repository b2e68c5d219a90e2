//! The sets of a deployment.
//!
//! | module | what it does |
//! | --- | --- |
//! | `adoption` | which sets belong to the deployment |
//! | `current` | which set has the deployment's template |
//! | `new_set` | creates the set for the template, and copies settings to sets |
//! | `group` | counts the sets by the worst of all views; which Machines a set deletes first |
//! | `revision` | revision numbers of templates, and which old sets are kept |
//! | `freeze` | shows that a set is frozen, and why |

pub(crate) mod adoption;
pub(crate) mod current;
pub(crate) mod freeze;
pub(crate) mod group;
pub(crate) mod new_set;
pub(crate) mod revision;
