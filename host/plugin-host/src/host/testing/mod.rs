//! Parts behind the interface of this crate, for the tests, benchmarks and fuzz targets of this repository.
//! [`fuzz`] has the parsers behind a call, a request or a file, as functions of bytes.

pub mod fuzz;

pub use crate::auth::sigv4;
pub use crate::calls::guest::log::LogLine;
pub use crate::calls::memory_inspector::{InspectedCall, MemoryInspector};
pub use crate::egress::{Egress, EgressSettings, Reason, Session};
pub use crate::grants::EgressDecision;
pub use crate::host::StartError;
pub use crate::recording::folder::{read as read_recording, write as write_recording};
pub use crate::recording::{Body, End, Exchange, ExchangeOutcome, FORMAT, KeyFact, WireError, difference};
pub use crate::registry::canary::decided::VersionDecision;
pub use crate::resources::low_priority::lower_own_priority;
pub use crate::sources::parts::PartNumber;
pub use crate::sources::remote::Resolved;
pub use crate::target::RequestTarget;
pub use crate::vault::{MASK, PlaceholderEncoding, Refusal, Vault};
