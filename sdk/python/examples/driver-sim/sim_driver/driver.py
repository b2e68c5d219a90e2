"""The calls of the host."""


from machinist_sdk.driver import About, Capabilities, Class, Driver, Failure, Host, NodeResources, Page, Request, Vm, not_found
from machinist_sdk.text import quoted
from sim_driver import names, spec
from sim_driver.cloud import Cloud
from sim_driver.endpoint import Endpoint
from sim_driver.machines import Machines

# The name of the driver, and the only provider that it serves.
NAME = "sim"
VERSION = "0.1.0"
# How long after a create reads of the cloud may not show the VM.
CONSISTENCY_WINDOW_MS = 10_000


class SimDriver(Driver):
    """The driver of the simulated cloud. It has all capabilities of the contract."""

    def describe(self, host: Host) -> About:
        return About(
            name=NAME,
            version=VERSION,
            providers=[NAME],
            class_schema=spec.SCHEMA,
            capabilities=Capabilities.STATUS
            | Capabilities.INITIALIZE
            | Capabilities.LISTING
            | Capabilities.VOLUME_IDS
            | Capabilities.IDEMPOTENCY_KEY,
            consistency_window_ms=CONSISTENCY_WINDOW_MS,
            hosts=_wished_hosts(host),
        )

    def validate_class(self, class_: Class, host: Host) -> list[str]:
        return spec.read(class_).warnings

    def create(self, request: Request, host: Host) -> Vm:
        return _machines(host).create(request)

    def initialize(self, request: Request, host: Host) -> Vm:
        return _machines(host).initialize(request)

    def delete(self, request: Request, host: Host) -> None:
        _machines(host).delete(request)

    def get_status(self, request: Request, host: Host) -> Vm:
        return _machines(host).get_status(request)

    def list_machines(self, class_: Class, cluster: str, token: str | None, host: Host) -> Page:
        return _machines(host).list(cluster, token)

    def get_volume_ids(self, volume_specs: list[str], host: Host) -> list[str | None]:
        return [names.volume_id(volume_spec, index) for index, volume_spec in enumerate(volume_specs)]

    def reboot(self, request: Request, host: Host) -> None:
        _machines(host).reboot(request)

    def node_id(self, request: Request, vm: Vm, host: Host) -> str:
        # The kubelets of this cloud register with the driver's own ids.
        return vm.provider_id

    def place(self, class_: Class, failure_domain: str, host: Host) -> str:
        return spec.placed(class_, failure_domain)

    def is_interruptible(self, class_: Class, host: Host) -> bool:
        return spec.read(class_).spec.interruptible

    def node_capacity(self, class_: Class, host: Host) -> NodeResources:
        kind = spec.read(class_).spec.kind
        size = Cloud.open(host).size(kind)
        if size is None:
            raise not_found(f"the cloud has no type {quoted(kind)}")
        return names.resources(size)


def _machines(host: Host) -> Machines:
    return Machines(Cloud.open(host), host)


def _wished_hosts(host: Host) -> list[str]:
    try:
        return [Endpoint.of_settings(host.settings).host]
    except Failure:
        return []
