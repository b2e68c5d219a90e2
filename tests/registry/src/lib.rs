//! A real OCI registry for tests: Debian's `docker-registry`, on a free port of loopback, and a proxy that lies in
//! front of one.
//!
//! | module | what it does |
//! | --- | --- |
//! | `install` | the registry's program: the system's, or unpacked from Debian's package |
//! | `process` | the registry as a child process that never outlives us |
//! | `liar` | a proxy in front of a registry that answers some questions otherwise |

mod install;
mod liar;
mod process;

pub use install::prepare;
pub use liar::{Liar, Lie};
pub use process::{Door, PASSWORD, Registry, USER};
