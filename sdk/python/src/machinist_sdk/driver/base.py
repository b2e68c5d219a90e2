"""The class that the author of a driver extends."""

from abc import ABC, abstractmethod

from machinist_sdk.driver.failure import unimplemented
from machinist_sdk.driver.host import Host
from machinist_sdk.driver.types import About, Class, NodeResources, Page, Progress, Request, Vm


class Driver(ABC):
    """A driver of a cloud. The SDK creates it for each call without arguments, so nothing survives a call.

    A call fails by raising `Failure`. Any other exception becomes the code `internal` with the exception's text.
    `describe`, `validate_class`, `get_volume_ids`, `node_id`, `place` and `is_interruptible` have neither secrets nor
    network. `wit/provider` and the generated `machinist_provider.exports.Driver` describe the promises of each call.
    """

    @abstractmethod
    def describe(self, host: Host) -> About:
        """Describes the driver. Must not fail."""

    @abstractmethod
    def validate_class(self, class_: Class, host: Host) -> list[str]:
        """Checks a class and returns warnings. Must accept every class that `create` accepts."""

    @abstractmethod
    def create(self, request: Request, host: Host) -> Vm | Progress:
        """Creates the machine, or finds the one that an earlier call with this idempotency key created."""

    def initialize(self, request: Request, host: Host) -> Vm:
        """Does the missing steps after creation, and nothing if none is missing."""
        raise unimplemented("initialize")

    @abstractmethod
    def delete(self, request: Request, host: Host) -> Progress | str | None:
        """Removes the machine and everything created with it. If nothing exists, that is success.

        A text is the machine's last known state, which the host stores.
        """

    def get_status(self, request: Request, host: Host) -> Vm:
        """Returns the state of the machine. Changes nothing."""
        raise unimplemented("get-status")

    def list_machines(self, class_: Class, cluster: str, token: str | None, host: Host) -> Page:
        """Returns one page of the machines with the cluster's mark in this class's account and place."""
        raise unimplemented("list")

    def get_volume_ids(self, volume_specs: list[str], host: Host) -> list[str | None]:
        """Returns the cloud's ids of these PersistentVolume specs (JSON each), `None` for volumes of another kind."""
        raise unimplemented("get-volume-ids")

    def reboot(self, request: Request, host: Host) -> None:
        """Restarts the machine. Optional: only a driver with this method offers it to the host."""
        raise unimplemented("reboot")


    def node_id(self, request: Request, vm: Vm, host: Host) -> str:
        """Returns the id that the cloud controller manager gives to the Node of this VM. Optional, for Cluster API."""
        raise unimplemented("node-id")

    def place(self, class_: Class, failure_domain: str, host: Host) -> str:
        """Returns the `providerSpec` (JSON) that creates VMs of this class in this failure domain and nowhere else.
        Optional, for Cluster API."""
        raise unimplemented("placement")

    def is_interruptible(self, class_: Class, host: Host) -> bool:
        """Returns whether the cloud may take a VM of this class away at any time: spot, preemptible. False if the class
        does not say so. Optional, for Cluster API."""
        raise unimplemented("interruption")

    def node_capacity(self, class_: Class, host: Host) -> NodeResources:
        """Returns the resources of a Node of this class. Optional, for Cluster API."""
        raise unimplemented("capacity")


# The optional interfaces: the package and the interface of the contract, the method, and the name of the export.
OPTIONAL = (
    ("provider", "reboot", "reboot", "Reboot"),
    ("node-id", "node-id", "node_id", "NodeId"),
    ("placement", "placement", "place", "Placement"),
    ("interruption", "interruption", "is_interruptible", "Interruption"),
    ("capacity", "capacity", "node_capacity", "Capacity"),
)


def offered(driver: type[Driver]) -> tuple[tuple[str, str, str, str], ...]:
    """Returns the optional interfaces whose method the driver has itself."""
    return tuple(entry for entry in OPTIONAL if getattr(driver, entry[2]) is not getattr(Driver, entry[2]))
