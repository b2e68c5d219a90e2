"""The class that the author of a driver extends."""

from abc import ABC, abstractmethod

from machinist_sdk.driver.failure import unimplemented
from machinist_sdk.driver.host import Host
from machinist_sdk.driver.types import About, Class, Page, Progress, Request, Vm


class Driver(ABC):
    """A driver of a cloud. The SDK creates it for each call without arguments, so nothing survives a call.

    A call fails by raising `Failure`. Any other exception becomes the code `internal` with the exception's text.
    `describe`, `validate_class` and `get_volume_ids` have neither secrets nor network. `wit/provider` and the generated
    `machinist_provider.exports.Driver` describe the promises of each call.
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


def can_reboot(driver: type[Driver]) -> bool:
    """True if the driver has a `reboot` of its own."""
    return driver.reboot is not Driver.reboot
