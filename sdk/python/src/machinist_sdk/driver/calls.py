"""The calls of the host, as an author's driver answers them: the same in a component and in a native test.

Every mistake in the author's code becomes a `Failure`, so no mistake ends in a trap.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from machinist_provider.imports import machinist_provider_types as contract
from machinist_sdk.blame import blame
from machinist_sdk.driver.attempt import Attempt
from machinist_sdk.driver.base import Driver
from machinist_sdk.driver.failure import Failure
from machinist_sdk.driver.host import Host, OfflineHost
from machinist_sdk.driver.no_answer import NoAnswer
from machinist_sdk.driver.types import Code, NodeResources, Vm
from machinist_sdk.shape import Misshapen, check

# These calls change the cloud: if one breaks, it may have happened.
_CHANGES = frozenset({"create", "initialize", "delete", "reboot"})

Answer = TypeVar("Answer")


class Calls:
    """A driver, and a function that opens the host for each call by the call's name."""

    def __init__(self, driver: Callable[[], Driver], open_host: Callable[[str], Host]) -> None:
        self._driver = driver
        self._open_host = open_host

    def describe(self) -> contract.About:
        host = OfflineHost(self._open_host("describe"), "describe")
        about = self._driver().describe(host)
        check(about, contract.About, "describe's answer")
        return about

    def validate_class(self, class_: contract.Class) -> list[str]:
        return self._offline("validate_class", list[str], lambda driver, host: driver.validate_class(class_, host))

    def create(self, request: contract.Request) -> contract.Vm | contract.Progress:
        shape = contract.Vm | contract.Progress
        return self._online("create", shape, lambda driver, host: driver.create(request, host))

    def initialize(self, request: contract.Request) -> contract.Vm:
        return self._online("initialize", contract.Vm, lambda driver, host: driver.initialize(request, host))

    def delete(self, request: contract.Request) -> contract.Progress | str | None:
        return self._online("delete", _Gone, lambda driver, host: driver.delete(request, host))

    def get_status(self, request: contract.Request) -> contract.Vm:
        return self._online("get_status", contract.Vm, lambda driver, host: driver.get_status(request, host))

    def list_machines(self, class_: contract.Class, cluster: str, token: str | None) -> contract.Page:
        return self._online("list_machines", contract.Page, lambda driver, host: driver.list_machines(class_, cluster, token, host))

    def get_volume_ids(self, volume_specs: list[str]) -> list[str | None]:
        ids = self._offline(
            "get_volume_ids", list[str | None], lambda driver, host: driver.get_volume_ids(volume_specs, host)
        )
        if len(ids) != len(volume_specs):
            message = f"get_volume_ids must answer one entry for each of {len(volume_specs)} specs, got {len(ids)}"
            raise Failure(Code.INTERNAL, message)
        return ids

    def reboot(self, request: contract.Request) -> None:
        self._online("reboot", None, lambda driver, host: driver.reboot(request, host))

    def node_id(self, request: contract.Request, vm: contract.Vm) -> str:
        return self._offline("node_id", str, lambda driver, host: driver.node_id(request, _as_author(vm), host))

    def place(self, class_: contract.Class, failure_domain: str) -> str:
        return self._offline("place", str, lambda driver, host: driver.place(class_, failure_domain, host))

    def is_interruptible(self, class_: contract.Class) -> bool:
        return self._offline("is_interruptible", bool, lambda driver, host: driver.is_interruptible(class_, host))

    def node_capacity(self, class_: contract.Class) -> NodeResources:
        return self._online("node_capacity", NodeResources, lambda driver, host: driver.node_capacity(class_, host))

    def _offline(self, call: str, shape: Any, answer: Callable[[Driver, Host], Answer]) -> Answer:
        return self._answer(call, OfflineHost(self._open_host(call), call), shape, answer)

    def _online(self, call: str, shape: Any, answer: Callable[[Driver, Host], Answer]) -> Answer:
        return self._answer(call, self._open_host(call), shape, answer)

    def _answer(self, call: str, host: Host, shape: Any, answer: Callable[[Driver, Host], Answer]) -> Answer:
        changes = call in _CHANGES
        try:
            given = answer(self._driver(), host)
            _check(given, shape, call)
            return given
        except Failure as failure:
            raise _sound(failure, call, changes) from failure.__cause__
        except NoAnswer as error:
            raise Attempt(call.replace("_", " "), error.host, changes).no_answer(error) from error
        except Misshapen as error:
            raise Failure(Code.INTERNAL, str(error), may_have_happened=changes) from error
        except BaseException as error:  # Also `SystemExit`: no exception of the author ends in a trap.
            message = f"{call} broke: {blame(error)}"
            host.log.error("the driver raised an exception", call=call, exception=blame(error))
            raise Failure(Code.INTERNAL, message, may_have_happened=changes) from error


def _as_author(vm: contract.Vm) -> Vm:
    return Vm(**vars(vm))


# Marks the shape of `delete`'s answer, which has two kinds of its own beside `None`.
_Gone = object()


def _check(given: Any, shape: Any, call: str) -> None:
    at = f"{call}'s answer"
    if shape is not _Gone:
        check(given, shape, at)
    elif isinstance(given, str):
        check(given, str, at)
    else:
        check(given, contract.Progress | None, at)


def _sound(failure: Failure, call: str, changes: bool) -> Failure:
    """Returns the failure, or another one if the contract cannot represent it."""
    try:
        check(failure.record(), contract.DriverError, f"the Failure of {call}")
    except Misshapen as error:
        return Failure(Code.INTERNAL, str(error), may_have_happened=changes)
    return failure
