"""Configuration files of the services."""
import base64
import os
import secrets
import shutil
import sys

# Each service answers below a path of this name, directly at its own port and through the proxy alike.
PATHS = {"keystone": "/identity", "placement": "/placement", "glance": "/image", "neutron": "/network",
         "cinder": "/volume", "nova": "/compute"}
SERVICES = list(PATHS)
COMPUTE_HOST = "compute-1"
PASSWORD = "only-for-tests"
PREFIX = sys.prefix
REGION = "RegionOne"


def base(ports, service):
    """Returns the address of a service at its own port."""
    return f"http://127.0.0.1:{ports[service]}{PATHS[service]}"


def database(state, name):
    return f"sqlite:///{state}/db/{name}.sqlite"


def authtoken(ports, user):
    return f"""
www_authenticate_uri = {base(ports, 'keystone')}/v3
auth_url = {base(ports, 'keystone')}/v3
auth_type = password
username = {user}
password = {PASSWORD}
user_domain_id = default
project_domain_id = default
project_name = service
region_name = {REGION}
service_token_roles_required = true
"""


def configure(state, ports):
    """Writes the configuration files; the databases do not depend on the ports, but the catalog does."""
    etc = f"{state}/etc"
    for service in SERVICES:
        os.makedirs(f"{etc}/{service}", exist_ok=True)
        os.makedirs(f"{state}/{service}", exist_ok=True)
    # Nova takes this file for a configuration file too, and looks for it beside its own.
    shutil.copy(f"{PREFIX}/etc/nova/api-paste.ini", f"{etc}/nova/api-paste.ini")
    common = f"[DEFAULT]\nlog_file = {state}/log/%s.log\nuse_stderr = false\n%s\n[oslo_concurrency]\nlock_path = {state}/locks\n"

    def write(service, name, text, extra=""):
        with open(f"{etc}/{service}/{name}", "w") as file:
            file.write(common % (service, extra) + text)

    write("keystone", "keystone.conf", f"""
[database]
connection = {database(state, 'keystone')}
[token]
provider = fernet
expiration = {os.environ.get('OPENSTACK_TOKEN_SECONDS', '3600')}
[fernet_tokens]
key_repository = {state}/keystone/fernet
[fernet_receipts]
key_repository = {state}/keystone/fernet
[credential]
key_repository = {state}/keystone/credential
[identity]
password_hash_rounds = 4
""")
    write("placement", "placement.conf", f"""
[placement_database]
connection = {database(state, 'placement')}
[api]
auth_strategy = keystone
[keystone_authtoken]{authtoken(ports, 'placement')}
""")
    write("glance", "glance-api.conf", f"""
[database]
connection = {database(state, 'glance')}
[glance_store]
default_backend = files
[files]
filesystem_store_datadir = {state}/glance/images
[os_glance_staging_store]
filesystem_store_datadir = {state}/glance/staging
[os_glance_tasks_store]
filesystem_store_datadir = {state}/glance/tasks
[paste_deploy]
flavor = keystone
config_file = {PREFIX}/etc/glance/glance-api-paste.ini
[keystone_authtoken]{authtoken(ports, 'glance')}
""", extra="enabled_backends = files:file")
    write("neutron", "neutron.conf", f"""
[database]
connection = {database(state, 'neutron')}
[keystone_authtoken]{authtoken(ports, 'neutron')}
[nova]{authtoken(ports, 'nova')}
[placement]{authtoken(ports, 'placement')}
[quotas]
quota_network = -1
quota_subnet = -1
quota_port = -1
quota_security_group = -1
quota_security_group_rule = -1
[ml2]
type_drivers = vxlan
tenant_network_types = vxlan
mechanism_drivers = openvswitch
extension_drivers = port_security
[ml2_type_vxlan]
vni_ranges = 1:10000
""", extra=f"""transport_url = fake:///
auth_strategy = keystone
core_plugin = ml2
service_plugins =
api_paste_config = {PREFIX}/etc/neutron/api-paste.ini
state_path = {state}/neutron
dhcp_agent_notification = false
agent_down_time = 2000000
notify_nova_on_port_status_changes = false
notify_nova_on_port_data_changes = false
rpc_workers = 0
rpc_state_report_workers = 0
""")
    write("cinder", "cinder.conf", f"""
[database]
connection = {database(state, 'cinder')}
[keystone_authtoken]{authtoken(ports, 'cinder')}
[nova]{authtoken(ports, 'nova')}
[fake]
volume_driver = volumes.Driver
volume_backend_name = fake
[coordination]
backend_url = file://{state}/cinder/coordination
[key_manager]
backend = castellan.key_manager.not_implemented_key_manager.NotImplementedKeyManager
""", extra=f"""transport_url = fake:///
host = {COMPUTE_HOST}
auth_strategy = keystone
enabled_backends = fake
default_volume_type = __DEFAULT__
glance_api_servers = {base(ports, 'glance')}
state_path = {state}/cinder
api_paste_config = {PREFIX}/etc/cinder/api-paste.ini
resource_query_filters_file = {PREFIX}/etc/cinder/resource_filters.json
quota_volumes = -1
scheduler_driver_init_wait_time = 1
quota_gigabytes = -1
""")
    write("nova", "nova.conf", f"""
[api]
auth_strategy = keystone
[api_database]
connection = {database(state, 'nova_api')}
[database]
connection = {database(state, 'nova')}
[keystone_authtoken]{authtoken(ports, 'nova')}
[service_user]
send_service_user_token = true{authtoken(ports, 'nova')}
[placement]{authtoken(ports, 'placement')}
[glance]
endpoint_override = {base(ports, 'glance')}{authtoken(ports, 'glance')}
[neutron]{authtoken(ports, 'neutron')}
[cinder]{authtoken(ports, 'cinder')}catalog_info = block-storage::internalURL
[quota]
instances = -1
cores = -1
ram = -1
server_groups = -1
server_group_members = -1
key_pairs = -1
[scheduler]
workers = 1
[conductor]
workers = 1
[key_manager]
backend = castellan.key_manager.not_implemented_key_manager.NotImplementedKeyManager
[wsgi]
api_paste_config = {PREFIX}/etc/nova/api-paste.ini
""", extra=f"""transport_url = fake:///
host = {COMPUTE_HOST}
compute_driver = {os.environ.get('OPENSTACK_COMPUTE_DRIVER', 'fake.FakeDriver')}
state_path = {state}/nova
instances_path = {state}/nova/instances
instance_usage_audit = false
heal_instance_info_cache_interval = 0
sync_power_state_interval = -1
concurrency_backend = threading
initial_cpu_allocation_ratio = 16.0
""")


def environment(state):
    env = dict(os.environ)
    env.update({
        "OPENSTACK_STATE": state,
        "OS_KEYSTONE_CONFIG_DIR": f"{state}/etc/keystone",
        "OS_PLACEMENT_CONFIG_DIR": f"{state}/etc/placement",
        "OS_GLANCE_CONFIG_DIR": f"{state}/etc/glance",
        "OS_NEUTRON_CONFIG_DIR": f"{state}/etc/neutron",
        "OS_NEUTRON_CONFIG_FILES": "neutron.conf",
        "OS_NOVA_CONFIG_DIR": f"{state}/etc/nova",
        "OS_NOVA_DISABLE_EVENTLET_PATCHING": "true",
        "OS_CINDER_DISABLE_EVENTLET_PATCHING": "true",
        "PYTHONWARNINGS": "ignore",
    })
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        env.pop(name, None)
    return env


def keys(state):
    """Keys for tokens, as `keystone-manage fernet_setup` makes them."""
    for name in ("fernet", "credential"):
        folder = f"{state}/keystone/{name}"
        os.makedirs(folder, mode=0o700, exist_ok=True)
        for index in ("0", "1"):
            with open(f"{folder}/{index}", "wb") as file:
                file.write(base64.urlsafe_b64encode(secrets.token_bytes(32)))
            os.chmod(f"{folder}/{index}", 0o600)
