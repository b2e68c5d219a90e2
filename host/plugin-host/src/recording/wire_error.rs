//! How a request failed, as the component sees it, in words that can be written and read.

use serde::{Deserialize, Serialize};
use wasmtime_wasi_http::Error as WasiError;

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
