//! How a request fails, in the words of the host, of metrics and of `wasi:http`.

use std::io;

use wasmtime_wasi_http::Error as WasiError;

use crate::auth::AuthReason;
use crate::grants::Denial;
use crate::target::AddressClass;

/// Why the host did not send a request: a closed set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The URL or the method is not usable.
    Target,
    /// The grants do not allow the target.
    Grant(Denial),
    /// A name or literal leads to an address of a class that is not granted.
    Address(AddressClass),
    /// A placeholder is at a place where its secret may not travel.
    PlaceholderPlace,
    /// A placeholder is not the whole value of its place, nor all behind the prefix that is granted.
    PlaceholderPart,
    /// A placeholder is on its way to a host for which its secret is not granted.
    PlaceholderHost,
    /// A placeholder of another call, or an invented one.
    PlaceholderUnknown,
    /// The encoded value would break out of its place.
    PlaceholderValue,
    /// The body is over the limit.
    RequestSize,
    /// The call sent as many requests as it may.
    RequestCount,
    /// All plugins together hold as much memory as they may.
    Memory,
    /// The host does not sign it.
    Auth(AuthReason),
}

impl Reason {
    /// For metrics and Events.
    pub fn name(self) -> &'static str {
        match self {
            Self::Target => "target",
            Self::Grant(denial) => match denial {
                Denial::Host => "grant-host",
                Denial::Scheme => "grant-scheme",
                Denial::Port => "grant-port",
                Denial::Method => "grant-method",
                Denial::Path => "grant-path",
                Denial::Header => "grant-header",
                Denial::Form => "grant-form",
            },
            Self::Address(class) => match class {
                AddressClass::Public => "address-public",
                AddressClass::Private => "address-private",
                AddressClass::Shared => "address-shared",
                AddressClass::Loopback => "address-loopback",
                AddressClass::LinkLocal => "address-link-local",
                AddressClass::Metadata => "address-metadata",
                AddressClass::Unusable => "address-unusable",
                AddressClass::Denied => "address-denied",
            },
            Self::PlaceholderPlace => "placeholder-place",
            Self::PlaceholderPart => "placeholder-part",
            Self::PlaceholderHost => "placeholder-host",
            Self::PlaceholderUnknown => "placeholder-unknown",
            Self::PlaceholderValue => "placeholder-value",
            Self::RequestSize => "request-size",
            Self::RequestCount => "request-count",
            Self::Memory => "memory-budget",
            Self::Auth(reason) => reason.name(),
        }
    }

    pub fn explanation(self) -> &'static str {
        match self {
            Self::Target => "the URL or the method is not usable",
            Self::Grant(Denial::Host) => "the host is not granted",
            Self::Grant(Denial::Scheme) => "the scheme is not granted for this host",
            Self::Grant(Denial::Port) => "the port is not granted for this host",
            Self::Grant(Denial::Method) => "the method is not granted for this host",
            Self::Grant(Denial::Path) => "the path is not granted for this host",
            Self::Grant(Denial::Header) => "a header changes what the server sees, and is not granted",
            Self::Grant(Denial::Form) => {
                "a field of the request, such as Action, does not say what is granted"
            }
            Self::Address(_) => "the host leads to an address of a class that is not granted",
            Self::PlaceholderPlace => "a placeholder is in a place where its secret may not be sent",
            Self::PlaceholderPart => {
                "a placeholder is not the whole value of its place; the grants may name a prefix such as \"Bearer \""
            }
            Self::PlaceholderHost => "a placeholder's secret is not granted for this host",
            Self::PlaceholderUnknown => "a placeholder is not of this call",
            Self::PlaceholderValue => "an encoded secret does not fit its place; another encoding is needed",
            Self::RequestSize => "the request body is over the limit",
            Self::RequestCount => "the call sent as many requests as it may",
            Self::Memory => {
                "plugins hold all memory that they share: raise the memory limit of the pod or --plugin-memory, or \
                 lower limits.calls_in_flight"
            }
            Self::Auth(reason) => reason.explanation(),
        }
    }
}

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("refused: {}", .0.explanation())]
    Refused(Reason),
    #[error("failed to read the request body")]
    RequestBody,
    #[error("the request body is over the limit of {limit_bytes} bytes")]
    RequestSize { limit_bytes: u64 },
    #[error("failed to resolve the host")]
    Resolve(#[source] io::Error),
    #[error("failed to connect in time")]
    ConnectTimeout,
    #[error("failed to connect")]
    Connect(#[source] io::Error),
    #[error("failed to agree on TLS")]
    Tls(#[source] io::Error),
    #[error("failed to get an answer in time")]
    ResponseTimeout,
    #[error("failed to get the next piece of the body in time")]
    BodyTimeout,
    #[error("failed to get the whole answer")]
    Incomplete,
    #[error("the headers of the answer are over the limit")]
    ResponseHeaders,
    #[error("the body of the answer is over the limit of {limit_bytes} bytes")]
    ResponseSize { limit_bytes: u64 },
    #[error("no memory for the body of the answer")]
    ResponseMemory,
    /// The answer is compressed, though the request asked for identity: the host cannot search it for secrets.
    #[error("the answer is packed in spite of accept-encoding: identity, and cannot be searched for secrets")]
    ResponseCoding,
    #[error("failed to speak HTTP")]
    Protocol,
}

impl Failure {
    /// For metrics: a closed set.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Refused(_) | Self::RequestSize { .. } => "refused",
            Self::RequestBody => "request-body",
            Self::Resolve(_) => "resolve",
            Self::ConnectTimeout => "connect-timeout",
            Self::Connect(_) => "connect",
            Self::Tls(_) => "tls",
            Self::ResponseTimeout => "response-timeout",
            Self::BodyTimeout => "body-timeout",
            Self::Incomplete => "incomplete",
            Self::ResponseHeaders => "response-headers",
            Self::ResponseSize { .. } => "response-size",
            Self::ResponseMemory => "memory-budget",
            Self::ResponseCoding => "response-coding",
            Self::Protocol => "protocol",
        }
    }

    /// The reason, when the host did not send it.
    pub fn refusal(&self) -> Option<Reason> {
        match self {
            Self::Refused(reason) => Some(*reason),
            Self::RequestSize { .. } => Some(Reason::RequestSize),
            Self::RequestBody
            | Self::Resolve(_)
            | Self::ConnectTimeout
            | Self::Connect(_)
            | Self::Tls(_)
            | Self::ResponseTimeout
            | Self::BodyTimeout
            | Self::Incomplete
            | Self::ResponseHeaders
            | Self::ResponseSize { .. }
            | Self::ResponseMemory
            | Self::ResponseCoding
            | Self::Protocol => None,
        }
    }

    /// The same failure for another request that waited for the same.
    pub(super) fn again(&self) -> Self {
        match self {
            Self::Refused(reason) => Self::Refused(*reason),
            Self::RequestBody => Self::RequestBody,
            Self::RequestSize { limit_bytes } => Self::RequestSize { limit_bytes: *limit_bytes },
            Self::Resolve(error) => Self::Resolve(copied(error)),
            Self::ConnectTimeout => Self::ConnectTimeout,
            Self::Connect(error) => Self::Connect(copied(error)),
            Self::Tls(error) => Self::Tls(copied(error)),
            Self::ResponseTimeout => Self::ResponseTimeout,
            Self::BodyTimeout => Self::BodyTimeout,
            Self::Incomplete => Self::Incomplete,
            Self::ResponseHeaders => Self::ResponseHeaders,
            Self::ResponseSize { limit_bytes } => Self::ResponseSize { limit_bytes: *limit_bytes },
            Self::ResponseMemory => Self::ResponseMemory,
            Self::ResponseCoding => Self::ResponseCoding,
            Self::Protocol => Self::Protocol,
        }
    }

    /// As the component sees it.
    pub fn into_wasi(self) -> WasiError {
        match self {
            Self::Refused(Reason::Target) => WasiError::HttpRequestUriInvalid,
            Self::Refused(Reason::Address(_)) => WasiError::DestinationIpProhibited,
            Self::Refused(_) => WasiError::HttpRequestDenied,
            Self::RequestSize { limit_bytes } => WasiError::HttpRequestBodySize(Some(limit_bytes)),
            Self::RequestBody => WasiError::ConnectionWriteTimeout,
            Self::Resolve(_) => WasiError::DnsError { rcode: Some("NXDOMAIN".to_owned()), info_code: None },
            Self::ConnectTimeout => WasiError::ConnectionTimeout,
            Self::Connect(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                WasiError::ConnectionRefused
            }
            Self::Connect(_) => WasiError::DestinationUnavailable,
            Self::Tls(error) => tls_error(&error),
            Self::ResponseTimeout => WasiError::HttpResponseTimeout,
            Self::BodyTimeout => WasiError::ConnectionReadTimeout,
            Self::Incomplete => WasiError::HttpResponseIncomplete,
            Self::ResponseHeaders => WasiError::HttpResponseHeaderSectionSize(None),
            Self::ResponseSize { limit_bytes } => WasiError::HttpResponseBodySize(Some(limit_bytes)),
            Self::ResponseMemory => WasiError::InternalError(Some("no memory for the answer".to_owned())),
            Self::ResponseCoding => WasiError::HttpResponseContentCoding(None),
            Self::Protocol => WasiError::HttpProtocolError,
        }
    }
}

/// An error that is lent; what matters of it is its kind, its text, and what TLS said.
pub(super) fn copied(error: &io::Error) -> io::Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(tls) => io::Error::new(error.kind(), tls.clone()),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

fn tls_error(error: &io::Error) -> WasiError {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::InvalidCertificate(_)) => WasiError::TlsCertificateError,
        Some(rustls::Error::AlertReceived(alert)) => WasiError::TlsAlertReceived {
            alert_id: Some(u8::from(*alert)),
            alert_message: alert.as_str().map(str::to_owned),
        },
        _ => WasiError::TlsProtocolError,
    }
}
