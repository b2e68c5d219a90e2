"""moto's server on a free port of loopback, for as long as standard input stays open.

The process that starts it has the other end of standard input. The kernel closes that end however the starter dies,
and this process ends then.
"""

import json
import logging
import os
import sys
from threading import Lock, Thread

from boto3 import Session
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server


class OneAtATime:
    """moto's backends are plain dictionaries without locks: requests that meet in them sometimes break each other."""

    def __init__(self, application):
        self.application = application
        self.lock = Lock()

    def __call__(self, environment, start_response):
        with self.lock:
            return list(self.application(environment, start_response))


def main() -> None:
    # One line for each request would be most of the log; tracebacks are what it is for.
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    application = OneAtATime(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, application, threaded=True)
    Thread(target=server.serve_forever, daemon=True).start()
    session = Session()
    partitions = session.get_available_partitions()
    regions = [region for name in partitions for region in session.get_available_regions("ec2", partition_name=name)]
    print(json.dumps({"port": server.server_port, "regions": regions}), flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
