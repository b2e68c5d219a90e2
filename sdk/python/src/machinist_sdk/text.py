"""Text of others: what may be repeated of it, and JSON in it."""

import json
import re
from typing import Any

# The most that a message repeats of what somebody else wrote.
QUOTED_CHARACTERS = 200

# What an early end leaves of a literal, of a number, and of an escape.
_CUT_LITERAL = re.compile(r"-?|\.|[eE][+-]?|t|tr|tru|f|fa|fal|fals|n|nu|nul")
_CUT_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{0,4})?\Z")
# How deep arrays and objects may be nested.
MOST_LEVELS = 127
# To the end of the text if it has none itself, so that each character is looked at once.
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_NO_BRACKET = re.compile(r"[^\[\]{}]+")
# Where half of an escaped pair can hide.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class NotJson(ValueError):
    """The text is no JSON. `is_cut_off`: its beginning might be, so that the rest is missing."""

    def __init__(self, line: int, column: int, is_cut_off: bool) -> None:
        super().__init__(f"not JSON (line {line}, column {column})")
        self.line = line
        self.column = column
        self.is_cut_off = is_cut_off


def quoted(text: str) -> str:
    """At most so much of a foreign text, in one line, and nothing that is not Unicode."""
    line = "".join(" " if _is_control(character) else character for character in text[: QUOTED_CHARACTERS + 1])
    line = line.encode(errors="replace").decode()
    return line if len(line) <= QUOTED_CHARACTERS else line[: QUOTED_CHARACTERS - 1] + "…"


def read_json(source: str | bytes) -> Any:
    """What the JSON text says. Raises `NotJson` for everything that is none, whatever it is instead."""
    try:
        text = source if isinstance(source, str) else source.decode()
    except UnicodeDecodeError as error:
        raise NotJson(1, error.start + 1, error.reason == "unexpected end of data") from None
    if _is_too_deep(text):
        raise NotJson(1, 1, is_cut_off=False)
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise NotJson(error.lineno, error.colno, _is_cut_off(text, error)) from None
    except ValueError:
        # A constant that JSON does not have, or a number of thousands of digits.
        raise NotJson(1, 1, is_cut_off=False) from None
    if _SURROGATE.search(text) and not _is_unicode(value):
        raise NotJson(1, 1, is_cut_off=False)
    return value


def _is_control(character: str) -> bool:
    return character < " " or "\x7f" <= character <= "\x9f"


def _is_cut_off(text: str, error: json.JSONDecodeError) -> bool:
    if error.msg.startswith("Unterminated string"):
        return True
    if "escape" in error.msg:
        return _CUT_ESCAPE.search(text) is not None
    return _CUT_LITERAL.fullmatch(text[error.pos :].rstrip()) is not None


def _is_too_deep(text: str) -> bool:
    """A few hundred levels are more than the stack of a component holds."""
    if text.count("[") + text.count("{") <= MOST_LEVELS:
        return False
    depth = 0
    for bracket in _NO_BRACKET.sub("", _STRING.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > MOST_LEVELS:
            return True
    return False


def _is_unicode(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


# Made once: it costs more than reading a small text.
_DECODER = json.JSONDecoder(parse_constant=_refuse)
