//! moto: installed privately, run as a child process, called directly.

pub(crate) mod accounts;
mod client;
mod environment;
mod process;
pub(crate) mod sigv4;
pub(crate) mod sts;

pub(crate) use client::{Client, EC2_VERSION};
pub use environment::prepare;
pub(crate) use process::Process;
