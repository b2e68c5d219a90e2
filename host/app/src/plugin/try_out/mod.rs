//! Commands that try a new version before it serves.
//!
//! | module | what it does |
//! | --- | --- |
//! | `trial` | `machinist plugin trial`, `promote` and `rollback` |
//! | `shadow` | shows the differences that a shadow has found |
//! | `grants` | finds grants that a driver lacks, and adds them on request |
//! | `wait` | waits for the host's status of a version |

pub(crate) mod grants;
pub(crate) mod shadow;
pub(crate) mod trial;
pub(crate) mod wait;
