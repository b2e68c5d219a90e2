//! OpenStack for tests.
//!
//! The cloud is the released Keystone, Nova, Placement, Glance, Neutron and Cinder, as child processes. In front of
//! them is a proxy in this process, at one address for all services. It adds faults, lag and TLS. `API.md` beside this
//! crate says which behaviour comes from which part.
//!
//! | module | what it does |
//! | --- | --- |
//! | `cloud` | the cloud as tests start and query it |
//! | `server` | a server as tests and kubelets see it |
//! | `environment` | installs the services privately, and the folder of installed parts |
//! | `process` | runs the services as a child process |
//! | `client` | logs in and calls the services without the proxy |
//! | `admin` | a server that answers without a login: the servers of one Machine, and requests as the project's user |
//! | `tls` | a second address of the proxy, with TLS |
//! | `proxy` | forwards and changes each request and each answer |
//!
//! The folder `services` has the configuration, databases, contents and processes of the services, in Python.

mod admin;
mod client;
mod cloud;
pub mod environment;
mod process;
mod proxy;
mod server;
mod tls;

pub use client::Client;
pub use cloud::{Leftovers, Openstack, Options};
pub use process::Facts;
pub use proxy::faults::{Effect, Faults, Rule};
pub use proxy::journal::Entry;
pub use server::LiveServer;
