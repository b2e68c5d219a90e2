"""What an author implements."""

from abc import ABC, abstractmethod

from machinist_sdk.driver.failure import unimplemented
from machinist_sdk.driver.host import Host
from machinist_sdk.driver.types import About, Class, Page, Progress, Request, Vm


class Driver(ABC):
    """A driver of a cloud. Made anew for each call without arguments, so nothing is remembered between calls.

    A call fails by raising `Failure`. Any other exception becomes the code `internal` with the exception's text. `describe`,
    `validate_class` and `get_volume_ids` have neither secrets nor network. What the contract promises of each call stands in
    `wit/provider`, and in the generated `machinist_provider.exports.Driver`.
    """

    @abstractmethod
    def describe(self, host: Host) -> About:
        """Who this is. Must not fail."""

    @abstractmethod
    def validate_class(self, class_: Class, host: Host) -> list[str]:
        """Checks a class; the answer is warnings. Must accept every class that `create` accepts."""

    @abstractmethod
    def create(self, request: Request, host: Host) -> Vm | Progress:
        """Makes the machine, or finds the one that an earlier call with this idempotency key made."""

    def initialize(self, request: Request, host: Host) -> Vm:
        """Does what is to be done after creation, and nothing when it is done already."""
        raise unimplemented("initialize")

    @abstractmethod
    def delete(self, request: Request, host: Host) -> Progress | str | None:
        """Removes the machine and all that was made with it. One that is not there is success.

        A text is the machine's last known state, which the host stores.
        """

    def get_status(self, request: Request, host: Host) -> Vm:
        """How the machine is. Changes nothing."""
        raise unimplemented("get-status")

    def list_machines(self, class_: Class, cluster: str, token: str | None, host: Host) -> Page:
        """One page of the machines of this class's account and place that carry the cluster's mark."""
        raise unimplemented("list")

    def get_volume_ids(self, volume_specs: list[str], host: Host) -> list[str | None]:
        """The cloud's ids of these PersistentVolume specs (JSON each), `None` for volumes of another kind."""
        raise unimplemented("get-volume-ids")

    def reboot(self, request: Request, host: Host) -> None:
        """Starts the machine anew. Optional: only a driver that has this method offers it to the host."""
        raise unimplemented("reboot")


def can_reboot(driver: type[Driver]) -> bool:
    """Whether the driver has a `reboot` of its own."""
    return driver.reboot is not Driver.reboot
