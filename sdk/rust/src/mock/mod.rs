//! Mock hosts for native unit tests: no WebAssembly, no cloud, no sockets.
//!
//! [`MockHost`] hosts the calls of a driver and keeps secrets as the host does. A placeholder belongs to one call. The
//! mock replaces it only in the requests that the fake cloud sees, and only in granted places; it denies the request
//! anywhere else. It scrubs answers and log lines. A health policy needs only [`MockLog`].
//!
//! | module | what it does |
//! | --- | --- |
//! | `host` | a mock host for drivers |
//! | `call` | the host, as one call of a test sees it |
//! | `vault` | the secrets of one call: values inside, placeholders outside |
//! | `substitute` | replaces placeholders by values, in the granted places and nowhere else |
//! | `encode` | encodings of secrets, and the spellings in which clouds return values |
//! | `log` | a log for tests to read |
//! | `samples` | classes, requests and answers for tests |

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
