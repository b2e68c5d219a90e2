"""The fields of a JSON object of the class, and the errors in them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from machinist_sdk.driver import Failure, invalid
from machinist_sdk.text import quoted


@dataclass(frozen=True)
class Fields:
    """The fields of a JSON object, with its path. Null counts as absent."""

    prefix: str
    fields: dict[str, Any]

    def get(self, name: str) -> Any:
        """Returns the value of a field. `None` if it is absent or null."""
        return self.fields.get(name)

    def text(self, name: str) -> str | None:
        value = self.get(name)
        if value is None or (isinstance(value, str) and value):
            return value
        raise self.unfit(name, "a text that is not empty", value)

    def needed_text(self, name: str) -> str:
        value = self.text(name)
        if value is None:
            raise self.invalid(name, "is required")
        return value

    def inside(self, at: str, value: Any) -> "Fields":
        """Returns the fields of an object inside this one."""
        if not isinstance(value, dict):
            raise self.unfit(at, "an object", value)
        return Fields(f"{self.prefix}.{at}", value)

    def unknown(self, known: Sequence[str]) -> list[str]:
        """Returns a warning for each field that `known` does not name, sorted."""
        names = sorted(name for name in self.fields if name not in known)
        return [f"{self.prefix}.{quoted(name)} is not a field and is ignored" for name in names]

    def unfit(self, name: str, wanted: str, got: Any) -> Failure:
        text = json.dumps(got, ensure_ascii=False, separators=(",", ":"))
        return self.invalid(name, f"must be {wanted}, got {quoted(text)}")

    def invalid(self, name: str, problem: str) -> Failure:
        return invalid(f"{self.prefix}.{name} {problem}")
