//! The Node of a Machine.
//!
//! | module | what it does |
//! | --- | --- |
//! | `health` | reads the conditions of a Node: is it healthy? |
//! | `sync` | merges labels, annotations and taints into a Node |
//! | `preservation` | which preservation request counts, that of the Machine or that of its Node |

pub mod health;
pub mod preservation;
pub mod sync;
