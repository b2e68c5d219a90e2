"""The host's log."""

from collections.abc import Callable
from enum import Enum


class Level(Enum):
    """The severity of a line."""

    TRACE = 0
    DEBUG = 1
    INFO = 2
    WARN = 3
    ERROR = 4


class Log:
    """The log of the running call.

    Messages are static texts; put all values that vary into fields: `log.info("zone has no room", zone=zone)`. The host
    adds plugin, call and machine. It keeps 1,000 lines and 64 KiB of a call.
    """

    def __init__(
        self,
        emit: Callable[[Level, str, list[tuple[str, str]]], None],
        is_enabled: Callable[[Level], bool] = lambda _: True,
    ) -> None:
        self._emit = emit
        self._is_enabled = is_enabled

    def is_enabled(self, level: Level) -> bool:
        """False if the host drops this level: ask before you build an expensive message."""
        return self._is_enabled(level)

    def trace(self, message: str, **fields: object) -> None:
        self._line(Level.TRACE, message, fields)

    def debug(self, message: str, **fields: object) -> None:
        self._line(Level.DEBUG, message, fields)

    def info(self, message: str, **fields: object) -> None:
        self._line(Level.INFO, message, fields)

    def warn(self, message: str, **fields: object) -> None:
        self._line(Level.WARN, message, fields)

    def error(self, message: str, **fields: object) -> None:
        self._line(Level.ERROR, message, fields)

    def _line(self, level: Level, message: str, fields: dict[str, object]) -> None:
        pairs = [(_sound(name), _sound(str(value))) for name, value in fields.items()]
        self._emit(level, _sound(message), pairs)


def _sound(text: str) -> str:
    """Replaces half a surrogate pair, which the contract cannot represent."""
    return text.encode(errors="replace").decode()
