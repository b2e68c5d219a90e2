//! Mock hosts for native unit tests: no WebAssembly, no cloud, no sockets.
//!
//! [`MockHost`] hosts the calls of a driver and keeps secrets as the host does: placeholders belong to one call, and are filled in
//! only in what the fake cloud sees and only in the places that are granted; anywhere else the request is denied. Answers and log
//! lines are scrubbed. [`MockLog`] is all that a health policy needs.

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
