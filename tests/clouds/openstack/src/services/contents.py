"""The contents of the cloud: empty databases, the catalog, and the objects that a cluster needs before its first
server."""
import base64
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import urllib.error
import urllib.request

from config import PASSWORD, PATHS, PREFIX, REGION, base, database, environment, keys

OTHER_REGION = "RegionTwo"
VERSIONS = {"keystone": "/v3", "nova": "/v2.1", "cinder": "/v3"}
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
# A public key without a private half: 32 bytes in order.
PUBLIC_KEY = "ssh-ed25519 " + base64.b64encode(b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + bytes(range(7, 39))).decode() + " nobody"


def manage(state, *lines):
    """Runs commands of the services one after another; their output goes to a log."""
    for line in lines:
        with open(f"{state}/log/manage.log", "ab") as log:
            log.write(("$ " + " ".join(line) + "\n").encode())
            log.flush()
            done = subprocess.run([f"{PREFIX}/bin/{line[0]}", *line[1:]], env=environment(state), stdout=log,
                                  stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(line)} failed: see {state}/log/manage.log")


def make_databases(state):
    """Makes the databases of all services, with an admin and both cells of Nova. Nothing in them depends on ports or
    paths, so that they can be kept as a template: cells name their databases relative to the one in Nova's file."""
    nova = ["nova-manage", "--config-file", f"{state}/etc/nova/nova.conf"]
    keystone = ["keystone-manage", "--config-file", f"{state}/etc/keystone/keystone.conf"]
    keys(state)
    chains = [
        [[*keystone, "db_sync"],
         [*keystone, "bootstrap", "--bootstrap-password", PASSWORD, "--bootstrap-region-id", "RegionOne",
          "--bootstrap-public-url", "http://127.0.0.1:1/v3", "--bootstrap-internal-url", "http://127.0.0.1:1/v3"]],
        [["placement-manage", "--config-file", f"{state}/etc/placement/placement.conf", "db", "sync"]],
        [["glance-manage", "--config-file", f"{state}/etc/glance/glance-api.conf", "db_sync"]],
        [["python", os.path.join(os.path.dirname(os.path.abspath(__file__)), "cloud.py"), "neutron-tables"]],
        [["cinder-manage", "--config-file", f"{state}/etc/cinder/cinder.conf", "db", "sync"]],
        [[*nova, "api_db", "sync"],
         [*nova, "cell_v2", "map_cell0", "--database_connection", "{scheme}:////{path}_cell0"],
         [*nova, "cell_v2", "create_cell", "--name", "cell1", "--transport-url", "fake:///",
          "--database_connection", "{scheme}:////{path}"],
         [*nova, "db", "sync"]],
    ]
    failed = []

    def run(chain):
        try:
            manage(state, *chain)
        except BaseException as problem:
            failed.append(problem)

    threads = [threading.Thread(target=run, args=(chain,)) for chain in chains]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def neutron_tables():
    """Neutron's migrations cannot run on SQLite, so its tables are made from its models, as its own tests do."""
    import sqlalchemy
    from neutron.db.migration.models import head
    engine = sqlalchemy.create_engine(database(os.environ["OPENSTACK_STATE"], "neutron"))
    head.get_metadata().create_all(engine)


class Api:
    """Just enough of a client to fill the cloud."""

    def __init__(self, keystone):
        self.keystone = keystone
        self.token = None

    def call(self, method, url, body=None, headers=None, raw=None):
        data = raw if raw is not None else (None if body is None else json.dumps(body).encode())
        request = urllib.request.Request(url, data=data, method=method)
        request.add_header("Content-Type", "application/json" if raw is None else "application/octet-stream")
        if self.token:
            request.add_header("X-Auth-Token", self.token)
        for key, value in (headers or {}).items():
            request.add_header(key, value)
        try:
            with OPENER.open(request, timeout=60) as answer:
                text = answer.read()
                return answer, json.loads(text) if text and answer.headers.get_content_type() == "application/json" else text
        except urllib.error.HTTPError as problem:
            raise SystemExit(f"{method} {url}: {problem.code} {problem.read()[:500]!r}") from None

    def login(self, user, password, project, domain="default"):
        self.token = None
        answer, body = self.call("POST", f"{self.keystone}/auth/tokens", {"auth": {
            "identity": {"methods": ["password"], "password": {"user": {
                "name": user, "password": password, "domain": {"id": domain}}}},
            "scope": {"project": {"name": project, "domain": {"id": domain}}}}})
        self.token = answer.headers["X-Subject-Token"]
        return body["token"]


def catalog(api):
    """Creates the users of the services, their endpoints in two regions, and a project with a user for drivers."""
    k = api.keystone
    api.login("admin", PASSWORD, "admin")
    roles = {r["name"]: r["id"] for r in api.call("GET", f"{k}/roles")[1]["roles"]}
    services = {s["name"]: s["id"] for s in api.call("GET", f"{k}/services")[1]["services"]}
    project = lambda name: api.call("POST", f"{k}/projects", {"project": {"name": name, "domain_id": "default"}})[1]["project"]["id"]
    user = lambda name: api.call("POST", f"{k}/users", {"user": {"name": name, "password": PASSWORD, "domain_id": "default"}})[1]["user"]["id"]
    api.call("POST", f"{k}/regions", {"region": {"id": OTHER_REGION}})
    service = project("service")
    for name, kind in (("placement", "placement"), ("glance", "image"), ("neutron", "network"),
                       ("cinder", "block-storage"), ("nova", "compute")):
        one = user(name)
        for role in ("admin", "service"):
            api.call("PUT", f"{k}/projects/{service}/users/{one}/roles/{roles[role]}")
        services[name] = api.call("POST", f"{k}/services", {"service": {"name": name, "type": kind}})[1]["service"]["id"]
        for interface in ("public", "internal"):
            endpoint(api, services[name], interface, REGION)
        endpoint(api, services[name], "public", OTHER_REGION)
    machines, driver = project("machines"), user("driver")
    api.call("PUT", f"{k}/projects/{machines}/users/{driver}/roles/{roles['member']}")


def endpoint(api, service, interface, region):
    api.call("POST", f"{api.keystone}/endpoints", {"endpoint": {
        "service_id": service, "interface": interface, "region_id": region, "url": "http://127.0.0.1:1"}})


def locate(api, ports, public):
    """Enters the addresses of this run into the catalog: of the public endpoints the proxy's, of the others the ports
    of the services themselves. Those of the second region lead below a path where the proxy refuses everything."""
    k = api.keystone
    api.login("admin", PASSWORD, "admin")
    names = {s["id"]: s["name"] for s in api.call("GET", f"{k}/services")[1]["services"]}
    for one in api.call("GET", f"{k}/endpoints")[1]["endpoints"]:
        name = names[one["service_id"]]
        region = "" if one["region_id"] == REGION else "/" + OTHER_REGION
        at = f"{public}{region}{PATHS[name]}" if one["interface"] == "public" else base(ports, name)
        api.call("PATCH", f"{k}/endpoints/{one['id']}", {"endpoint": {"url": at + VERSIONS.get(name, "")}})


def fill(api, ports):
    """Creates networks, subnets, an image, flavors, a key pair, a security group, a server group and a volume type."""
    at = lambda name: base(ports, name)
    api.login("admin", PASSWORD, "admin")
    for number, (name, cpus, memory, disk) in enumerate((("m1.tiny", 1, 512, 1), ("m1.small", 1, 2048, 20), ("m1.medium", 2, 4096, 40),
                                                        ("m1.huge", 2, 4_000_000, 40)), 1):
        api.call("POST", f"{at('nova')}/v2.1/flavors", {"flavor": {"id": str(number), "name": name, "vcpus": cpus, "ram": memory, "disk": disk}})
    api.call("POST", f"{at('cinder')}/v3/types", {"volume_type": {"name": "fast"}})
    project = api.login("driver", PASSWORD, "machines")["project"]["id"]
    image = api.call("POST", f"{at('glance')}/v2/images", {"name": "debian-12", "disk_format": "raw", "container_format": "bare",
                                                          "visibility": "private", "architecture": "x86_64"})[1]["id"]
    api.call("PUT", f"{at('glance')}/v2/images/{image}/file", raw=b"\0" * 512)
    facts = {"image_id": image, "project_id": project}
    for name, cidr in (("nodes", "10.0.0.0/16"), ("pods", "10.1.0.0/16"), ("full", "10.2.0.0/30")):
        network = api.call("POST", f"{at('neutron')}/v2.0/networks", {"network": {"name": name}})[1]["network"]["id"]
        subnet = api.call("POST", f"{at('neutron')}/v2.0/subnets", {"subnet": {
            "name": name, "network_id": network, "ip_version": 4, "cidr": cidr, "gateway_ip": None if name == "full" else cidr[:-4] + "1"}})[1]["subnet"]["id"]
        facts.update({f"{name}_network_id": network, f"{name}_subnet_id": subnet})
    # Takes all addresses of the small subnet.
    for _ in range(2):
        api.call("POST", f"{at('neutron')}/v2.0/ports", {"port": {"network_id": facts["full_network_id"], "name": "taken"}})
    api.call("POST", f"{at('neutron')}/v2.0/security-groups", {"security_group": {"name": "nodes"}})
    api.call("POST", f"{at('nova')}/v2.1/os-keypairs", {"keypair": {"name": "nodes", "public_key": PUBLIC_KEY}})
    facts["server_group_id"] = api.call("POST", f"{at('nova')}/v2.1/os-server-groups", {"server_group": {
        "name": "nodes", "policies": ["soft-anti-affinity"]}}, {"X-OpenStack-Nova-API-Version": "2.15"})[1]["server_group"]["id"]
    user = api.call("GET", f"{api.keystone}/auth/tokens", headers={"X-Subject-Token": api.token})[1]["token"]["user"]["id"]
    made = api.call("POST", f"{api.keystone}/users/{user}/application_credentials", {"application_credential": {
        "name": "driver", "roles": [{"name": "member"}]}})[1]["application_credential"]
    facts.update({"application_credential_id": made["id"], "application_credential_secret": made["secret"]})
    return facts
