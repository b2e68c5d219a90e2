//! moto: installed privately, run as a child process, called directly.

mod client;
mod environment;
mod process;

pub(crate) use client::{Client, EC2_VERSION};
pub use environment::prepare;
pub(crate) use process::Process;
