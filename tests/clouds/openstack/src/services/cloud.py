"""A real OpenStack on loopback: Keystone, Placement, Glance, Neutron, Cinder and Nova as plain processes.

    cloud.py --state DIR --template DIR --public URL

Nothing in here imitates an API: the services are the released ones. Behind them, Nova's fake hypervisor makes servers
ACTIVE without booting them, ports are bound and stay DOWN, and volumes are entries in a database.

It prints one line of JSON when all services answer: their addresses, and how to log in. It ends when its standard input
closes, or on SIGTERM; the services end when it does. DIR of --template keeps the empty databases between runs, and is
created if it does not exist; DIR of --state must not exist. URL of --public is the address that the catalog names.
"""
import argparse
import fcntl
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.error

from config import COMPUTE_HOST, PASSWORD, PATHS, REGION, SERVICES, base, configure, environment, keys
from contents import OPENER, Api, catalog, fill, locate, make_databases, neutron_tables

HERE = os.path.dirname(os.path.abspath(__file__))
# Start slowly on a busy machine.
READY_SECONDS = 240


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Cloud:
    def __init__(self, state):
        self.state = os.path.abspath(state)
        for folder in ("log", "locks"):
            os.makedirs(f"{self.state}/{folder}", exist_ok=True)
        self.ports = dict(zip(SERVICES, free_ports(len(SERVICES))))
        configure(self.state, self.ports)
        self.processes = {}
        self.api = Api(base(self.ports, "keystone") + "/v3")

    def start(self, service):
        env = environment(self.state)
        env["OPENSTACK_PORT"] = str(self.ports[service])
        with open(f"{self.state}/log/{service}.out", "ab") as log:
            self.processes[service] = subprocess.Popen([sys.executable, f"{HERE}/serve.py", service], env=env,
                                                       stdin=subprocess.PIPE, stdout=log, stderr=log)

    def wait(self, service, path):
        """Waits until the service answers, whatever it answers."""
        process, end = self.processes[service], time.monotonic() + READY_SECONDS
        while time.monotonic() < end:
            if process.poll() is not None:
                raise SystemExit(f"{service} ended with {process.returncode}: see {self.state}/log")
            try:
                with OPENER.open(base(self.ports, service) + path, timeout=5):
                    return
            except urllib.error.HTTPError as answer:
                if answer.code in (300, 401):
                    return
            except OSError:
                pass
            time.sleep(0.1)
        raise SystemExit(f"{service} does not answer within {READY_SECONDS} s: see {self.state}/log")

    def wait_for_compute(self):
        """The scheduler finds the compute host on its own; before that there is no valid host."""
        self.api.login("admin", PASSWORD, "admin")
        end = time.monotonic() + READY_SECONDS
        while time.monotonic() < end:
            if self.api.call("GET", base(self.ports, "nova") + "/v2.1/os-hypervisors")[1]["hypervisors"]:
                return
            time.sleep(0.2)
        raise SystemExit("no compute host appeared")

    def stop(self):
        for process in self.processes.values():
            process.kill()
            process.wait()


def prepare(template, state):
    """Creates the template of the databases."""
    cloud = Cloud(state)
    os.makedirs(f"{cloud.state}/db", exist_ok=True)
    try:
        make_databases(cloud.state)
        cloud.start("keystone")
        cloud.wait("keystone", "/v3")
        catalog(cloud.api)
    finally:
        cloud.stop()
    shutil.rmtree(template + ".new", ignore_errors=True)
    os.makedirs(template + ".new")
    for name in os.listdir(f"{cloud.state}/db"):
        if name.endswith(("-wal", "-shm")):
            continue
        with sqlite3.connect(f"{cloud.state}/db/{name}") as source, sqlite3.connect(f"{template}.new/{name}") as target:
            source.backup(target)
    os.rename(template + ".new", template)


def template_of(options):
    """Returns the folder of the template. Of several processes one creates it, and the others wait."""
    template = os.path.abspath(options.template)
    os.makedirs(os.path.dirname(template), exist_ok=True)
    with open(template + ".lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.isdir(template):
            prepare(template, options.state + ".prepare")
            shutil.rmtree(options.state + ".prepare")
    return template


def run(options):
    started, times = time.monotonic(), {}
    template = template_of(options)
    times["template"] = time.monotonic() - started
    cloud = Cloud(options.state)
    keys(cloud.state)
    shutil.copytree(template, f"{cloud.state}/db")

    def stop(*_):
        cloud.stop()
        os._exit(0)

    signal.signal(signal.SIGTERM, stop)
    try:
        for service in SERVICES[:-1]:
            cloud.start(service)
        cloud.wait("keystone", "/v3")
        locate(cloud.api, cloud.ports, options.public)
        cloud.start("nova")
        for service, path in (("placement", "/"), ("glance", "/versions"), ("neutron", "/"), ("cinder", "/"), ("nova", "/")):
            cloud.wait(service, path)
        times["answering"] = time.monotonic() - started
        facts = fill(cloud.api, cloud.ports)
        cloud.wait_for_compute()
        times["ready"] = time.monotonic() - started
    except BaseException:
        cloud.stop()
        raise
    facts.update({"region": REGION, "password": PASSWORD, "compute_host": COMPUTE_HOST,
                  "services": {name: base(cloud.ports, name) for name in PATHS},
                  "pids": [process.pid for process in cloud.processes.values()],
                  "seconds": {name: round(value, 1) for name, value in times.items()}})
    print(json.dumps(facts), flush=True)
    while os.read(0, 4096):
        pass
    stop()


def main():
    if sys.argv[1:] == ["neutron-tables"]:
        return neutron_tables()
    parser = argparse.ArgumentParser()
    for name in ("--state", "--template", "--public"):
        parser.add_argument(name, required=True)
    run(parser.parse_args())


if __name__ == "__main__":
    main()
