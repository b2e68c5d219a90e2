//! Commands that show plugins, and versions on trial.
//!
//! | module | what it does |
//! | --- | --- |
//! | `list` | `machinist plugin list` |
//! | `inspect` | `machinist plugin inspect` |
//! | `diff` | `machinist plugin diff` |
//! | `logs` | `machinist plugin logs` |
//! | `trial` | `machinist plugin trial`, `promote` and `rollback` |
//! | `shadow` | shows the differences that a shadow has found |
//! | `view` | a component as text |

pub(crate) mod diff;
pub(crate) mod inspect;
pub(crate) mod list;
pub(crate) mod logs;
pub(crate) mod shadow;
pub(crate) mod trial;
pub(crate) mod view;
