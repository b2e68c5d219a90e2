"""moto's server on a free port of loopback, for as long as standard input stays open.

Whoever starts it holds the other end of standard input. The kernel closes that end however the starter dies, and this
process ends then.
"""

import json
import logging
import os
import sys

from boto3 import Session
from moto.server import ThreadedMotoServer


def main() -> None:
    # One line for each request would be most of the log; tracebacks are what it is for.
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    session = Session()
    partitions = session.get_available_partitions()
    regions = [region for name in partitions for region in session.get_available_regions("ec2", partition_name=name)]
    print(json.dumps({"port": server.get_host_and_port()[1], "regions": regions}), flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
