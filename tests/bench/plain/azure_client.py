"""VMs of Azure with their NICs and disks, by Microsoft's own library."""

from azure.identity import ClientSecretCredential
from azure.mgmt.compute import ComputeManagementClient
from azure.mgmt.network import NetworkManagementClient
from crowd import given, measure

asked = given()
url, secret, spec = asked["url"], asked["secret"], asked["spec"]
VM = {"params": {"api-version": "2024-03-01"}}
NIC = {"params": {"api-version": "2023-06-01"}}
group, location = spec["resourceGroup"], spec["location"]
subnet = spec["subnetInfo"]
profile = spec["properties"]
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPy6sdqJ8jQMuHuSj5BaE4yrKjlh1ZtFTC8PqzQ0OEL4 tests"
credential = ClientSecretCredential(
    secret["tenantID"],
    secret["clientID"],
    secret["clientSecret"],
    authority=url,
    disable_instance_discovery=True,
)
options = {
    "base_url": url,
    "credential_scopes": ["https://management.azure.com/.default"],
    "polling_interval": 0.25,
}
compute = ComputeManagementClient(credential, secret["subscriptionID"], **options)
network = NetworkManagementClient(credential, secret["subscriptionID"], **options)
SUBNET = (
    f"/subscriptions/{secret['subscriptionID']}/resourceGroups/{subnet.get('vnetResourceGroup', group)}"
    f"/providers/Microsoft.Network/virtualNetworks/{subnet['vnetName']}/subnets/{subnet['subnetName']}"
)


def create(name):
    ips = [{"name": "one", "properties": {"subnet": {"id": SUBNET}}}]
    nic = {"location": location, "properties": {"ipConfigurations": ips}}
    nic = network.network_interfaces.begin_create_or_update(group, f"{name}-nic", nic, **NIC).result()
    image = profile["storageProfile"]["imageReference"]
    if "urn" in image:
        image = dict(zip(["publisher", "offer", "sku", "version"], image["urn"].split(":")))
    body = {
        "location": location,
        "properties": {
            "hardwareProfile": profile["hardwareProfile"],
            "osProfile": {
                "computerName": name,
                "adminUsername": "core",
                "linuxConfiguration": {
                    "disablePasswordAuthentication": True,
                    "ssh": {"publicKeys": [{"path": "/home/core/.ssh/authorized_keys", "keyData": KEY}]},
                },
            },
            "networkProfile": {"networkInterfaces": [{"id": nic.id, "properties": {"deleteOption": "Delete"}}]},
            "storageProfile": {
                "imageReference": image,
                "osDisk": {
                    "name": f"{name}-os-disk",
                    "createOption": "FromImage",
                    "deleteOption": "Delete",
                    "diskSizeGB": 50,
                },
            },
        },
    }
    vm = compute.virtual_machines.begin_create_or_update(group, name, body, **VM).result()
    assert vm.provisioning_state == "Succeeded", vm.provisioning_state
    return name


def delete(name):
    compute.virtual_machines.begin_delete(group, name, **VM).result()


measure(asked["count"], create, delete)
