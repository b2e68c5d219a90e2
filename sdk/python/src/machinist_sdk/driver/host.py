"""The host, as a driver sees it."""

from abc import ABC, abstractmethod

from machinist_provider.imports.secrets import Encoding, Refusal
from machinist_sdk.driver.failure import Failure
from machinist_sdk.driver.http import DEFAULT_LIMITS, HttpAnswer, HttpRequest, Limits, Url
from machinist_sdk.driver.types import Code
from machinist_sdk.log import Log

USER_DATA_KEY = "userData"

_REFUSALS = {
    Refusal.NOT_GRANTED: "is not granted: add {{ key: {key}, places: [the header, JSON pointer or form field where it travels] }} "
    "to secrets in the plugin's grants",
    Refusal.ENCODINGS: "cannot be encoded: it is too large, or the encodings do not fit",
    Refusal.TOO_MANY: "has too many placeholders in one call",
}


class SecretRefused(Failure):
    """A refusal of the host to return a placeholder, or the value."""

    def __init__(self, key: str, refusal: Refusal) -> None:
        message = f"the secret {key} {_REFUSALS[refusal].format(key=key)}"
        super().__init__(Code.FAILED_PRECONDITION, message)
        self.key = key
        self.refusal = refusal


class Secret(ABC):
    """A secret as a handle. Its value stays in the host."""

    @abstractmethod
    def length(self) -> int:
        """The length of the value in bytes, before any encoding."""

    @abstractmethod
    def starts_with(self, prefix: bytes) -> bool:
        """True if user data starts with this prefix (at most 64 bytes are compared). Always false for a credential."""

    @abstractmethod
    def placeholder(self, *encodings: Encoding) -> str:
        """Returns a token that represents the encoded value in requests of this call. Raises `SecretRefused`."""

    @abstractmethod
    def reveal(self) -> bytes:
        """Returns the value, if the operator granted that. Raises `SecretRefused`."""


class Secrets(ABC):
    """The secrets of the running call."""

    @abstractmethod
    def keys(self) -> list[str]:
        """Returns the keys of the Secret, sorted, without user data."""

    @abstractmethod
    def open(self, key: str) -> Secret | None:
        """Returns a secret. `None` if there is no such key."""

    @abstractmethod
    def user_data(self) -> Secret | None:
        """Returns the machine's data at boot. Present in `create` and `initialize` only."""

    def needed(self, key: str, what: str) -> Secret:
        """Returns the secret of a required key; `what` describes its value in the message."""
        secret = self.open(key)
        if secret is None:
            message = f"the MachineClass's Secret has no key {key}: add {what}"
            raise Failure(Code.UNAUTHENTICATED, message, terminal=True)
        return secret


class Host(ABC):
    """The host, as one call sees it: a driver's only access to the world."""

    @property
    @abstractmethod
    def log(self) -> Log:
        """The log of the call."""

    @property
    @abstractmethod
    def settings(self) -> str:
        """The operator's settings beside the plugin: a JSON object, `{}` if there are none. Never secret."""

    @property
    @abstractmethod
    def secrets(self) -> Secrets:
        """The secrets of the call."""

    @abstractmethod
    def remaining_ms(self) -> int:
        """Returns the time left for the call. If you cannot finish in time, answer `Progress`."""

    def send(self, request: HttpRequest, limits: Limits = DEFAULT_LIMITS) -> HttpAnswer:
        """Sends a request and waits for the complete answer. Raises `NoAnswer` if there is none."""
        url = Url.parse(request.url)
        return self._exchange(request, url, limits.within(self.remaining_ms(), url.host))

    @abstractmethod
    def _exchange(self, request: HttpRequest, url: Url, limits: Limits) -> HttpAnswer:
        """Sends a request within these limits."""


class NotHere(Failure):
    """A call used secrets or network, which it does not have."""

    def __init__(self, call: str) -> None:
        message = f"{call} has neither secrets nor network: it must answer from its arguments and the settings"
        super().__init__(Code.INTERNAL, message)


class OfflineHost(Host):
    """The host of a call without secrets and network. Using them raises an error that says so."""

    def __init__(self, host: Host, call: str) -> None:
        self._host = host
        self._call = call

    @property
    def log(self) -> Log:
        return self._host.log

    @property
    def settings(self) -> str:
        return self._host.settings

    @property
    def secrets(self) -> Secrets:
        raise NotHere(self._call)

    def remaining_ms(self) -> int:
        return self._host.remaining_ms()

    def _exchange(self, request: HttpRequest, url: Url, limits: Limits) -> HttpAnswer:
        raise NotHere(self._call)
