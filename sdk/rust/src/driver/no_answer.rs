//! Requests without an answer: the cause, and what to do.

use std::fmt;

use super::Code;
use crate::bindings::provider::wasi::http::types::ErrorCode;

/// The cause of a missing answer. Requests with the causes up to [`NoAnswerReason::NoTimeLeft`] were not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoAnswerReason {
    /// The grants do not allow the target, the signing, or a secret at its place.
    Denied,
    /// The host's name resolves to an address of a class that is not granted.
    AddressDenied,
    /// The URL is invalid.
    BadUrl,
    /// The body is larger than the host allows.
    RequestTooLarge,
    /// The host's name has no address.
    NoSuchHost,
    /// No server listens there.
    ConnectionRefused,
    /// No connection, for another reason.
    Unreachable,
    /// The certificate is not trusted, or the TLS handshake failed.
    Tls,
    /// The call's time was over before the request began.
    NoTimeLeft,
    /// The request may have been sent, and no answer came in time.
    TimedOut,
    /// The connection ended before the answer did.
    CutOff,
    /// The answer is larger than the host's or the request's limit.
    AnswerTooLarge,
    /// Anything else; the request may have been sent.
    Other(String),
}

/// A request without an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoAnswer {
    /// The cause.
    pub reason: NoAnswerReason,
    /// The host of the request.
    pub host: String,
}

impl std::error::Error for NoAnswer {}

impl fmt::Display for NoAnswer {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.explanation())
    }
}

impl NoAnswerReason {
    /// Returns the cause for an error of `wasi:http`.
    pub fn of(code: &ErrorCode) -> Self {
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

    /// True if the request may have reached the cloud.
    pub fn may_have_been_sent(&self) -> bool {
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

    /// Returns the contract's code, by which the host decides.
    pub fn code(&self) -> Code {
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
}

impl NoAnswer {
    /// Explains the problem and what to do.
    pub fn explanation(&self) -> String {
        let host = &self.host;
        match &self.reason {
            NoAnswerReason::Denied => format!(
                "the host {host} is not granted, or a secret not in its place: add {host} with its scheme and port to \
                 egress, and the places of secrets to secrets, in the plugin's grants"
            ),
            NoAnswerReason::AddressDenied => format!(
                "the host {host} leads to an address that is not granted: add the address's class (loopback, private, \
                 …) to addresses of {host} in egress of the plugin's grants"
            ),
            NoAnswerReason::BadUrl => {
                format!("the URL for {host} is not usable: correct the endpoint in the plugin's settings")
            }
            NoAnswerReason::RequestTooLarge => {
                format!(
                    "the request to {host} is too large: shorten the user data, or raise the limit in the grants"
                )
            }
            NoAnswerReason::NoSuchHost => {
                format!(
                    "the host {host} has no address: check the endpoint in the plugin's settings, and DNS"
                )
            }
            NoAnswerReason::ConnectionRefused => format!(
                "the host {host} refuses connections: check that the cloud runs, and the endpoint in the plugin's settings"
            ),
            NoAnswerReason::Unreachable => {
                format!("the host {host} cannot be reached: check the network towards it")
            }
            NoAnswerReason::Tls => format!(
                "there is no TLS session with {host}: check its certificate; an authority of its own belongs into ca of \
                 the plugin's grants"
            ),
            NoAnswerReason::NoTimeLeft => format!("the call's time was over before {host} could be asked"),
            NoAnswerReason::TimedOut => format!("no answer of {host} in time"),
            NoAnswerReason::CutOff => format!("the connection to {host} ended before the answer did"),
            NoAnswerReason::AnswerTooLarge => format!("the answer of {host} is larger than what is read"),
            NoAnswerReason::Other(detail) => format!("the request to {host} failed: {detail}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_sent_did_not_happen_and_what_may_have_been_sent_may_have() {
        let table = [
            (ErrorCode::HttpRequestDenied, Code::FailedPrecondition, false, "egress"),
            (ErrorCode::DestinationIpProhibited, Code::FailedPrecondition, false, "addresses"),
            (ErrorCode::HttpRequestUriInvalid, Code::FailedPrecondition, false, "endpoint"),
            (ErrorCode::HttpRequestBodySize(Some(9)), Code::InvalidArgument, false, "user data"),
            (ErrorCode::DnsTimeout, Code::Unavailable, false, "DNS"),
            (ErrorCode::ConnectionRefused, Code::Unavailable, false, "refuses"),
            (ErrorCode::ConnectionTimeout, Code::Unavailable, false, "network"),
            (ErrorCode::TlsCertificateError, Code::Unavailable, false, "certificate"),
            (ErrorCode::HttpResponseTimeout, Code::DeadlineExceeded, true, "in time"),
            (ErrorCode::ConnectionTerminated, Code::Unavailable, true, "ended"),
            (ErrorCode::HttpResponseBodySize(None), Code::Internal, true, "larger"),
            (ErrorCode::InternalError(Some("unexpected".into())), Code::Unknown, true, "unexpected"),
        ];
        for (code, expected, sent, word) in table {
            let reason = NoAnswerReason::of(&code);
            assert_eq!((reason.code(), reason.may_have_been_sent()), (expected, sent), "{code:?}");
            let text = NoAnswer { reason, host: "cloud.example".into() }.to_string();
            assert!(text.contains(word) && text.contains("cloud.example"), "{code:?}: {text}");
        }
    }

    #[test]
    fn an_ungranted_host_is_named_with_what_to_do() {
        let text = NoAnswer { reason: NoAnswerReason::Denied, host: "10.0.0.7".into() }.explanation();
        assert!(text.starts_with("the host 10.0.0.7 is not granted"), "{text}");
        assert!(
            text.contains("add 10.0.0.7") && text.contains("egress") && text.contains("grants"),
            "{text}"
        );
    }
}
