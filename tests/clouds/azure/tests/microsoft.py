"""Microsoft's own client makes a VM in the cloud for tests, and removes it: its parsers read every answer."""

import sys

from azure.core.exceptions import HttpResponseError
from azure.identity import ClientSecretCredential
from azure.mgmt.compute import ComputeManagementClient
from azure.mgmt.network import NetworkManagementClient

URL, TENANT, CLIENT, SECRET, SUBSCRIPTION = sys.argv[1:]
VM = {"params": {"api-version": "2024-03-01"}}
DISK = {"params": {"api-version": "2023-10-02"}}
NIC = {"params": {"api-version": "2023-06-01"}}
GROUP = "nodes"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPy6sdqJ8jQMuHuSj5BaE4yrKjlh1ZtFTC8PqzQ0OEL4 tests"

credential = ClientSecretCredential(
    TENANT, CLIENT, SECRET, authority=URL, disable_instance_discovery=True
)
options = {
    "base_url": URL,
    "credential_scopes": ["https://management.azure.com/.default"],
    "polling_interval": 0,
}
compute = ComputeManagementClient(credential, SUBSCRIPTION, **options)
network = NetworkManagementClient(credential, SUBSCRIPTION, **options)

subnet = network.subnets.get(GROUP, "vnet", "workers", **NIC)
nic = network.network_interfaces.begin_create_or_update(
    GROUP,
    "witness-nic",
    {
        "location": "westeurope",
        "properties": {
            "ipConfigurations": [{"name": "one", "properties": {"subnet": {"id": subnet.id}}}],
        },
    },
    **NIC,
).result()
assert nic.provisioning_state == "Succeeded", nic.provisioning_state
assert nic.ip_configurations[0].private_ip_address.startswith("10."), nic.ip_configurations

body = {
    "location": "westeurope",
    "zones": ["1"],
    "tags": {"owner": "witness"},
    "properties": {
        "hardwareProfile": {"vmSize": "Standard_D2s_v5"},
        "osProfile": {
            "computerName": "witness",
            "adminUsername": "core",
            "linuxConfiguration": {
                "disablePasswordAuthentication": True,
                "ssh": {"publicKeys": [{"path": "/home/core/.ssh/authorized_keys", "keyData": KEY}]},
            },
        },
        "networkProfile": {
            "networkInterfaces": [{"id": nic.id, "properties": {"deleteOption": "Delete"}}],
        },
        "storageProfile": {
            "imageReference": {
                "publisher": "sap", "offer": "gardenlinux", "sku": "greatest", "version": "1443.3.0",
            },
            "osDisk": {
                "name": "witness-os-disk", "createOption": "FromImage", "deleteOption": "Delete", "diskSizeGB": 50,
            },
        },
    },
}


def refused(call):
    """Returns Azure's code of a refusal."""
    try:
        call()
    except HttpResponseError as error:
        return error.error.code if error.error else error.status_code
    raise AssertionError("no refusal")


wrong = {**body, "properties": {**body["properties"], "hardwareProfile": {"vmSize": "Standard_Huge"}}}
code = refused(lambda: compute.virtual_machines.begin_create_or_update(GROUP, "witness", wrong, **VM))
assert code == "InvalidParameter", code

vm = compute.virtual_machines.begin_create_or_update(GROUP, "witness", body, **VM).result()
assert (vm.name, vm.provisioning_state, vm.zones) == ("witness", "Succeeded", ["1"]), vm
seen = compute.virtual_machines.get(GROUP, "witness", expand="instanceView", **VM)
assert any(status.code == "PowerState/running" for status in seen.instance_view.statuses), seen.instance_view
assert seen.storage_profile.os_disk.delete_option == "Delete", seen.storage_profile.os_disk
disk = compute.disks.get(GROUP, "witness-os-disk", **DISK)
assert disk.managed_by == vm.id, disk.managed_by
assert refused(lambda: network.network_interfaces.begin_delete(GROUP, "witness-nic", **NIC).result()) == "NicInUse"
changed = {**body, "properties": {**body["properties"], "osProfile": {**body["properties"]["osProfile"], "computerName": "x"}}}
code = refused(lambda: compute.virtual_machines.begin_create_or_update(GROUP, "witness", changed, **VM).result())
assert code == "PropertyChangeNotAllowed", code

compute.virtual_machines.begin_restart(GROUP, "witness", **VM).result()
compute.virtual_machines.begin_delete(GROUP, "witness", **VM).result()
for look in [
    lambda: compute.virtual_machines.get(GROUP, "witness", **VM),
    lambda: compute.disks.get(GROUP, "witness-os-disk", **DISK),
    lambda: network.network_interfaces.get(GROUP, "witness-nic", **NIC),
]:
    assert refused(look) == "ResourceNotFound"

compute.disks.begin_create_or_update(
    GROUP,
    "witness-data",
    {"location": "westeurope", "properties": {"creationData": {"createOption": "Empty"}, "diskSizeGB": 4}},
    **DISK,
).result()
compute.disks.begin_delete(GROUP, "witness-data", **DISK).result()

stranger = ClientSecretCredential(TENANT, CLIENT, "wrong", authority=URL, disable_instance_discovery=True)
try:
    stranger.get_token("https://management.azure.com/.default")
    raise AssertionError("a wrong secret got a token")
except Exception as error:
    assert "AADSTS7000215" in str(error), error
print("fine")
