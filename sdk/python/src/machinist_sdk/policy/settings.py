"""The operator's settings beside a policy."""

from typing import Any

from machinist_sdk.text import NotJson, quoted, read_json


class SettingsError(Exception):
    """An error in the settings. The text names the field and the expected value."""


class Settings:
    """The fields of the settings. Read each once; `done` refuses the others."""

    def __init__(self, text: str) -> None:
        try:
            fields = read_json(text)
        except NotJson as error:
            raise SettingsError(f"invalid: they are {error}") from None
        if not isinstance(fields, dict):
            raise SettingsError("invalid: they must be a JSON object")
        self._fields: dict[str, Any] = fields
        self._known: list[str] = []

    def whole(self, name: str, *, default: int, least: int, most: int) -> int:
        """Returns a whole number within a range."""
        value = self._take(name, default)
        if type(value) is not int:
            raise SettingsError(f"{name} must be a whole number, got {quoted(repr(value))}")
        if not least <= value <= most:
            raise SettingsError(f"{name} is {value}, and must be from {least} to {most}")
        return value

    def texts(self, name: str, *, default: list[str]) -> list[str]:
        """Returns a list of texts."""
        value = self._take(name, default)
        if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
            raise SettingsError(f"{name} must be a list of texts, got {quoted(repr(value))}")
        return value

    def done(self) -> None:
        """Call it after all fields are read: an unread field is a mistake."""
        for name in self._fields:
            if name not in self._known:
                raise SettingsError(f"{quoted(name)} is no setting; there are {', '.join(self._known)}")

    def _take(self, name: str, default: Any) -> Any:
        self._known.append(name)
        return self._fields.get(name, default)
