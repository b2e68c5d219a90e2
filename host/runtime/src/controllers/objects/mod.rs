//! Writes to API objects.
//!
//! | module | what it does |
//! | --- | --- |
//! | `metadata` | patches of metadata, with preconditions |
//! | `merge` | the JSON merge patch between two values |
//! | `status_write` | writes a status, for one version of one object |
//! | `conditions` | conditions in `status.machinist` |
//! | `inherited` | settings of a template that Machines get |
//! | `selection` | selectors of sets and deployments |

pub(crate) mod conditions;
pub(crate) mod inherited;
pub(crate) mod merge;
pub(crate) mod metadata;
pub(crate) mod selection;
pub(crate) mod status_write;

use machinist_core::driver::write_error::ActError;

use crate::context::key::Kind;

/// The outcome of one write: kind and version of the object, if there is a version to wait for.
pub(crate) type WriteOutcome = Result<Option<(Kind, String)>, ActError>;
