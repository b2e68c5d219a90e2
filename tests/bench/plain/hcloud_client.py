"""Servers of Hetzner Cloud, by Hetzner's own library."""

from crowd import given, measure
from hcloud import Client
from hcloud.images import Image
from hcloud.locations import Location
from hcloud.server_types import ServerType

asked = given()
spec, secret = asked["spec"], asked["secret"]
client = Client(secret["token"], api_endpoint=asked["url"] + "/v1", poll_interval=0.25)


def create(name):
    made = client.servers.create(
        name=name,
        server_type=ServerType(name=spec["serverType"]),
        image=Image(name=spec["imageName"]),
        location=Location(name=spec["zone"]),
        user_data=secret["userData"],
        labels={"plain": "1"},
    )
    made.action.wait_until_finished()
    for action in made.next_actions:
        action.wait_until_finished()
    server = client.servers.get_by_id(made.server.id)
    assert server.status == "running", server.status
    return server


def delete(server):
    client.servers.delete(server).wait_until_finished()


measure(asked["count"], create, delete)
