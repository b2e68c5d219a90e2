//! Commands that show plugins.
//!
//! | module | what it does |
//! | --- | --- |
//! | `list` | `machinist plugin list` |
//! | `inspect` | `machinist plugin inspect` |
//! | `diff` | `machinist plugin diff` |
//! | `logs` | `machinist plugin logs` |
//! | `view` | a component as text |

pub(crate) mod diff;
pub(crate) mod inspect;
pub(crate) mod list;
pub(crate) mod logs;
pub(crate) mod view;
