"""Makes many VMs at once with a cloud's own library, and removes them: the baseline of the drivers' figures.

The program of a cloud reads its input as JSON from standard input: `count`, `url`, `secret` and `spec`, as the driver
of that cloud gets them.
"""

import concurrent.futures
import json
import sys
import time

AT_ONCE = 32


def given():
    """Returns the input."""
    return json.load(sys.stdin)


def measure(count, create, delete):
    """Prints the seconds until all VMs run, and from then until all are gone.

    `create` gets a name, returns when that VM runs, and returns what `delete` needs, which returns when it is gone.
    """
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        started = time.monotonic()
        machines = list(pool.map(create, [f"plain-{number:04}" for number in range(count)]))
        running = time.monotonic()
        list(pool.map(delete, machines))
        gone = time.monotonic()
    print(json.dumps({"running": running - started, "gone": gone - running}))
