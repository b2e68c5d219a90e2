//! Writes to API objects.
//!
//! | module | what it does |
//! | --- | --- |
//! | `metadata` | metadata, and merge patches with their preconditions |
//! | `status_write` | writes a status, for one version of one object |
//! | `vm_notes` | what an object stores for its VM: its finalizer, and the note of a create |
//! | `conditions` | conditions in `status.machinist` |
//! | `inherited` | settings of a template that Machines get |
//! | `selection` | selectors of sets and deployments |

pub(crate) mod conditions;
pub(crate) mod inherited;
pub(crate) mod metadata;
pub(crate) mod selection;
pub(crate) mod status_write;
pub(crate) mod vm_notes;
