//! The model of a recording: all inputs of a component in one call, and its actions. Never a secret's value, unless the
//! grants reveal it and it does not look like a credential.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wasmtime_wasi_http::Error as WasiError;

use crate::recording::recorder::body::Body;

/// The format that this host writes and reads.
pub const FORMAT: u32 = 1;

/// One call. Times in it are those that the component read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    pub format: u32,
    pub plugin: String,
    /// The component that answered.
    pub digest: String,
    /// Name of the call, as in metrics.
    pub operation: String,
    /// Which object it was about.
    pub subject: String,
    pub at: Timestamp,
    /// How long it took.
    pub took_ms: u64,
    /// The limits of the call.
    pub limits: LimitsTaken,
    pub settings: String,
    /// Its arguments, as the contract has them.
    pub question: Value,
    pub secrets: Secrets,
    /// The seed of its random numbers, in hex.
    #[serde(rename = "chance")]
    pub seed: String,
    /// The times that it read.
    pub clocks: Clocks,
    /// Levels of the log that were written.
    pub levels: Levels,
    pub log: Vec<LogEntry>,
    /// Its requests, in order.
    pub http: Vec<Exchange>,
    pub end: End,
    /// The parts that were left out. Empty: the recording is complete.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// The limits of the call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitsTaken {
    pub memory_bytes: u64,
    pub table_elements: u64,
    pub cpu_ms: u64,
    /// Time on the wall that it had when it began.
    pub deadline_ms: u64,
    /// Bytes that cross the boundary at once.
    pub copied_bytes: u64,
    /// Handles at the same time.
    pub handles: u64,
}

/// The facts that the component could learn about its secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Secrets {
    /// Keys with the lengths of their values.
    pub keys: Vec<KeyFact>,
    /// Length of the user data, where the call had it.
    pub user_data_bytes: Option<u64>,
    /// Placeholders that it asked for.
    pub placeholders: Vec<Placeholder>,
    /// Its questions about the beginning of a value.
    pub prefixes: Vec<Prefix>,
    /// Values that it asked for, and whether it got them.
    pub reveals: Vec<Reveal>,
}

/// A key and how long its value is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyFact {
    pub key: String,
    /// Length of the value.
    pub bytes: u64,
}

/// A token that stood for a value during the call, and means nothing after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Placeholder {
    /// Of which secret; `userData` for user data.
    pub key: String,
    pub encodings: Vec<String>,
    /// The token, or why there was none.
    pub answer: Result<String, String>,
}

/// A question about the beginning of a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prefix {
    pub key: String,
    /// Digest of what the component compared with: the text itself could be a part of the value.
    pub sha256: String,
    pub answer: bool,
}

/// A value that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reveal {
    pub key: String,
    /// Whether the grants allowed it.
    pub granted: bool,
    /// The value, for the replay. Absent: the recording masks it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// Times, each in the order in which they were read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clocks {
    pub wall_ns: Vec<u64>,
    /// Nanoseconds of the monotonic clock.
    pub monotonic_ns: Vec<u64>,
    /// Milliseconds that were left.
    pub remaining_ms: Vec<u64>,
}

/// Which levels of the log the host kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "independent levels of the contract, one for one")]
pub struct Levels {
    pub trace: bool,
    pub debug: bool,
    pub info: bool,
    pub warn: bool,
    pub error: bool,
}

/// A line of the log, kept or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogEntry {
    pub level: String,
    pub message: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<(String, String)>,
}

/// A request and what came back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    pub method: String,
    /// The whole URL, as the component wrote it.
    pub url: String,
    /// Headers as the component wrote them, with placeholders.
    pub headers: Vec<(String, String)>,
    /// The body as the component wrote it, with placeholders.
    pub body: Body,
    pub outcome: ExchangeOutcome,
}

/// The end of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ExchangeOutcome {
    Answer {
        status: u16,
        /// Its headers, as the component saw them.
        headers: Vec<(String, String)>,
        /// Its body, as far as the component read it.
        body: Body,
        /// Why the body ended early.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        broke_off: Option<WireError>,
        /// The component waited for more of it when its call was cut off.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        stalls: bool,
    },
    /// No answer, and why.
    Failed(WireError),
    /// The component did not wait for it, or the call ended before.
    Unanswered,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum End {
    /// The component answered: the contract's result, `Ok` or `Err`. `breaks` has the host's objection.
    Answered {
        answer: Value,
        /// Which rule of the contract it breaks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        breaks: Option<String>,
    },
    Trapped {
        detail: String,
    },
    /// It hit a limit.
    Limit {
        limit: String,
        detail: String,
    },
    /// The host did not make the call.
    Refused {
        detail: String,
    },
    /// The caller did not wait for the answer.
    Dropped,
}

/// An error of `wasi:http` that this host gives. All others become `internal`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WireError {
    DnsTimeout,
    DnsError { rcode: Option<String>, info_code: Option<u16> },
    DestinationUnavailable,
    DestinationIpProhibited,
    ConnectionRefused,
    ConnectionTerminated,
    ConnectionTimeout,
    ConnectionReadTimeout,
    ConnectionWriteTimeout,
    TlsProtocolError,
    TlsCertificateError,
    TlsAlertReceived { alert_id: Option<u8>, alert_message: Option<String> },
    HttpRequestDenied,
    HttpRequestUriInvalid,
    HttpRequestBodySize(Option<u64>),
    HttpResponseIncomplete,
    HttpResponseHeaderSectionSize(Option<u32>),
    HttpResponseBodySize(Option<u64>),
    HttpResponseTimeout,
    HttpProtocolError,
    Internal(Option<String>),
}

impl From<&WasiError> for WireError {
    fn from(error: &WasiError) -> Self {
        match error {
            WasiError::DnsTimeout => Self::DnsTimeout,
            WasiError::DnsError { rcode, info_code } => {
                Self::DnsError { rcode: rcode.clone(), info_code: *info_code }
            }
            WasiError::DestinationUnavailable | WasiError::Connect(_) => Self::DestinationUnavailable,
            WasiError::DestinationIpProhibited => Self::DestinationIpProhibited,
            WasiError::ConnectionRefused => Self::ConnectionRefused,
            WasiError::ConnectionTerminated => Self::ConnectionTerminated,
            WasiError::ConnectionTimeout => Self::ConnectionTimeout,
            WasiError::ConnectionReadTimeout => Self::ConnectionReadTimeout,
            WasiError::ConnectionWriteTimeout => Self::ConnectionWriteTimeout,
            WasiError::TlsProtocolError | WasiError::Tls(_) => Self::TlsProtocolError,
            WasiError::TlsCertificateError => Self::TlsCertificateError,
            WasiError::TlsAlertReceived { alert_id, alert_message } => {
                Self::TlsAlertReceived { alert_id: *alert_id, alert_message: alert_message.clone() }
            }
            WasiError::HttpRequestDenied => Self::HttpRequestDenied,
            WasiError::HttpRequestUriInvalid => Self::HttpRequestUriInvalid,
            WasiError::HttpRequestBodySize(limit) => Self::HttpRequestBodySize(*limit),
            WasiError::HttpResponseIncomplete => Self::HttpResponseIncomplete,
            WasiError::HttpResponseHeaderSectionSize(limit) => Self::HttpResponseHeaderSectionSize(*limit),
            WasiError::HttpResponseBodySize(limit) => Self::HttpResponseBodySize(*limit),
            WasiError::HttpResponseTimeout => Self::HttpResponseTimeout,
            WasiError::HttpProtocolError | WasiError::Hyper(_) => Self::HttpProtocolError,
            WasiError::InternalError(detail) => Self::Internal(detail.clone()),
            other => Self::Internal(Some(format!("{other:?}"))),
        }
    }
}

impl From<WireError> for WasiError {
    fn from(error: WireError) -> Self {
        match error {
            WireError::DnsTimeout => Self::DnsTimeout,
            WireError::DnsError { rcode, info_code } => Self::DnsError { rcode, info_code },
            WireError::DestinationUnavailable => Self::DestinationUnavailable,
            WireError::DestinationIpProhibited => Self::DestinationIpProhibited,
            WireError::ConnectionRefused => Self::ConnectionRefused,
            WireError::ConnectionTerminated => Self::ConnectionTerminated,
            WireError::ConnectionTimeout => Self::ConnectionTimeout,
            WireError::ConnectionReadTimeout => Self::ConnectionReadTimeout,
            WireError::ConnectionWriteTimeout => Self::ConnectionWriteTimeout,
            WireError::TlsProtocolError => Self::TlsProtocolError,
            WireError::TlsCertificateError => Self::TlsCertificateError,
            WireError::TlsAlertReceived { alert_id, alert_message } => {
                Self::TlsAlertReceived { alert_id, alert_message }
            }
            WireError::HttpRequestDenied => Self::HttpRequestDenied,
            WireError::HttpRequestUriInvalid => Self::HttpRequestUriInvalid,
            WireError::HttpRequestBodySize(limit) => Self::HttpRequestBodySize(limit),
            WireError::HttpResponseIncomplete => Self::HttpResponseIncomplete,
            WireError::HttpResponseHeaderSectionSize(limit) => Self::HttpResponseHeaderSectionSize(limit),
            WireError::HttpResponseBodySize(limit) => Self::HttpResponseBodySize(limit),
            WireError::HttpResponseTimeout => Self::HttpResponseTimeout,
            WireError::HttpProtocolError => Self::HttpProtocolError,
            WireError::Internal(detail) => Self::InternalError(detail),
        }
    }
}
