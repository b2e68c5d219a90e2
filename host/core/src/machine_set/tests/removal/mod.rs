//! Machines that a set deletes.
//!
//! | module | what it tests |
//! | --- | --- |
//! | `choice` | surplus, failed and chosen Machines |
//! | `preservation` | failed Machines that are kept |
//! | `priority` | which Machine is deleted first |

pub(crate) mod choice;
pub(crate) mod preservation;
pub(crate) mod priority;
