"""Checks that a value has the shape of a contract's type.

The component would trap on a value of another shape. So the SDK checks an author's answers first, and the error names
the field.
"""

import dataclasses
import types
import typing
from enum import Enum, Flag
from typing import Any

MOST_U64 = 2**64 - 1


class Misshapen(Exception):
    """A value of another shape. The text names the place and the expected value."""


def check(value: Any, shape: Any, at: str) -> None:
    """Raises `Misshapen` unless the value has this shape: a generated type, or a type hint of such types."""
    origin = typing.get_origin(shape)
    if origin in (typing.Union, types.UnionType):
        _check_one_of(value, typing.get_args(shape), at)
    elif origin is list:
        _check_list(value, typing.get_args(shape)[0], at)
    elif origin is tuple:
        _check_tuple(value, typing.get_args(shape), at)
    elif dataclasses.is_dataclass(shape):
        _check_record(value, shape, at)
    elif shape is str:
        _check_text(value, at)
    elif shape is int:
        if type(value) is not int or not 0 <= value <= MOST_U64:
            raise _misshapen(value, f"a whole number from 0 to {MOST_U64}", at)
    elif isinstance(shape, type) and (shape is bool or issubclass(shape, (Enum, Flag))):
        if not isinstance(value, shape):
            raise _misshapen(value, f"a {shape.__name__}", at)
    elif shape is None or shape is type(None):
        if value is not None:
            raise _misshapen(value, "None", at)
    else:
        raise TypeError(f"no values of {shape} can be compared")


def _check_one_of(value: Any, shapes: tuple[Any, ...], at: str) -> None:
    if value is None and type(None) in shapes:
        return
    rest = [shape for shape in shapes if shape is not type(None)]
    fitting = [shape for shape in rest if dataclasses.is_dataclass(shape) and isinstance(value, typing.cast(type, shape))]
    if fitting or len(rest) == 1:
        check(value, (fitting or rest)[0], at)
        return
    raise _misshapen(value, " or ".join(shape.__name__ for shape in rest), at)


def _check_list(value: Any, shape: Any, at: str) -> None:
    if not isinstance(value, list):
        raise _misshapen(value, "a list", at)
    for index, entry in enumerate(value):
        check(entry, shape, f"{at}[{index}]")


def _check_tuple(value: Any, shapes: tuple[Any, ...], at: str) -> None:
    if not isinstance(value, tuple) or len(value) != len(shapes):
        raise _misshapen(value, f"a tuple of {len(shapes)}", at)
    for index, (entry, shape) in enumerate(zip(value, shapes, strict=True)):
        check(entry, shape, f"{at}[{index}]")


def _check_record(value: Any, shape: Any, at: str) -> None:
    if not isinstance(value, shape):
        raise _misshapen(value, f"a {shape.__name__}", at)
    for field in dataclasses.fields(shape):
        check(getattr(value, field.name), field.type, f"{at}.{field.name}")


def _check_text(value: Any, at: str) -> None:
    if not isinstance(value, str):
        raise _misshapen(value, "a str", at)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Misshapen(f"{at} must be Unicode text, and has half of a surrogate pair") from None


def _misshapen(value: Any, wanted: str, at: str) -> Misshapen:
    return Misshapen(f"{at} must be {wanted}, got {type(value).__name__}")
