//! A real OCI registry for tests: Debian's `docker-registry`, on a free port of loopback, and a proxy that lies in
//! front of one.

mod install;
mod liar;
mod process;

pub use install::prepare;
pub use liar::{Liar, Lie};
pub use process::{Door, PASSWORD, Registry, USER};
