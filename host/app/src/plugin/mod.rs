//! `machinist plugin`: ships plugins, shows them, and tries new versions.
//!
//! | module | what it does |
//! | --- | --- |
//! | `ship` | `push`, `sign`, `bundle`, `resolve`: from a file to a cluster or a registry |
//! | `show` | `list`, `inspect`, `diff`, `logs`; `trial`, `promote`, `rollback` for canaries and shadows |
//! | `cluster` | ConfigMaps of plugins in a cluster |
//! | `file` | a component and its texts in files |

pub(crate) mod cluster;
pub(crate) mod file;
pub(crate) mod ship;
pub(crate) mod show;
