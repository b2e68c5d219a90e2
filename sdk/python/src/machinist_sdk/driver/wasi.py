"""The host, inside a component."""

import contextlib
from collections.abc import Callable
from typing import Any

from componentize_py_types import Err, Ok
from machinist_provider.imports import deadline, outgoing_handler, secrets, settings
from machinist_provider.imports import log as host_log
from machinist_provider.imports import wasi_http_types as wasi
from machinist_provider.imports.streams import InputStream, OutputStream, StreamError_LastOperationFailed
from machinist_sdk.driver.host import USER_DATA_KEY, Host, Secret, SecretRefused, Secrets
from machinist_sdk.driver.http import HttpAnswer, HttpRequest, Limits, Url
from machinist_sdk.driver.no_answer import NoAnswer, NoAnswerReason, of_wasi
from machinist_sdk.log import Level, Log

_PIECE_BYTES = 64 * 1024
_LEVELS = {level: host_log.Level[level.name] for level in Level}
_METHODS: dict[str, Callable[[], wasi.Method]] = {
    "GET": wasi.Method_Get,
    "HEAD": wasi.Method_Head,
    "POST": wasi.Method_Post,
    "PUT": wasi.Method_Put,
    "DELETE": wasi.Method_Delete,
    "OPTIONS": wasi.Method_Options,
    "PATCH": wasi.Method_Patch,
}


class WasiHost(Host):
    """Calls the imports of the world."""

    def __init__(self) -> None:
        self._log = Log(_emit, lambda level: host_log.enabled(_LEVELS[level]))

    @property
    def log(self) -> Log:
        return self._log

    @property
    def settings(self) -> str:
        return settings.get()

    @property
    def secrets(self) -> Secrets:
        return WasiSecrets()

    def remaining_ms(self) -> int:
        return deadline.remaining_ms()

    def _exchange(self, request: HttpRequest, url: Url, limits: Limits) -> HttpAnswer:
        outgoing = _outgoing(request, url)
        body = outgoing.body()
        try:
            future = outgoing_handler.handle(outgoing, _options(limits))
        except Err as error:
            raise of_wasi(error.value, url.host) from None
        _send_body(body, request.body)
        with future, _answer(future, url.host) as incoming:
            return _read(incoming, limits.answer_bytes, url.host)


class WasiSecrets(Secrets):
    """`machinist:host/secrets`."""

    def keys(self) -> list[str]:
        return secrets.keys()

    def open(self, key: str) -> Secret | None:
        secret = secrets.open(key)
        return None if secret is None else WasiSecret(key, secret)

    def user_data(self) -> Secret | None:
        secret = secrets.user_data()
        return None if secret is None else WasiSecret(USER_DATA_KEY, secret)


class WasiSecret(Secret):
    """A handle of the host."""

    def __init__(self, key: str, secret: secrets.Secret) -> None:
        self._key = key
        self._secret = secret

    def length(self) -> int:
        return self._secret.length()

    def starts_with(self, prefix: bytes) -> bool:
        return self._secret.starts_with(prefix)

    def placeholder(self, *encodings: secrets.Encoding) -> str:
        try:
            return self._secret.placeholder(list(encodings))
        except Err as error:
            raise SecretRefused(self._key, error.value) from None

    def reveal(self) -> bytes:
        try:
            return self._secret.reveal()
        except Err as error:
            raise SecretRefused(self._key, error.value) from None


def _emit(level: Level, message: str, fields: list[tuple[str, str]]) -> None:
    host_log.emit(_LEVELS[level], message, fields)


def _outgoing(request: HttpRequest, url: Url) -> wasi.OutgoingRequest:
    try:
        headers = wasi.Fields.from_list([(name, value.encode()) for name, value in request.headers.items()])
    except (Err, UnicodeEncodeError) as error:
        # The error must not name the header: its value could be anything.
        raise NoAnswer(NoAnswerReason.OTHER, url.host, f"a header is not usable: {type(error).__name__}") from None
    outgoing = wasi.OutgoingRequest(headers)
    method = _METHODS.get(request.method)
    try:
        outgoing.set_method(method() if method else wasi.Method_Other(request.method))
        outgoing.set_scheme(wasi.Scheme_Https() if url.scheme == "https" else wasi.Scheme_Http())
        outgoing.set_authority(url.authority)
        outgoing.set_path_with_query(url.path_with_query)
    except Err:
        raise NoAnswer(NoAnswerReason.BAD_URL, url.host) from None
    return outgoing


def _options(limits: Limits) -> wasi.RequestOptions:
    options = wasi.RequestOptions()
    for setter, milliseconds in (
        (options.set_connect_timeout, limits.connect_ms),
        (options.set_first_byte_timeout, limits.answer_ms),
        (options.set_between_bytes_timeout, limits.answer_ms),
    ):
        # A host without this timeout still ends the call.
        with contextlib.suppress(Err):
            setter(milliseconds * 1_000_000)
    return options


def _send_body(body: wasi.OutgoingBody, content: bytes | None) -> None:
    """A server that refuses a body half-way gives the reason in its answer, so errors here mean nothing."""
    with contextlib.suppress(Err):
        if content:
            with body.write() as stream:
                _write(stream, content)
        wasi.OutgoingBody.finish(body, None)


def _write(stream: OutputStream, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        room = stream.check_write()
        if room == 0:
            with stream.subscribe() as pollable:
                pollable.block()
            continue
        stream.write(bytes(rest[:room]))
        rest = rest[room:]


def _answer(future: wasi.FutureIncomingResponse, host: str) -> wasi.IncomingResponse:
    with future.subscribe() as pollable:
        pollable.block()
    given: Any = future.get()
    if isinstance(given, Ok) and isinstance(given.value, Ok):
        incoming: wasi.IncomingResponse = given.value.value
        return incoming
    if isinstance(given, Ok) and isinstance(given.value, Err):
        raise of_wasi(given.value.value, host)
    raise NoAnswer(NoAnswerReason.OTHER, host, "the host gave no answer")


def _read(incoming: wasi.IncomingResponse, most_bytes: int, host: str) -> HttpAnswer:
    with incoming.headers() as fields:
        headers: dict[str, str] = {}
        for name, value in fields.entries():
            # Of a header that occurs twice, the first counts.
            headers.setdefault(name.lower(), value.decode(errors="replace"))
    status = incoming.status()
    with incoming.consume() as body, body.stream() as stream:
        return HttpAnswer(status, headers, _read_all(stream, most_bytes, host))


def _read_all(stream: InputStream, most_bytes: int, host: str) -> bytes:
    content = bytearray()
    while len(content) <= most_bytes:
        try:
            content += stream.blocking_read(_PIECE_BYTES)
        except Err as error:
            if not isinstance(error.value, StreamError_LastOperationFailed):
                return bytes(content)
            code = wasi.http_error_code(error.value.value)
            raise NoAnswer(NoAnswerReason.CUT_OFF, host) if code is None else of_wasi(code, host) from None
    raise NoAnswer(NoAnswerReason.ANSWER_TOO_LARGE, host)
