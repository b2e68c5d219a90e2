//! Mock hosts for native unit tests: no WebAssembly, no cloud, no sockets.
//!
//! [`MockHost`] hosts the calls of a driver and keeps secrets as the host does. A placeholder belongs to one call. The
//! mock replaces it only in the requests that the fake cloud sees, and only in granted places; it denies the request
//! anywhere else. It scrubs answers and log lines. A health policy needs only [`MockLog`].

mod call;
mod encode;
mod host;
mod log;
mod samples;
mod substitute;
mod vault;

pub use host::{MockDriver, MockHost};
pub use log::{LogLine, MockLog};
pub use samples::{a_class, a_machine, a_request, json_answer, with_id};
pub use substitute::Place;
