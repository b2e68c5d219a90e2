//! Why a request has no answer, and what to do about it.

use crate::bindings::machinist::provider::types::Code;
use crate::bindings::wasi::http::types::ErrorCode;
use crate::errors::Target;

/// Why there is no answer. The first group is of requests that were not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The grants do not allow the target, the signing, or a secret in its place.
    Denied,
    /// The host's name leads to an address of a class that is not granted.
    AddressDenied,
    /// The host holds the URL for none.
    BadUrl,
    /// The body is larger than the host lets through.
    RequestTooLarge,
    /// The host's name has no address.
    NoSuchHost,
    /// Nothing listens there.
    ConnectionRefused,
    /// No connection, for another reason.
    Unreachable,
    /// The certificate is not trusted, or no TLS session came about.
    Tls,
    /// The call's time was over before the request began.
    NoTimeLeft,
    /// Sent perhaps, and no answer came in time.
    TimedOut,
    /// The connection ended before the answer did.
    CutOff,
    /// The answer is larger than the host, or this driver, takes.
    AnswerTooLarge,
    /// Anything else; sent perhaps.
    Other(String),
}

impl Trouble {
    /// What `wasi:http` says.
    pub(crate) fn of(code: &ErrorCode) -> Self {
        match code {
            ErrorCode::HttpRequestDenied => Self::Denied,
            ErrorCode::DestinationIpProhibited => Self::AddressDenied,
            ErrorCode::HttpRequestUriInvalid
            | ErrorCode::HttpRequestUriTooLong
            | ErrorCode::HttpRequestMethodInvalid => Self::BadUrl,
            ErrorCode::HttpRequestBodySize(_) => Self::RequestTooLarge,
            ErrorCode::DnsTimeout | ErrorCode::DnsError(_) | ErrorCode::DestinationNotFound => {
                Self::NoSuchHost
            }
            ErrorCode::ConnectionRefused => Self::ConnectionRefused,
            ErrorCode::ConnectionTimeout
            | ErrorCode::ConnectionLimitReached
            | ErrorCode::DestinationUnavailable
            | ErrorCode::DestinationIpUnroutable => Self::Unreachable,
            ErrorCode::TlsProtocolError | ErrorCode::TlsCertificateError | ErrorCode::TlsAlertReceived(_) => {
                Self::Tls
            }
            ErrorCode::HttpResponseTimeout
            | ErrorCode::ConnectionReadTimeout
            | ErrorCode::ConnectionWriteTimeout => Self::TimedOut,
            ErrorCode::HttpResponseIncomplete | ErrorCode::ConnectionTerminated => Self::CutOff,
            ErrorCode::HttpResponseBodySize(_)
            | ErrorCode::HttpResponseHeaderSectionSize(_)
            | ErrorCode::HttpResponseHeaderSize(_) => Self::AnswerTooLarge,
            other => Self::Other(format!("{other:?}")),
        }
    }

    /// True when the request may have reached the cloud.
    pub(crate) fn may_have_been_sent(&self) -> bool {
        match self {
            Self::Denied
            | Self::AddressDenied
            | Self::BadUrl
            | Self::RequestTooLarge
            | Self::NoSuchHost
            | Self::ConnectionRefused
            | Self::Unreachable
            | Self::Tls
            | Self::NoTimeLeft => false,
            Self::TimedOut | Self::CutOff | Self::AnswerTooLarge | Self::Other(_) => true,
        }
    }

    /// How the host treats it.
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::Denied | Self::AddressDenied | Self::BadUrl => Code::FailedPrecondition,
            Self::RequestTooLarge => Code::InvalidArgument,
            Self::NoSuchHost | Self::ConnectionRefused | Self::Unreachable | Self::Tls | Self::CutOff => {
                Code::Unavailable
            }
            Self::NoTimeLeft | Self::TimedOut => Code::DeadlineExceeded,
            Self::AnswerTooLarge => Code::Internal,
            Self::Other(_) => Code::Unknown,
        }
    }

    /// What is wrong at the target, and what to do.
    pub(crate) fn explanation(&self, target: &Target) -> String {
        let Target { host, region, is_override } = target;
        // Where the operator chose the endpoint, its host says nothing about the region.
        let unknown = if *is_override {
            format!("the plugin's grants do not allow the host {host}, or not for region {region}")
        } else {
            format!("region {region} is unknown or the plugin's grants do not allow its host {host}")
        };
        match self {
            Self::Denied => format!(
                "{unknown}: correct region in the MachineClass's providerSpec, or the plugin's grants: {host} in \
                 egress, scheme aws-sigv4 with service ec2 and region {region} in auth, userData at form field \
                 UserData in secrets"
            ),
            Self::AddressDenied => format!(
                "the host {host} leads to an address that is not granted: add the address's class (loopback, private, \
                 …) to addresses of {host} in egress of the plugin's grants"
            ),
            Self::BadUrl => {
                format!("the URL for {host} is not usable: correct endpoint in the plugin's settings")
            }
            Self::RequestTooLarge => {
                format!(
                    "the request to {host} is too large: shorten the user data, or raise the limit in the grants"
                )
            }
            Self::NoSuchHost if *is_override => {
                format!("the host {host} has no address: check endpoint in the plugin's settings, and DNS")
            }
            Self::NoSuchHost => format!(
                "{unknown}, since it has no address: correct region in the MachineClass's providerSpec, or check DNS"
            ),
            Self::ConnectionRefused => format!(
                "the host {host} refuses connections: check the network towards it, and endpoint in the plugin's settings"
            ),
            Self::Unreachable => format!("the host {host} cannot be reached: check the network towards it"),
            Self::Tls => format!(
                "there is no TLS session with {host}: check its certificate; an authority of its own belongs into ca of \
                 the plugin's grants"
            ),
            Self::NoTimeLeft => format!("the call's time was over before {host} could be asked"),
            Self::TimedOut => {
                format!("no answer of {host} in time: check the network towards it if this lasts")
            }
            Self::CutOff => format!("the connection to {host} ended before the answer did"),
            Self::AnswerTooLarge => format!("the answer of {host} is larger than what is read"),
            Self::Other(detail) => format!("the request to {host} failed: {detail}"),
        }
    }
}
