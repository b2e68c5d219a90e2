//! When a deployment may take Machines away.
//!
//! | module | what it does |
//! | --- | --- |
//! | `requests` | reads the annotations of a deployment: how many at a time, how old at most, replacement first |
//! | `budget` | counts the Machines that were taken away within a time, and says when the next may go |
//! | `maintenance` | parses maintenance windows and says when the next one opens |
//! | `node_age` | says when a Node is too old |

pub mod budget;
pub mod maintenance;
pub mod node_age;
pub mod requests;
