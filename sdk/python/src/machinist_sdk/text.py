"""Text of others: quotes for messages, and JSON."""

import json
import re
from typing import Any

# The maximum length of a quote.
QUOTED_CHARACTERS = 200

# The rest of a literal, of a number, and of an escape that is cut off.
_CUT_LITERAL = re.compile(r"-?|\.|[eE][+-]?|t|tr|tru|f|fa|fal|fals|n|nu|nul")
_CUT_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{0,4})?\Z")
# The maximum nesting of arrays and objects.
MOST_LEVELS = 127
# An unterminated string extends to the end of the text, so that the expression reads each character once.
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_NO_BRACKET = re.compile(r"[^\[\]{}]+")
# Half an escaped surrogate pair.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class NotJson(ValueError):
    """The text is not JSON. `is_cut_off`: the text up to its end is the beginning of JSON."""

    def __init__(self, line: int, column: int, is_cut_off: bool) -> None:
        super().__init__(f"not JSON (line {line}, column {column})")
        self.line = line
        self.column = column
        self.is_cut_off = is_cut_off


def quoted(text: str) -> str:
    """Quotes a foreign text in one line, shortened, and replaces characters that are not Unicode."""
    line = "".join(" " if _is_control(character) else character for character in text[: QUOTED_CHARACTERS + 1])
    line = line.encode(errors="replace").decode()
    return line if len(line) <= QUOTED_CHARACTERS else line[: QUOTED_CHARACTERS - 1] + "…"


def read_json(source: str | bytes) -> Any:
    """Parses a JSON text. Raises `NotJson` for every other text."""
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
        # A constant that is not JSON, or a number of thousands of digits.
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
    """The stack of a component cannot hold a few hundred levels."""
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


# Created once: it costs more than parsing a small text.
_DECODER = json.JSONDecoder(parse_constant=_refuse)
