//! Recordings on disk.
//!
//! | module | what it does |
//! | --- | --- |
//! | `archive` | queues recordings and writes them in the background |
//! | `folder` | recordings as files, in a folder for each plugin |

pub(crate) mod archive;
pub(crate) mod folder;
