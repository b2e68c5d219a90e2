"""The contract's types: the generated ones, with defaults for optional fields."""

from dataclasses import dataclass, field

from machinist_provider.imports import machinist_provider_types as contract
from machinist_provider.imports.machinist_provider_types import (
    Address,
    Capabilities,
    Class,
    Code,
    Condition,
    Machine,
    Progress,
    Request,
    VmState,
)

__all__ = [
    "About",
    "Address",
    "Capabilities",
    "Class",
    "Code",
    "Condition",
    "Listed",
    "Machine",
    "NodeResources",
    "Page",
    "Progress",
    "Request",
    "Vm",
    "VmState",
]

_NONE = Capabilities(0)


@dataclass
class NodeResources:
    """The resources of a Node: pairs of a resource and its Kubernetes quantity, at least `cpu` and `memory`.

    The generated type exists only in components that export `capacity`.
    """

    resources: list[tuple[str, str]]
    architecture: str | None = None
    operating_system: str | None = None


@dataclass
class Vm(contract.Vm):
    """A machine as the cloud shows it."""

    addresses: list[Address] = field(default_factory=list)
    failure_domain: str | None = None
    conditions: list[Condition] = field(default_factory=list)
    last_known_state: str | None = None


@dataclass
class Listed(contract.Listed):
    """A machine in a listing. The name is empty if the machine has no such tag."""

    machine_name: str = ""
    machine_uid: str | None = None
    created_at_ms: int | None = None


@dataclass
class Page(contract.Page):
    """A page of a listing. If `next` is set, there are more."""

    machines: list[contract.Listed] = field(default_factory=list)
    next: str | None = None


@dataclass
class About(contract.About):
    """A driver's description of itself."""

    class_schema: str | None = None
    capabilities: Capabilities = _NONE
    consistency_window_ms: int = 0
    hosts: list[str] = field(default_factory=list)
