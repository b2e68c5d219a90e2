//! moto: installed privately, run as a child process, called directly.
//!
//! | module | what it does |
//! | --- | --- |
//! | `environment` | the private virtual environment that moto is installed in |
//! | `process` | moto's server as a child process that never outlives us |
//! | `client` | calls moto without the proxy |
//! | `accounts` | keys of accounts, and the sessions that STS issues |
//! | `sigv4` | verifies AWS Signature Version 4, without the crate that the host signs with |
//! | `sts` | web-identity tokens become sessions |

pub(crate) mod accounts;
mod client;
mod environment;
mod process;
pub(crate) mod sigv4;
pub(crate) mod sts;

pub(crate) use client::{Client, EC2_VERSION};
pub use environment::prepare;
pub(crate) use process::Process;
