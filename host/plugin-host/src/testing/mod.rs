//! Parts behind the interface of this crate, for the tests, benchmarks and fuzz targets of this repository.

pub mod fuzz;

pub use crate::auth::sigv4;
pub use crate::calls::guest::log::LogLine;
pub use crate::calls::memory_inspector::{InspectedCall, MemoryInspector};
pub use crate::calls::scheduling::low_priority::lower_own_priority;
pub use crate::egress::{Egress, Reason, Session};
pub use crate::grants::{EgressDecision, RequestTarget};
pub use crate::recording::files::folder::{read as read_recording, write as write_recording};
pub use crate::recording::{Body, End, Exchange, ExchangeOutcome, FORMAT, KeyFact, WireError, difference};
pub use crate::registry::canary::decided::VersionDecision;
pub use crate::vault::{MASK, PlaceholderEncoding, Refusal, Vault};
