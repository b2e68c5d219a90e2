//! Values without behaviour of their own.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `id` | names and ids, each a type of its own |
//! | `same_vm` | whether two provider ids name one VM |
//! | `phase` | phases and operations of a Machine |
//! | `condition` | the status of a condition |
//! | `duration` | durations as Go writes them |
//! | `intervals` | the shortest interval that each flag may have |
//! | `int_or_percent` | a number, or a percentage of a number |
//! | `selector` | label selectors |
//! | `digest` | the digest that identifies a version of a driver |
//! | `words` | enums whose variants are words that others read |
//! | `error_chain` | an error with its causes in one line |

pub mod condition;
pub mod digest;
pub mod duration;
pub mod error_chain;
pub mod id;
pub mod int_or_percent;
pub mod intervals;
pub mod phase;
pub mod same_vm;
pub mod selector;
pub(crate) mod words;
