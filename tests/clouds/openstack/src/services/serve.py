"""Runs one service in this process.

The services differ from those of a cloud in a few parts: SQLite files are the databases; the parts of Nova, and those
of Cinder, share a process, so that oslo.messaging's transport in memory joins them; the agent of the compute host is
an entry in Neutron's database. """
import os
import sys
import threading

from config import COMPUTE_HOST, PATHS

# On a conflict of two requests Placement reads in a second transaction, for which SQLite would wait without an end.
THREADS = {"placement": 1}


def sqlite_for_many_threads():
    """Transactions say at once that they may write: SQLite lets those wait, and refuses those that find out late."""
    import sqlalchemy
    from sqlalchemy import event

    @event.listens_for(sqlalchemy.engine.Engine, "connect")
    def tune(connection, _record):
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=OFF")
        cursor.execute("PRAGMA busy_timeout=60000")
        cursor.close()

    @event.listens_for(sqlalchemy.engine.Engine, "before_cursor_execute", retval=True)
    def at_once(_connection, _cursor, statement, parameters, _context, _many):
        return ("BEGIN IMMEDIATE" if statement == "BEGIN" else statement), parameters


def serve(service):
    state = os.environ["OPENSTACK_STATE"]
    port = int(os.environ["OPENSTACK_PORT"])
    sqlite_for_many_threads()
    threading.Thread(target=end_with_parent, daemon=True).start()
    sys.argv = [service]
    if service == "keystone":
        from keystone.wsgi.api import application
    elif service == "placement":
        from placement.wsgi.api import application
    elif service == "glance":
        from glance.wsgi.api import application
    elif service == "neutron":
        from neutron.wsgi.api import application
        agent_of_compute_host()
    elif service == "cinder":
        application = cinder()
    elif service == "nova":
        application = nova()
    import waitress
    waitress.serve(application, host="127.0.0.1", port=port, threads=THREADS.get(service, 8),
                   clear_untrusted_proxy_headers=True, ident=None, url_prefix=PATHS[service],
                   channel_timeout=600)


def agent_of_compute_host():
    """Reports the agent for Open vSwitch on the compute host as that agent would."""
    from neutron_lib import context
    from neutron_lib.plugins import directory
    from oslo_utils import timeutils
    directory.get_plugin().create_or_update_agent(context.get_admin_context(), {
        "binary": "neutron-openvswitch-agent", "host": COMPUTE_HOST, "topic": "N/A", "agent_type": "Open vSwitch agent",
        "configurations": {"tunnel_types": ["vxlan"], "tunneling_ip": "127.0.0.1", "bridge_mappings": {}}, "start_flag": True},
        timeutils.utcnow())


def nova():
    """The API, and the three services behind it as threads of the same process."""
    from nova.wsgi.osapi_compute import application
    import os_brick
    import os_vif
    from oslo_service import opts as service_opts
    import nova.conf
    from nova import objects
    from nova import service
    from nova.compute import rpcapi as compute_rpc
    from nova.conductor import rpcapi as conductor_rpc
    from nova.scheduler import rpcapi as scheduler_rpc
    objects.register_all()
    service_opts.register_service_opts(nova.conf.CONF)
    os_brick.setup(nova.conf.CONF)
    os_vif.initialize()
    for binary, options in (
            ("nova-conductor", {"topic": conductor_rpc.RPC_TOPIC}),
            ("nova-scheduler", {"topic": scheduler_rpc.RPC_TOPIC}),
            ("nova-compute", {"topic": compute_rpc.RPC_TOPIC, "topic_alt": compute_rpc.RPC_TOPIC_ALT})):
        one = service.Service.create(binary=binary, **options)
        one.start()
        threads_of_services.append(one)
    # The scheduler would find the new host alone, but only after its random delay.
    from nova import context
    from nova.objects import host_mapping
    host_mapping.discover_hosts(context.get_admin_context())
    return application


def cinder():
    """Like Nova: the API, and the scheduler and a backend that keeps nothing as threads of the same process."""
    from cinder import monkey_patch
    monkey_patch.patch()
    sys.argv = ["cinder", "--config-file", os.environ["OPENSTACK_STATE"] + "/etc/cinder/cinder.conf"]
    # Registers options, which is refused once the application has read its arguments.
    from cinder.cmd import volume as _volume
    from cinder.wsgi.api import application
    import os_brick
    from oslo_config import cfg
    from cinder import service
    from cinder import objects
    objects.register_all()
    from cinder.common import constants
    os_brick.setup(cfg.CONF)
    for options in ({"binary": "cinder-scheduler"},
                    {"binary": constants.VOLUME_BINARY, "host": f"{COMPUTE_HOST}@fake", "service_name": "fake",
                     "coordination": True, "cluster": None}):
        one = service.Service.create(**options)
        one.start()
        threads_of_services.append(one)
    return application


# Held so that nobody collects them.
threads_of_services = []


def end_with_parent():
    while os.read(0, 4096):
        pass
    os._exit(0)


if __name__ == "__main__":
    serve(sys.argv[1])
