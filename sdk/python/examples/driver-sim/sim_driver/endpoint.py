"""The address of the cloud, from the operator's settings beside the plugin."""

import re
from dataclasses import dataclass

from machinist_sdk.driver import Code, Failure
from machinist_sdk.text import NotJson, quoted, read_json

_EXAMPLE = '{"endpoint": "http://HOST:PORT"}'
_URL = re.compile(r"https?://(?P<authority>[^/?#@\\\s]+)(/[^?#@\\\s]*)?")


@dataclass(frozen=True)
class Endpoint:
    """The base of all URLs, without a trailing slash, and the host without its port, as grants name it."""

    base: str
    host: str

    @staticmethod
    def of_settings(settings: str) -> "Endpoint":
        """Parses the plugin's settings. The error says what to write."""
        try:
            value = read_json(settings)
        except NotJson:
            raise _invalid(f"the plugin's settings are not JSON: write {_EXAMPLE}") from None
        url = value.get("endpoint") if isinstance(value, dict) else None
        if url is None:
            raise _invalid(f"endpoint is missing in the plugin's settings: write {_EXAMPLE}")
        if not isinstance(url, str):
            raise _invalid("endpoint in the plugin's settings must be a text")
        parts = _URL.fullmatch(url)
        if parts is None:
            raise _invalid(f"endpoint in the plugin's settings must be http(s)://HOST[:PORT][/PATH], got {quoted(url)}")
        return Endpoint(url.rstrip("/"), re.sub(r":\d*$", "", parts["authority"]))


def _invalid(message: str) -> Failure:
    return Failure(Code.FAILED_PRECONDITION, message)
