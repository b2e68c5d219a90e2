"""From the cloud's objects to the contract's types."""

import re
from datetime import datetime

from machinist_sdk.driver import Address, Code, Failure, Listed, NodeResources, Vm, VmState
from machinist_sdk.text import NotJson, read_json
from sim_driver.answer import NAME_TAG, UID_TAG, SimVm, Size

# The CSI driver of the cloud's volumes.
CSI_DRIVER = "sim.csi.machinist.dev"

_PREFIX = "sim:///"
_STATES = {
    "pending": VmState.PENDING,
    "running": VmState.RUNNING,
    "stopping": VmState.STOPPING,
    "terminated": VmState.STOPPED,
}
_EPOCH = datetime(1970, 1, 1)
_TIME = re.compile(r"(?P<seconds>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.(?P<fraction>\d+))?Z", re.ASCII)


def provider_id(vm: SimVm) -> str:
    """Returns `sim:///ZONE/ID`, with which Nodes register."""
    return f"{_PREFIX}{vm.zone}/{vm.id}"


def parts(provider_id: str | None) -> tuple[str, str] | None:
    """Returns zone and id of a provider id; `None` if it is not one of this cloud."""
    if provider_id is None or not provider_id.startswith(_PREFIX):
        return None
    zone, _, id = provider_id.removeprefix(_PREFIX).partition("/")
    return (zone, id) if zone and id and "/" not in id else None


def vm(vm: SimVm) -> Vm:
    """Converts a VM. Its Node registers under its name."""
    return Vm(
        provider_id=provider_id(vm),
        node_name=vm.name,
        state=_STATES.get(vm.state, VmState.UNKNOWN),
        addresses=[Address(kind, address) for kind, address in vm.addresses],
        failure_domain=vm.zone,
    )


def resources(size: Size) -> NodeResources:
    """Converts the size of a type into the resources of its Nodes."""
    pairs = [("cpu", str(size.cpus)), ("memory", f"{size.memory_gib}Gi")]
    if size.gpus > 0:
        pairs.append(("nvidia.com/gpu", str(size.gpus)))
    return NodeResources(pairs, architecture="amd64", operating_system="linux")


def listed(vm: SimVm) -> Listed:
    """Converts a VM of a listing."""
    return Listed(
        provider_id=provider_id(vm),
        machine_name=vm.tag(NAME_TAG) or "",
        machine_uid=vm.tag(UID_TAG),
        created_at_ms=None if vm.created is None else milliseconds(vm.created),
    )


def volume_id(spec: str, index: int) -> str | None:
    """Returns the volume handle of a PersistentVolume's spec; `None` if it is of another kind."""
    try:
        value = read_json(spec)
    except NotJson:
        raise Failure(Code.INVALID_ARGUMENT, f"failed to read volume spec {index}: it is not JSON") from None
    csi = value.get("csi") if isinstance(value, dict) else None
    if not isinstance(csi, dict) or csi.get("driver") != CSI_DRIVER:
        return None
    handle = csi.get("volumeHandle")
    return handle if isinstance(handle, str) and handle else None


def milliseconds(text: str) -> int | None:
    """Parses an RFC 3339 time in UTC into milliseconds since 1970. `None` for anything else, and before 1970."""
    parts = _TIME.fullmatch(text)
    if parts is None:
        return None
    try:
        at = datetime.fromisoformat(parts["seconds"])
    except ValueError:
        return None
    # Only milliseconds of the fraction count.
    since = round((at - _EPOCH).total_seconds()) * 1_000 + int((parts["fraction"] or "").ljust(3, "0")[:3])
    return since if since >= 0 else None
