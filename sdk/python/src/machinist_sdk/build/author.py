"""Inspects the author's class natively: mistakes show here in a second, and not as a trap of the component."""

import importlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from machinist_sdk.blame import blame
from machinist_sdk.build import BuildError
from machinist_sdk.driver import Capabilities, Driver
from machinist_sdk.driver.base import offered
from machinist_sdk.policy import Policy
from machinist_sdk.testing.driver import MockHost as DriverHost
from machinist_sdk.testing.policy import MockHost as PolicyHost
from machinist_sdk.text import NotJson, read_json

_METHODS = {
    Capabilities.STATUS: "get_status",
    Capabilities.INITIALIZE: "initialize",
    Capabilities.LISTING: "list_machines",
    Capabilities.VOLUME_IDS: "get_volume_ids",
}


@dataclass(frozen=True)
class World:
    """A world of the contract, and its generated Python module."""

    name: str
    module: str
    # The part of this package that the component contains, and the names that the world requires.
    part: str
    exports: tuple[str, ...]
    # The optional interfaces of a driver: package and interface.
    optional: tuple[tuple[str, str], ...] = ()


def driver_world(optional: Sequence[tuple[str, str, str, str]]) -> World:
    """Returns the world of a driver with these optional interfaces, as `machinist_sdk.driver.base` has them."""
    names = ("Driver", *(export for _, _, _, export in optional))
    return World("driver", "machinist_provider", "driver", names, tuple((package, name) for package, name, _, _ in optional))


POLICY = World("health-policy", "machinist_policy", "policy", ("Policy",))


@dataclass(frozen=True)
class Author:
    """A class that can become a component."""

    module: str
    name: str
    world: World


def load(what: str, paths: Sequence[Path]) -> Author:
    """Finds the class by `MODULE:CLASS`, and calls `describe`. Raises `BuildError`."""
    module, colon, name = what.partition(":")
    if not colon or not name.isidentifier() or not all(part.isidentifier() for part in module.split(".")):
        raise BuildError(f"{what!r} is not MODULE:CLASS, such as my_driver:MyDriver")
    found = getattr(_imported(module, paths), name, None)
    if not isinstance(found, type) or not issubclass(found, (Driver, Policy)) or found in (Driver, Policy):
        raise BuildError(
            f"{what} is no driver and no policy: it must be a class that extends machinist_sdk.driver.Driver or "
            "machinist_sdk.policy.Policy"
        )
    missing = sorted(getattr(found, "__abstractmethods__", ()))
    if missing:
        raise BuildError(f"{name} lacks {', '.join(missing)}: write these methods")
    if issubclass(found, Policy):
        _check_policy(found)
        return Author(module, name, POLICY)
    _check_driver(found)
    return Author(module, name, driver_world(offered(found)))


def _imported(module: str, paths: Sequence[Path]) -> Any:
    for path in paths:
        if not path.is_dir():
            raise BuildError(f"there is no folder {path}: correct --path")
    sys.path[:0] = [str(path) for path in paths]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        where = ", ".join(str(path) for path in paths)
        raise BuildError(f"there is no module {error.name} in {where}: name its folder with --path") from error
    except BaseException as error:  # A module can raise anything when it is imported.
        raise BuildError(f"failed to import {module}: {blame(error)}") from error


def _check_driver(driver: type[Driver]) -> None:
    about = _described(driver, DriverHost().driver(driver))
    if not about.providers:
        raise BuildError(f"{driver.__name__} serves no provider: name one in providers of describe's answer")
    _check_schema(driver, "class_schema", about.class_schema)
    for capability, method in _METHODS.items():
        if capability in about.capabilities and getattr(driver, method) is getattr(Driver, method):
            raise BuildError(f"describe says {capability.name}, and {driver.__name__} has no {method}: write it, or do not say so")


def _check_policy(policy: type[Policy]) -> None:
    about = _described(policy, PolicyHost().policy(policy))
    _check_schema(policy, "settings_schema", about.settings_schema)


def _described(author: type, calls: Any) -> Any:
    try:
        about = calls.describe()
    except BaseException as error:  # `describe` cannot return an error to the host.
        raise BuildError(f"describe of {author.__name__} must not fail: {blame(error)}") from error
    if not about.name:
        raise BuildError(f"{author.__name__} has no name: give one in describe's answer")
    return about


def _check_schema(author: type, field: str, schema: str | None) -> None:
    try:
        read = {} if schema is None else read_json(schema)
    except NotJson as error:
        raise BuildError(f"{field} of {author.__name__} is {error}") from error
    if not isinstance(read, dict):
        raise BuildError(f"{field} of {author.__name__} must be a JSON object")
