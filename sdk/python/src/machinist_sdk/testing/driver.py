"""A mock host for drivers, and sample requests."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from machinist_sdk.driver.base import Driver
from machinist_sdk.driver.calls import Calls
from machinist_sdk.driver.host import Host, Secrets
from machinist_sdk.driver.http import HttpAnswer, HttpRequest, Limits, Url
from machinist_sdk.driver.no_answer import NoAnswer, NoAnswerReason
from machinist_sdk.driver.types import Class, Machine, Request
from machinist_sdk.log import Level, Log
from machinist_sdk.testing.vault import Denied, Place, Vault

# The host's limits of a request.
REQUEST_BYTES = 1024 * 1024
ANSWER_BYTES = 4 * 1024 * 1024
REQUESTS_PER_CALL = 100
LOG_LINES = 1_000

# A cloud: its answer to a request in which the secrets are filled in, or the cause of a missing answer.
Cloud = Callable[[HttpRequest], HttpAnswer | NoAnswerReason]

_WITHOUT_SECRETS = frozenset({"describe", "validate_class", "get_volume_ids", "node_id", "place", "is_interruptible"})
_WITH_USER_DATA = frozenset({"create", "initialize"})


@dataclass(frozen=True)
class LogLine:
    level: Level
    message: str
    fields: tuple[tuple[str, str], ...]


@dataclass
class MockHost:
    """Hosts the calls of a driver, with the settings of an operator.

    `cloud` answers the requests: a function, or a list of answers in order. `places` names the granted places of each
    secret, like `secrets` in grants. `sent` holds the driver's requests, with placeholders; `seen` holds them as the
    cloud saw them.
    """

    cloud: Cloud | Iterable[HttpAnswer | NoAnswerReason] = ()
    secrets: Mapping[str, bytes] = field(default_factory=dict)
    user_data: bytes | None = None
    places: Mapping[str, Iterable[Place]] = field(default_factory=dict)
    revealed: Iterable[str] = ()
    settings: str = "{}"
    # The time left for each call. A fake cloud reduces it to simulate time that passes.
    remaining_ms: int = 300_000
    sent: list[HttpRequest] = field(default_factory=list)
    seen: list[HttpRequest] = field(default_factory=list)
    lines: list[LogLine] = field(default_factory=list)

    def __post_init__(self) -> None:
        if callable(self.cloud):
            self._cloud: Cloud = self.cloud
        else:
            script: Iterator[HttpAnswer | NoAnswerReason] = iter(list(self.cloud))
            self._cloud = lambda request: _next(script, request)

    def driver(self, driver: type[Driver]) -> Calls:
        """Returns the driver's calls, as the component makes them: each in an instance of its own, with placeholders of
        its own."""
        return Calls(driver, self.open)

    def open(self, call: str) -> "MockCall":
        """Opens the host of one call."""
        return MockCall(self, call)

    def messages(self) -> list[str]:
        """Returns the messages of the log."""
        return [line.message for line in self.lines]

    def exchange(self, request: HttpRequest) -> HttpAnswer | NoAnswerReason:
        """Returns the cloud's answer."""
        self.seen.append(request)
        return self._cloud(request)


class MockCall(Host):
    """The host, as one call sees it."""

    def __init__(self, world: MockHost, call: str) -> None:
        self._world = world
        user_data = world.user_data if call in _WITH_USER_DATA else None
        values = {} if call in _WITHOUT_SECRETS else world.secrets
        self._vault = Vault(values, user_data, world.places, world.revealed)
        self._has_network = call not in _WITHOUT_SECRETS
        self._requests = 0
        self._lines = 0
        self._log = Log(self._emit)

    @property
    def log(self) -> Log:
        return self._log

    @property
    def settings(self) -> str:
        return self._world.settings

    @property
    def secrets(self) -> Secrets:
        return self._vault

    def remaining_ms(self) -> int:
        return self._world.remaining_ms

    def _exchange(self, request: HttpRequest, url: Url, limits: Limits) -> HttpAnswer:
        self._world.sent.append(request)
        self._requests += 1
        if not self._has_network or self._requests > REQUESTS_PER_CALL:
            raise NoAnswer(NoAnswerReason.DENIED, url.host)
        if request.body is not None and len(request.body) > REQUEST_BYTES:
            raise NoAnswer(NoAnswerReason.REQUEST_TOO_LARGE, url.host)
        try:
            filled = self._vault.fill(request, url)
        except Denied:
            raise NoAnswer(NoAnswerReason.DENIED, url.host) from None
        answer = self._world.exchange(filled)
        if isinstance(answer, NoAnswerReason):
            raise NoAnswer(answer, url.host)
        if len(answer.body) > min(ANSWER_BYTES, limits.answer_bytes):
            raise NoAnswer(NoAnswerReason.ANSWER_TOO_LARGE, url.host)
        return self._scrubbed(answer)

    def _scrubbed(self, answer: HttpAnswer) -> HttpAnswer:
        headers = {name: self._text(value) for name, value in answer.headers.items()}
        return replace(answer, headers=headers, body=self._vault.scrub(answer.body))

    def _emit(self, level: Level, message: str, fields: list[tuple[str, str]]) -> None:
        self._lines += 1
        if self._lines <= LOG_LINES:
            pairs = tuple((name, self._text(value)) for name, value in fields)
            self._world.lines.append(LogLine(level, self._text(message), pairs))

    def _text(self, text: str) -> str:
        return self._vault.scrub(text.encode()).decode(errors="replace")


def _next(script: Iterator[HttpAnswer | NoAnswerReason], request: HttpRequest) -> HttpAnswer | NoAnswerReason:
    answer = next(script, None)
    if answer is None:
        raise AssertionError(f"the script has no answer to {request.method} {request.url}")
    return answer


def json_answer(status: int, value: Any, **headers: str) -> HttpAnswer:
    """Returns an answer with a JSON body; `retry_after="7"` is the header `retry-after`."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return HttpAnswer(status, {"content-type": "application/json", **named}, json.dumps(value).encode())


def a_class(spec: Any, *, provider: str = "sim", zones: Iterable[str] = ()) -> Class:
    """Returns a MachineClass with this `providerSpec`; a text is used unchanged."""
    text = spec if isinstance(spec, str) else json.dumps(spec)
    return Class(name="small", provider=provider, spec=text, node_template=None, zones=list(zones))


def a_request(number: int, class_: Class, *, provider_id: str | None = None, cluster: str = "c1") -> Request:
    """Returns the request for the Machine with this number."""
    machine = Machine(
        namespace="shoot",
        name=f"machine-{number}",
        uid=f"uid-{number}",
        labels=[],
        annotations=[],
        provider_id=provider_id,
        node_template=None,
        last_known_state=None,
    )
    return Request(machine, class_, idempotency_key=f"key-{number}", cluster=cluster, deadline_ms=300_000)
