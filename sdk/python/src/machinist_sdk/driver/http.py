"""Requests and answers, and their limits. A `Host` sends them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

from machinist_sdk.driver.no_answer import NoAnswer, NoAnswerReason

# The defaults suit an API that answers when the work is done: after this time it gives no answer at all.
ANSWER_MS = 30_000
CONNECT_MS = 10_000
ANSWER_BYTES = 8 * 1024 * 1024
# Left for the work after an answer, and for the answer to the host.
RESERVE_MS = 250


@dataclass(frozen=True)
class Limits:
    """Maximum time of a request, and maximum size of its answer. The call's deadline applies as well."""

    connect_ms: int = CONNECT_MS
    answer_ms: int = ANSWER_MS
    answer_bytes: int = ANSWER_BYTES

    def within(self, remaining_ms: int, host: str) -> "Limits":
        """Returns these limits, shortened to end before the call does, so that the call can report the failure."""
        left_ms = remaining_ms - RESERVE_MS
        if left_ms <= 0:
            raise NoAnswer(NoAnswerReason.NO_TIME_LEFT, host)
        return Limits(min(self.connect_ms, left_ms), min(self.answer_ms, left_ms), self.answer_bytes)


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True)
class HttpRequest:
    """A request. In `headers` and `body`, placeholders represent secrets."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None


@dataclass(frozen=True)
class HttpAnswer:
    """An answer, whatever its status. The host follows no redirect."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    def header(self, name: str) -> str | None:
        """Returns the value of a header, by its name in any case."""
        wanted = name.lower()
        return next((value for key, value in self.headers.items() if key.lower() == wanted), None)

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def is_html(self) -> bool:
        """True for an HTML page, which proxies send instead of an API's answer."""
        return (self.header("content-type") or "").startswith("text/html")

    @property
    def retry_after_ms(self) -> int | None:
        """The time of `retry-after`, if it is a number of seconds."""
        seconds = (self.header("retry-after") or "").strip()
        # This many digits always fit into the contract's number.
        return int(seconds) * 1_000 if seconds.isascii() and seconds.isdigit() and len(seconds) < 13 else None


@dataclass(frozen=True)
class Url:
    """The parts of a URL that a request needs."""

    scheme: str
    authority: str
    path_with_query: str

    @staticmethod
    def parse(text: str) -> "Url":
        """Parses a URL. Raises `NoAnswer` if it is not a URL of HTTP."""
        try:
            parts = urlsplit(text)
        except ValueError:
            raise NoAnswer(NoAnswerReason.BAD_URL, "of the request") from None
        is_usable = parts.scheme in ("http", "https") and parts.netloc and "@" not in parts.netloc
        if not is_usable or parts.fragment or not text.isascii() or any(character <= " " for character in text):
            raise NoAnswer(NoAnswerReason.BAD_URL, host_of(parts.netloc) or "of the request")
        query = f"?{parts.query}" if parts.query else ""
        return Url(parts.scheme, parts.netloc, (parts.path or "/") + query)

    @property
    def host(self) -> str:
        """The host without its port, as grants name it."""
        return host_of(self.authority)


def host_of(authority: str) -> str:
    """Returns `HOST` of `HOST:PORT`."""
    host, colon, port = authority.rpartition(":")
    return host if colon and port.isdigit() else authority


def escaped(text: str) -> str:
    """Escapes a segment of a path or a value of a query."""
    return quote(text, safe="", errors="replace")
