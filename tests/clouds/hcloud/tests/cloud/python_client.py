"""Uses the cloud with Hetzner's own client: what it accepts and returns is what the client expects."""

import sys
import time

from hcloud import APIException, Client
from hcloud.firewalls import Firewall
from hcloud.images import Image
from hcloud.locations import Location
from hcloud.networks import Network
from hcloud.placement_groups import PlacementGroup
from hcloud.server_types import ServerType
from hcloud.servers import ServerCreatePublicNetwork

endpoint, token, read_only_token = sys.argv[1:]


def refused(code, call):
    """Returns the error of a call that must be refused with this code."""
    try:
        call()
    except APIException as error:
        assert error.code == code, (code, error.code, error.message)
        return error
    raise AssertionError(f"must be refused with {code}")


client = Client(token=token, api_endpoint=f"{endpoint}/v1", poll_interval=0.05)

# The catalog.
kind = client.server_types.get_by_name("cax11")
image = client.images.get_by_name_and_architecture("ubuntu-24.04", kind.architecture)
assert image.architecture == "arm" and image.id != client.images.get_by_name_and_architecture("ubuntu-24.04", "x86").id
key = client.ssh_keys.get_by_fingerprint("b0:62:0f:6f:0c:ab:79:0f:b7:5b:00:c0:ad:d6:4c:3d")
network = client.networks.get_by_name("nodes")
firewall = client.firewalls.get_by_name("nodes")
group = client.placement_groups.get_by_name("spread")
assert {location.name for location in client.locations.get_all()} == {"fsn1", "nbg1", "hel1", "ash"}

# The life of a server.
labels = {"machinist.dev/cluster": "python", "machinist.dev/machine-uid": "uid-1"}
response = client.servers.create(
    name="python-1", server_type=kind, image=image, ssh_keys=[key], networks=[network], firewalls=[firewall],
    placement_group=group, location=Location(name="hel1"), user_data='#cloud-config\n# "quoted"\n', labels=labels,
    public_net=ServerCreatePublicNetwork(enable_ipv4=True, enable_ipv6=False),
)
assert response.server.status == "initializing" and response.action.command == "create_server", response.server.status
refused("locked", lambda: client.servers.delete(response.server))
response.action.wait_until_finished(max_retries=200)
for action in response.next_actions:
    action.wait_until_finished(max_retries=200)
server = client.servers.get_by_id(response.server.id)
assert server.status == "running" and server.labels == labels and server.location.name == "hel1", server.status
assert server.private_net[0].network.id == network.id and server.public_net.ipv6 is None
assert server.placement_group.id == group.id and server.public_net.firewalls[0].firewall.id == firewall.id

# The name is taken, in the whole project.
again = lambda: client.servers.create(name="python-1", server_type=ServerType(name="cx23"), image=Image(name="debian-12"))
refused("uniqueness_error", again)

# A Floating IP belongs to a server, and its own deletion removes it.
address = client.floating_ips.create(type="ipv4", name="pool-python-1-ipv4", server=server, labels=labels)
address.action.wait_until_finished(max_retries=200)
assert client.floating_ips.get_by_name("pool-python-1-ipv4").server.id == server.id
assert [found.id for found in client.servers.get_by_id(server.id).public_net.floating_ips] == [address.floating_ip.id]
client.floating_ips.delete(address.floating_ip)
assert client.floating_ips.get_all() == []

# Labels, pages, selectors.
for number in range(2, 6):
    client.servers.create(name=f"python-{number}", server_type=ServerType(name="cx23"), image=Image(name="debian-12"))
assert len(client.servers.get_all()) == 5
page = client.servers.get_list(page=2, per_page=2)
assert len(page.servers) == 2 and page.meta.pagination.next_page == 3 and page.meta.pagination.total_entries == 5
assert [found.name for found in client.servers.get_all(label_selector="machinist.dev/cluster==python")] == ["python-1"]
assert client.servers.get_all(label_selector="!machinist.dev/cluster,x") == []
client.servers.update(server, labels={**labels, "x": "y"})
assert client.servers.get_by_id(server.id).labels["x"] == "y"

# Refusals.
create = lambda **changed: client.servers.create(
    **{"name": "refused", "server_type": ServerType(name="cx23"), "image": Image(name="debian-12"), **changed})
refused("invalid_input", lambda: create(server_type=ServerType(name="cx99")))
refused("invalid_server_type", lambda: create(server_type=ServerType(name="cx22")))
refused("invalid_input", lambda: create(image=image))
refused("invalid_input", lambda: create(location=Location(name="hel1-dc2")))
refused("invalid_input", lambda: create(labels={"a b": "c"}))
refused("invalid_input", lambda: create(name="not_a_host"))
refused("invalid_input", lambda: create(user_data="x" * (32 * 1024 + 1)))
refused("not_found", lambda: create(networks=[Network(id=1)]))
refused("not_found", lambda: create(placement_group=PlacementGroup(id=1)))
refused("not_found", lambda: create(firewalls=[Firewall(id=1)]))
refused("unauthorized", lambda: Client(token="wrong", api_endpoint=f"{endpoint}/v1").servers.get_all())
reader = Client(token=read_only_token, api_endpoint=f"{endpoint}/v1")
assert len(reader.servers.get_all()) == 5
refused("token_readonly", lambda: reader.servers.delete(server))

# Deletions.
for found in client.servers.get_all():
    for _ in range(200):
        try:
            action = client.servers.delete(found)
            break
        except APIException as error:
            assert error.code == "locked", error.code
            time.sleep(0.05)
    action.wait_until_finished(max_retries=200)
    refused("not_found", lambda: client.servers.get_by_id(found.id))
assert client.servers.get_all() == []
print("done")
