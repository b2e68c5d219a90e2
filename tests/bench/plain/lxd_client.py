"""Containers of LXD, by LXD's own library."""

import threading

from crowd import given, measure
from pylxd import Client

asked = given()
spec, secret = asked["spec"], asked["secret"]
CONFIG = {**spec["config"], "cloud-init.user-data": secret["userData"]}
# The library's connections are not for several threads at once.
own = threading.local()


def client():
    if not hasattr(own, "client"):
        own.client = Client(endpoint=asked["url"])
    return own.client


def create(name):
    source = {"type": "image", **spec["image"]}
    body = {"name": name, "type": "container", "source": source, "config": CONFIG}
    instance = client().instances.create(body, wait=True)
    instance.start(wait=True)
    assert instance.status == "Running", instance.status
    return name


def delete(name):
    instance = client().instances.get(name)
    instance.stop(wait=True)
    instance.delete(wait=True)


measure(asked["count"], create, delete)
