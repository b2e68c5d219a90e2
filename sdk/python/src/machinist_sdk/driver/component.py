"""The exports of a driver's component. `python -m machinist_sdk.build` writes the module that calls `exports`."""

from collections.abc import Callable
from typing import Any, TypeVar

from componentize_py_types import Err
from machinist_provider.imports import machinist_provider_types as contract
from machinist_sdk.driver.base import Driver
from machinist_sdk.driver.calls import Calls
from machinist_sdk.driver.failure import Failure
from machinist_sdk.driver.wasi import WasiHost

Answer = TypeVar("Answer")


def exports(driver: type[Driver]) -> dict[str, type]:
    """Returns the classes that worlds require, by name."""
    node_resources = _node_resources()
    calls = Calls(driver, lambda _: WasiHost())

    class Exported:
        def describe(self) -> contract.About:
            return calls.describe()

        def validate_class(self, class_: contract.Class) -> Any:
            return _answer(calls.validate_class, class_)

        def create(self, request: contract.Request) -> contract.Creation:
            created = _answer(calls.create, request)
            if isinstance(created, contract.Progress):
                return contract.Creation_InProgress(created)
            return contract.Creation_Created(created)

        def initialize(self, request: contract.Request) -> contract.Vm:
            return _answer(calls.initialize, request)

        def delete(self, request: contract.Request) -> contract.Deletion:
            deleted = _answer(calls.delete, request)
            if isinstance(deleted, contract.Progress):
                return contract.Deletion_InProgress(deleted)
            return contract.Deletion_Deleted(deleted)

        def get_status(self, request: contract.Request) -> contract.Vm:
            return _answer(calls.get_status, request)

        def list(self, class_: contract.Class, cluster: str, token: str | None) -> contract.Page:
            return _answer(calls.list_machines, class_, cluster, token)

        def get_volume_ids(self, volume_specs: Any) -> Any:
            return _answer(calls.get_volume_ids, volume_specs)

    class ExportedReboot:
        def reboot(self, request: contract.Request) -> None:
            _answer(calls.reboot, request)

    class ExportedNodeId:
        def node_id(self, request: contract.Request, vm: contract.Vm) -> str:
            return _answer(calls.node_id, request, vm)

    class ExportedPlacement:
        def place(self, class_: contract.Class, failure_domain: str) -> str:
            return _answer(calls.place, class_, failure_domain)

    class ExportedInterruption:
        def is_interruptible(self, class_: contract.Class) -> bool:
            return _answer(calls.is_interruptible, class_)

    class ExportedCapacity:
        def node_capacity(self, class_: contract.Class) -> Any:
            found = _answer(calls.node_capacity, class_)
            return node_resources(found.resources, found.architecture, found.operating_system)

    return {
        "Driver": Exported,
        "Reboot": ExportedReboot,
        "NodeId": ExportedNodeId,
        "Placement": ExportedPlacement,
        "Interruption": ExportedInterruption,
        "Capacity": ExportedCapacity,
    }


def _node_resources() -> Any:
    """Returns the generated type, which exists only in a component that exports `capacity`. Later there are no files."""
    try:
        from machinist_provider.exports import capacity
    except ImportError:
        return None
    return capacity.NodeResources


def _answer(call: Callable[..., Answer], *arguments: Any) -> Answer:
    try:
        return call(*arguments)
    except Failure as failure:
        raise Err(failure.record()) from failure
