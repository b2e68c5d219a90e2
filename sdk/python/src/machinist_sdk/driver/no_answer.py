"""Requests without an answer: the cause, and what to do."""

from dataclasses import dataclass
from enum import Enum
from typing import Any

from machinist_provider.imports import wasi_http_types as wasi
from machinist_provider.imports.machinist_provider_types import Code


@dataclass(frozen=True)
class _Meaning:
    code: Code
    may_have_been_sent: bool
    # Contains `{host}` and `{detail}`.
    explanation: str


class NoAnswerReason(Enum):
    """The cause of a missing answer. Requests with a cause up to `NO_TIME_LEFT` were not sent."""

    DENIED = _Meaning(
        Code.FAILED_PRECONDITION,
        False,
        "the host {host} is not granted, or a secret not in its place: add {host} with its scheme and port to egress, and the "
        "places of secrets to secrets, in the plugin's grants",
    )
    ADDRESS_DENIED = _Meaning(
        Code.FAILED_PRECONDITION,
        False,
        "the host {host} leads to an address that is not granted: add the address's class (loopback, private, …) to addresses "
        "of {host} in egress of the plugin's grants",
    )
    BAD_URL = _Meaning(
        Code.FAILED_PRECONDITION, False, "the URL for {host} is not usable: correct the endpoint in the plugin's settings"
    )
    REQUEST_TOO_LARGE = _Meaning(
        Code.INVALID_ARGUMENT,
        False,
        "the request to {host} is too large: shorten the user data, or raise the limit in the grants",
    )
    NO_SUCH_HOST = _Meaning(
        Code.UNAVAILABLE, False, "the host {host} has no address: check the endpoint in the plugin's settings, and DNS"
    )
    CONNECTION_REFUSED = _Meaning(
        Code.UNAVAILABLE,
        False,
        "the host {host} refuses connections: check that the cloud runs, and the endpoint in the plugin's settings",
    )
    UNREACHABLE = _Meaning(
        Code.UNAVAILABLE, False, "the host {host} cannot be reached: check the network towards it"
    )
    TLS = _Meaning(
        Code.UNAVAILABLE,
        False,
        "there is no TLS session with {host}: check its certificate; an authority of its own belongs into ca of the plugin's "
        "grants",
    )
    NO_TIME_LEFT = _Meaning(Code.DEADLINE_EXCEEDED, False, "the call's time was over before {host} could be asked")
    TIMED_OUT = _Meaning(Code.DEADLINE_EXCEEDED, True, "no answer of {host} in time")
    CUT_OFF = _Meaning(Code.UNAVAILABLE, True, "the connection to {host} ended before the answer did")
    ANSWER_TOO_LARGE = _Meaning(Code.INTERNAL, True, "the answer of {host} is larger than what is read")
    OTHER = _Meaning(Code.UNKNOWN, True, "the request to {host} failed: {detail}")

    @property
    def code(self) -> Code:
        """The contract's code, by which the host decides."""
        return self.value.code

    @property
    def may_have_been_sent(self) -> bool:
        """True if the request may have reached the cloud."""
        return self.value.may_have_been_sent


class NoAnswer(Exception):
    """A request without an answer."""

    def __init__(self, reason: NoAnswerReason, host: str, detail: str = "") -> None:
        super().__init__(reason.value.explanation.format(host=host, detail=detail))
        self.reason = reason
        self.host = host
        self.detail = detail

    @property
    def explanation(self) -> str:
        """Explains the problem and what to do."""
        return str(self)


_REASONS = {
    wasi.ErrorCode_HttpRequestDenied: NoAnswerReason.DENIED,
    wasi.ErrorCode_DestinationIpProhibited: NoAnswerReason.ADDRESS_DENIED,
    wasi.ErrorCode_HttpRequestUriInvalid: NoAnswerReason.BAD_URL,
    wasi.ErrorCode_HttpRequestUriTooLong: NoAnswerReason.BAD_URL,
    wasi.ErrorCode_HttpRequestMethodInvalid: NoAnswerReason.BAD_URL,
    wasi.ErrorCode_HttpRequestBodySize: NoAnswerReason.REQUEST_TOO_LARGE,
    wasi.ErrorCode_DnsTimeout: NoAnswerReason.NO_SUCH_HOST,
    wasi.ErrorCode_DnsError: NoAnswerReason.NO_SUCH_HOST,
    wasi.ErrorCode_DestinationNotFound: NoAnswerReason.NO_SUCH_HOST,
    wasi.ErrorCode_ConnectionRefused: NoAnswerReason.CONNECTION_REFUSED,
    wasi.ErrorCode_ConnectionTimeout: NoAnswerReason.UNREACHABLE,
    wasi.ErrorCode_ConnectionLimitReached: NoAnswerReason.UNREACHABLE,
    wasi.ErrorCode_DestinationUnavailable: NoAnswerReason.UNREACHABLE,
    wasi.ErrorCode_DestinationIpUnroutable: NoAnswerReason.UNREACHABLE,
    wasi.ErrorCode_TlsProtocolError: NoAnswerReason.TLS,
    wasi.ErrorCode_TlsCertificateError: NoAnswerReason.TLS,
    wasi.ErrorCode_TlsAlertReceived: NoAnswerReason.TLS,
    wasi.ErrorCode_HttpResponseTimeout: NoAnswerReason.TIMED_OUT,
    wasi.ErrorCode_ConnectionReadTimeout: NoAnswerReason.TIMED_OUT,
    wasi.ErrorCode_ConnectionWriteTimeout: NoAnswerReason.TIMED_OUT,
    wasi.ErrorCode_HttpResponseIncomplete: NoAnswerReason.CUT_OFF,
    wasi.ErrorCode_ConnectionTerminated: NoAnswerReason.CUT_OFF,
    wasi.ErrorCode_HttpResponseBodySize: NoAnswerReason.ANSWER_TOO_LARGE,
    wasi.ErrorCode_HttpResponseHeaderSectionSize: NoAnswerReason.ANSWER_TOO_LARGE,
    wasi.ErrorCode_HttpResponseHeaderSize: NoAnswerReason.ANSWER_TOO_LARGE,
}


def of_wasi(code: Any, host: str) -> NoAnswer:
    """Returns the cause for an error code of `wasi:http`."""
    reason = _REASONS.get(type(code), NoAnswerReason.OTHER)
    return NoAnswer(reason, host, detail=repr(code) if reason is NoAnswerReason.OTHER else "")
