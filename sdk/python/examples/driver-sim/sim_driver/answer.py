"""The cloud's objects, with the fields that the driver needs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

# The tags of a VM: the cluster's name, the Machine's uid (the cloud counts duplicates by it), and the Machine's name.
CLUSTER_TAG = "cluster"
UID_TAG = "machine-uid"
NAME_TAG = "machine-name"

STOPPING = "stopping"
TERMINATED = "terminated"

Entry = TypeVar("Entry")


class NotOne(Exception):
    """The object lacks a required field."""


@dataclass(frozen=True)
class Size:
    """The size of a type of VMs."""

    cpus: int
    memory_gib: int
    gpus: int

    @staticmethod
    def of(kind: str, regions: Any) -> "Size | None":
        """Parses the size of a type from the list of all. `None`: there is no such type."""
        types = _object(_object(regions).get("types"))
        if kind not in types:
            return None
        size = _object(types[kind])
        numbers = [size.get("cpus"), size.get("memoryGib"), size.get("gpus", 0)]
        if any(type(number) is not int for number in numbers):
            raise NotOne
        return Size(*numbers)


@dataclass(frozen=True)
class SimVm:
    """A VM of the cloud's API."""

    id: str
    name: str
    # `pending`, `running`, `stopping` (was deleted), `terminated` (only its record is left), or another state.
    state: str
    zone: str
    # Pairs of kind and address.
    addresses: list[tuple[str, str]]
    tags: dict[str, Any]
    is_initialized: bool
    # The time as the cloud writes it.
    created: str | None

    @staticmethod
    def parse(value: Any) -> "SimVm":
        fields = _object(value)
        return SimVm(
            id=_text(fields, "id"),
            name=_text(fields, "name", may_be_empty=True),
            state=_text(fields, "state"),
            zone=_text(fields, "zone"),
            addresses=_addresses(fields.get("addresses")),
            tags=_tags(fields),
            is_initialized=fields.get("initialized") is not False,
            created=fields["created"] if isinstance(fields.get("created"), str) else None,
        )

    @property
    def exists(self) -> bool:
        """True until only its record is left."""
        return self.state != TERMINATED

    @property
    def is_going(self) -> bool:
        return self.state == STOPPING

    def tag(self, key: str) -> str | None:
        value = self.tags.get(key)
        return value if isinstance(value, str) else None

    def is_of(self, cluster: str) -> bool:
        """True if it has the cluster's mark."""
        return self.tag(CLUSTER_TAG) == cluster


@dataclass(frozen=True)
class SimVolume:
    """A volume of the cloud's API."""

    id: str
    is_attached: bool
    tags: dict[str, Any]

    @staticmethod
    def parse(value: Any) -> "SimVolume":
        fields = _object(value)
        return SimVolume(_text(fields, "id"), isinstance(fields.get("attachedTo"), str), _tags(fields))

    def is_of(self, cluster: str, uid: str) -> bool:
        """True if it has the marks of this machine of this cluster."""
        return self.tags.get(CLUSTER_TAG) == cluster and self.tags.get(UID_TAG) == uid


@dataclass(frozen=True)
class SimPage(Generic[Entry]):
    """One page of a listing."""

    entries: list[Entry]
    next: str | None

    @staticmethod
    def parse(value: Any, field: str, entry: Callable[[Any], Entry]) -> "SimPage[Entry]":
        """Parses a page. Raises for one invalid entry: an incomplete listing is worse than an error."""
        entries = _object(value).get(field)
        if not isinstance(entries, list):
            raise NotOne
        cursor = value.get("nextCursor")
        return SimPage([entry(one) for one in entries], cursor if isinstance(cursor, str) and cursor else None)


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise NotOne
    return value


def _text(fields: dict[str, Any], name: str, *, may_be_empty: bool = False) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not (value or may_be_empty):
        raise NotOne
    return value


def _tags(fields: dict[str, Any]) -> dict[str, Any]:
    tags = fields.get("tags")
    return tags if isinstance(tags, dict) else {}


def _addresses(value: Any) -> list[tuple[str, str]]:
    entries = [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
    pairs = [(entry.get("type"), entry.get("address")) for entry in entries]
    return [(kind, address) for kind, address in pairs if isinstance(kind, str) and isinstance(address, str)]
