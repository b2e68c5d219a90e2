"""What must be there before the component is sealed.

Modules are imported while a component is built, and never later. The standard library imports some when a function is called
for the first time; those that drivers are likely to meet are imported here.
"""

import _strptime  # type: ignore[import-not-found]  # noqa: F401  `datetime.strptime` and `time.strptime`
import gc


def seal() -> None:
    """Nothing that is there when the component is built is looked at by the garbage collector of an instance.

    Each call has an instance of its own, which copies the pages of memory that it writes to, and the collector writes to all
    that it looks at.
    """
    gc.collect()
    gc.freeze()
