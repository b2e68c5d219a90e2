"""Servers of OpenStack with their ports, by OpenStack's own library."""

import base64

import openstack
from crowd import given, measure

asked = given()
spec, secret = asked["spec"]["spec"], asked["secret"]
cloud = openstack.connect(
    load_yaml_config=False,
    load_envvars=False,
    auth_type="v3applicationcredential",
    auth={
        "auth_url": secret["authURL"],
        "application_credential_id": secret["applicationCredentialID"],
        "application_credential_secret": secret["applicationCredentialSecret"],
    },
    region_name=spec["region"],
    interface="public",
)
PACE = {"interval": 1, "wait": 600}
flavor = cloud.compute.find_flavor(spec["flavorName"], ignore_missing=False)
groups = [cloud.network.find_security_group(name, ignore_missing=False).id for name in spec["securityGroups"]]
USER_DATA = base64.b64encode(secret["userData"].encode()).decode()


def create(name):
    port = cloud.network.create_port(
        name=name,
        network_id=spec["networkID"],
        fixed_ips=[{"subnet_id": subnet} for subnet in spec["subnetIDs"]],
        security_group_ids=groups,
        allowed_address_pairs=[{"ip_address": pods} for pods in spec["podNetworkCIDRs"]],
    )
    server = cloud.compute.create_server(
        name=name,
        flavor_id=flavor.id,
        image_id=spec["imageID"],
        key_name=spec["keyName"],
        availability_zone=spec["availabilityZone"],
        networks=[{"port": port.id}],
        user_data=USER_DATA,
        metadata=spec["tags"],
    )
    cloud.compute.wait_for_server(server, **PACE)
    return server, port


def delete(made):
    server, port = made
    cloud.compute.delete_server(server)
    cloud.compute.wait_for_delete(server, **PACE)
    cloud.network.delete_port(port)


measure(asked["count"], create, delete)
