//! Hetzner Cloud for tests.
//!
//! The types of the crate `hcloud`, generated from the description of the API, decide about form: a request that does
//! not fit them is refused, a field that they do not have is refused, and every answer is built from them. `project`
//! decides about behaviour: actions that take time, locks, limits, unique names. `API.md` beside this crate lists both.
//!
//! | module | what it does |
//! | --- | --- |
//! | `cloud` | the cloud as tests start and query it |
//! | `options` | how a cloud is started |
//! | `project` | one project: its objects, and the work on them |
//! | `http` | from a request to an answer |
//! | `control` | controls for tests in other languages, and for the conformance kit |
//! | `server` | a server as tests and kubelets see it |
//! | `faults` | injected faults, and the choice of one for a request |

mod cloud;
mod control;
mod faults;
mod http;
mod options;
mod project;
mod server;

pub use cloud::{Entry, Hetzner, Leftovers};
pub use faults::{Effect, Rule};
pub use options::Options;
pub use project::{CLUSTER_LABEL, UID_LABEL};
pub use server::LiveServer;
