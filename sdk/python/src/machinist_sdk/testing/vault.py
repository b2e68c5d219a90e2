"""The secrets of one call, as the host keeps them: values inside, placeholders outside."""

import base64
import gzip
import json
import re
import secrets as randomness
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, quote_plus, unquote_plus

from machinist_provider.imports.secrets import Encoding, Refusal
from machinist_sdk.driver.host import USER_DATA_KEY, Secret, SecretRefused, Secrets
from machinist_sdk.driver.http import HttpRequest, Url

PREFIX = "x0machinist0secret0x"
_TOKEN = re.compile(PREFIX.encode() + rb"[0-9a-z]{0,25}")
_PLACEHOLDERS_PER_CALL = 256
_ENCODINGS_PER_PLACEHOLDER = 4
_PREFIX_BYTES = 64
# Answers keep values that are shorter.
_SCRUBBED_FROM_BYTES = 8
_MASK = b"***"

# `{"header": NAME}`, `{"json": POINTER}` or `{"form": FIELD}`, as grants write them.
Place = Mapping[str, str]


class Denied(Exception):
    """A placeholder is at a place that its secret may not have."""


class Vault(Secrets):
    """The secrets of one call, with grants."""

    def __init__(
        self,
        values: Mapping[str, bytes],
        user_data: bytes | None,
        places: Mapping[str, Iterable[Place]],
        revealed: Iterable[str],
    ) -> None:
        self._values = dict(values)
        self._user_data = user_data
        self._places = {key: [dict(place) for place in of_key] for key, of_key in places.items()}
        self._revealed = frozenset(revealed)
        self._tokens: dict[tuple[str, tuple[Encoding, ...]], bytes] = {}
        self._expansions: dict[bytes, tuple[str, bytes]] = {}

    def keys(self) -> list[str]:
        return sorted(self._values)

    def open(self, key: str) -> Secret | None:
        return _MockSecret(self, key, self._values[key], is_user_data=False) if key in self._values else None

    def user_data(self) -> Secret | None:
        if self._user_data is None:
            return None
        return _MockSecret(self, USER_DATA_KEY, self._user_data, is_user_data=True)

    def token(self, key: str, value: bytes, encodings: tuple[Encoding, ...]) -> str:
        """Returns a placeholder; the same one for the same encodings."""
        if not self._places.get(key):
            raise SecretRefused(key, Refusal.NOT_GRANTED)
        if len(encodings) > _ENCODINGS_PER_PLACEHOLDER:
            raise SecretRefused(key, Refusal.ENCODINGS)
        if (key, encodings) not in self._tokens:
            if len(self._tokens) >= _PLACEHOLDERS_PER_CALL:
                raise SecretRefused(key, Refusal.TOO_MANY)
            token = (PREFIX + _random_digits(25)).encode()
            self._expansions[token] = (key, _encoded(key, value, encodings))
            self._tokens[key, encodings] = token
        return self._tokens[key, encodings].decode()

    def reveals(self, key: str) -> bool:
        return key in self._revealed

    def fill(self, request: HttpRequest, url: Url) -> HttpRequest:
        """Returns the request as the cloud sees it. Raises `Denied` if a placeholder is at a wrong place."""
        if PREFIX in url.path_with_query or any(PREFIX in name for name in request.headers):
            raise Denied
        headers = {
            name: self._filled(value.encode(), {"header": name.lower()}).decode(errors="replace")
            for name, value in request.headers.items()
        }
        content_type = next((value for name, value in headers.items() if name.lower() == "content-type"), "")
        body = None if request.body is None else self._filled_body(request.body, content_type)
        return HttpRequest(request.method, request.url, headers, body)

    def scrub(self, content: bytes) -> bytes:
        """Removes the values from an answer, in all spellings that clouds use."""
        values = [value for key, value in self._values.items() if key not in self._revealed]
        if self._user_data is not None and USER_DATA_KEY not in self._revealed:
            values.append(self._user_data)
        spellings = {spelling for value in values for spelling in _spellings(value)}
        spellings.update(sent for key, sent in self._expansions.values() if key not in self._revealed)
        for spelling in sorted(spellings, key=len, reverse=True):
            if len(spelling) >= _SCRUBBED_FROM_BYTES:
                content = content.replace(spelling, _MASK)
        return content

    def _filled_body(self, body: bytes, content_type: str) -> bytes:
        if PREFIX.encode() not in body:
            return body
        kind = content_type.split(";")[0].strip().lower()
        if kind == "application/x-www-form-urlencoded":
            return b"&".join(self._filled_field(field) for field in body.split(b"&"))
        if kind and "json" not in kind:
            raise Denied
        try:
            value = json.loads(body)
        except ValueError:
            raise Denied from None
        return json.dumps(self._filled_json(value, "")).encode()

    def _filled_field(self, field: bytes) -> bytes:
        name, equals, value = field.partition(b"=")
        if PREFIX.encode() in name:
            raise Denied
        return name + equals + self._filled(value, {"form": unquote_plus(name.decode(errors="replace"))})

    def _filled_json(self, value: Any, pointer: str) -> Any:
        if isinstance(value, dict):
            if any(PREFIX in key for key in value):
                raise Denied
            def escape(key: str) -> str:
                return key.replace("~", "~0").replace("/", "~1")
            return {key: self._filled_json(entry, f"{pointer}/{escape(key)}") for key, entry in value.items()}
        if isinstance(value, list):
            return [self._filled_json(entry, f"{pointer}/{index}") for index, entry in enumerate(value)]
        if not isinstance(value, str) or PREFIX not in value:
            return value
        inside = self._filled(json.dumps(value)[1:-1].encode(), {"json": pointer})
        try:
            return json.loads(b'"' + inside + b'"')
        except ValueError:
            # The value would break out of the string: it needs another encoding.
            raise Denied from None

    def _filled(self, text: bytes, place: Place) -> bytes:
        def value_of(match: re.Match[bytes]) -> bytes:
            known = self._expansions.get(match[0])
            if known is None or place not in _lower_headers(self._places.get(known[0], [])):
                raise Denied
            if "header" in place and any(byte < 32 and byte != 9 for byte in known[1]):
                raise Denied
            return known[1]

        return _TOKEN.sub(value_of, text)


class _MockSecret(Secret):
    def __init__(self, vault: Vault, key: str, value: bytes, *, is_user_data: bool) -> None:
        self._vault = vault
        self._key = key
        self._value = value
        self._is_user_data = is_user_data

    def length(self) -> int:
        return len(self._value)

    def starts_with(self, prefix: bytes) -> bool:
        return self._is_user_data and self._value.startswith(prefix[:_PREFIX_BYTES])

    def placeholder(self, *encodings: Encoding) -> str:
        return self._vault.token(self._key, self._value, encodings)

    def reveal(self) -> bytes:
        if not self._vault.reveals(self._key):
            raise SecretRefused(self._key, Refusal.NOT_GRANTED)
        return self._value


def _encoded(key: str, value: bytes, encodings: tuple[Encoding, ...]) -> bytes:
    for encoding in encodings:
        if encoding is Encoding.BASE64:
            value = base64.b64encode(value)
        elif encoding is Encoding.FORM:
            value = quote_plus(value, safe="*-._").encode()
        elif encoding is Encoding.GZIP:
            value = gzip.compress(value, mtime=0)
        elif encoding is Encoding.JSON_ESCAPE:
            try:
                value = json.dumps(value.decode(), ensure_ascii=False)[1:-1].encode()
            except UnicodeDecodeError:
                raise SecretRefused(key, Refusal.ENCODINGS) from None
    return value


def _spellings(value: bytes) -> list[bytes]:
    text = value.decode(errors="replace")
    escaped = [json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], quote(value, safe=""), quote_plus(value)]
    encoded = [base64.b64encode(value), base64.urlsafe_b64encode(value), value.hex().encode()]
    return [value, *(spelling.encode() for spelling in escaped), *encoded]


def _lower_headers(places: list[dict[str, str]]) -> list[dict[str, str]]:
    return [{kind: name.lower() if kind == "header" else name for kind, name in place.items()} for place in places]


def _random_digits(count: int) -> str:
    return "".join(randomness.choice("0123456789abcdefghijklmnopqrstuvwxyz") for _ in range(count))
