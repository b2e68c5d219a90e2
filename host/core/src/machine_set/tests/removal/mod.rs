//! Machines that a set deletes.
//!
//! | module | what it tests |
//! | --- | --- |
//! | `choice` | surplus, failed and chosen Machines |
//! | `keeping` | failed Machines that are kept |
//! | `order` | which Machine is deleted first |

pub(crate) mod choice;
pub(crate) mod keeping;
pub(crate) mod priority;
