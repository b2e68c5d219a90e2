//! Limits that an operator may set beside the host's own.

use serde::Deserialize;

use crate::target::Error;

/// The limits in the grants. The host's default applies to absent ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawLimits {
    /// Linear memory of one call, MiB.
    pub memory_mib: Option<u64>,
    pub table_elements: Option<u64>,
    /// Processor time of one call, milliseconds.
    pub cpu_ms: Option<u64>,
    /// Time on the wall of one call, milliseconds.
    pub deadline_ms: Option<u64>,
    /// Bytes that one call may move over the sandbox's border, KiB.
    pub copied_kib: Option<u64>,
    /// Handles of host resources that one call may hold.
    pub handles: Option<u64>,
    /// Calls at the same time.
    pub calls_in_flight: Option<u64>,
    pub calls_per_minute: Option<u64>,
    /// The body of one HTTP response, KiB.
    pub response_kib: Option<u64>,
    /// The body of one HTTP request, KiB.
    pub request_kib: Option<u64>,
    /// HTTP requests of one call.
    pub requests_per_call: Option<u64>,
}

impl RawLimits {
    /// Larger numbers are typing errors: each of them is beyond what a process could serve.
    const LARGEST: u64 = 1 << 40;

    pub(crate) fn check(&self) -> Result<(), Error> {
        let all = [
            ("memory_mib", self.memory_mib),
            ("table_elements", self.table_elements),
            ("cpu_ms", self.cpu_ms),
            ("deadline_ms", self.deadline_ms),
            ("copied_kib", self.copied_kib),
            ("handles", self.handles),
            ("calls_in_flight", self.calls_in_flight),
            ("calls_per_minute", self.calls_per_minute),
            ("response_kib", self.response_kib),
            ("request_kib", self.request_kib),
            ("requests_per_call", self.requests_per_call),
        ];
        for (name, value) in all {
            if value.is_some_and(|value| value == 0 || value > Self::LARGEST) {
                let problem = format!("must be at least 1 and at most {}", Self::LARGEST);
                return Err(Error::invalid(format!("limits.{name}"), problem));
            }
        }
        Ok(())
    }
}
