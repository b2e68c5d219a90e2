"""Imports modules before the snapshot of the component.

A component can import modules only while it is built. Some functions of the standard library import a module at their
first call; this module imports those that drivers are likely to need.
"""

import _strptime  # type: ignore[import-not-found]  # noqa: F401  `datetime.strptime` and `time.strptime`
import gc


def seal() -> None:
    """Hides all objects of the build from the garbage collector of an instance.

    Each call has an instance of its own, which copies the pages of memory that it writes to, and the collector writes
    to every object that it examines.
    """
    gc.collect()
    gc.freeze()
