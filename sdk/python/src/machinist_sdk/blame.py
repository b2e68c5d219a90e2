"""Finds the place of an exception, in one line."""

import traceback

from machinist_sdk.text import quoted


def blame(error: BaseException) -> str:
    """Returns kind, text, and the place where it was raised: the file's name without its folders."""
    frames = traceback.extract_tb(error.__traceback__)
    place = ""
    if frames:
        last = frames[-1]
        place = f" (in {last.name}, {last.filename.rsplit('/', 1)[-1]} line {last.lineno})"
    return quoted(f"{type(error).__name__}: {error}") + place
