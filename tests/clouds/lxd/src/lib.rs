//! LXD for tests.
//!
//! The cloud is Debian's LXD, as a plain process with a folder of its own: real system containers, which boot and run
//! their user data. In front of it are proxies in this process, which hold the client certificate and add faults.
//! `API.md` beside this crate describes it.
//!
//! | module | what it does |
//! | --- | --- |
//! | `cloud` | LXD as tests start and query it |
//! | `options` | how an LXD is started |
//! | `process` | the daemon, and the script that cleans up after it |
//! | `image` | the images of containers, built once |
//! | `tools` | programs that must be installed |
//! | `credentials` | the client certificate |
//! | `proxy` | requests of drivers on their way to LXD |
//! | `action` | the kinds of requests |
//! | `faults` | injected faults: rules, and the choice of one for a request |
//! | `ledger` | the instances that were made through the proxy |
//! | `instance` | an instance as LXD has it |
//! | `live` | an instance as tests and kubelets see it |

mod action;
mod cloud;
mod credentials;
mod faults;
mod image;
mod instance;
mod ledger;
mod live;
mod options;
mod process;
mod proxy;
mod tools;

pub use cloud::{DEBIAN, Lxd, SMALL};
pub use credentials::{Credentials, client_certificate};
pub use faults::{Effect, Faults, Rule};
pub use image::Images;
pub use instance::Instance;
pub use live::LiveInstance;
pub use options::Options;
pub use proxy::Entry;
pub use tools::{for_running as check, room_for};
