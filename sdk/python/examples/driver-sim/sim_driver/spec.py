"""The fields of a class."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from machinist_sdk.driver import Class, Failure, invalid
from machinist_sdk.text import NotJson, quoted, read_json
from sim_driver.answer import CLUSTER_TAG, NAME_TAG, UID_TAG
from sim_driver.fields import Fields

# JSON Schema of `providerSpec`, for `describe`. Read while the component is built: later there are no files.
SCHEMA = Path(__file__).with_name("class-schema.json").read_text()

_FIELDS = ("zone", "type", "image", "tags", "volumes", "initialize", "interruptible")
_VOLUME_FIELDS = ("sizeGib", "name")
_OWN_TAGS = (CLUSTER_TAG, UID_TAG, NAME_TAG)
# The cloud allows 50 tags; the driver needs some of them.
_MOST_TAGS = 50 - len(_OWN_TAGS)
_TAG_KEY_BYTES = 128
_TAG_VALUE_BYTES = 256
_MOST_GIB = 2**64 - 1


@dataclass(frozen=True)
class VolumeSpec:
    """A volume that is created with the VM and deleted with it."""

    size_gib: int
    name: str | None = None

    def body(self) -> dict[str, Any]:
        return {"sizeGib": self.size_gib} | ({} if self.name is None else {"name": self.name})


@dataclass(frozen=True)
class Spec:
    """The properties of a VM."""

    # At least one, best first.
    zones: list[str]
    kind: str
    image: str
    tags: dict[str, str] = field(default_factory=dict)
    volumes: list[VolumeSpec] = field(default_factory=list)
    # True if `initialize` completes the VM.
    initialize: bool = False
    # True if the VM may be taken away at any time. The driver only reports it.
    interruptible: bool = False

    def body(self, name: str, zone: str, own_tags: dict[str, str], user_data: str | None) -> dict[str, Any]:
        """Returns the body of a create. The same class, machine and user data always give the same body."""
        body: dict[str, Any] = {"name": name, "zone": zone, "type": self.kind, "image": self.image}
        body["tags"] = dict(sorted((self.tags | own_tags).items()))
        if user_data is not None:
            body["userData"] = user_data
        if self.volumes:
            body["volumes"] = [volume.body() for volume in self.volumes]
        if self.initialize:
            body["needsInitialize"] = True
        return body


@dataclass(frozen=True)
class Read:
    """A class, and warnings about it."""

    spec: Spec
    warnings: list[str]


def read(class_: Class) -> Read:
    """Reads a class. Unknown fields cause a warning, and null counts as absent."""
    root = _root(class_)
    zones = _zones(root, class_.zones)
    volumes, of_volumes = _volumes(root)
    spec = Spec(
        zones=zones,
        kind=root.needed_text("type"),
        image=root.needed_text("image"),
        tags=_tags(root),
        volumes=volumes,
        initialize=_flag(root, "initialize"),
        interruptible=_flag(root, "interruptible"),
    )
    return Read(spec, root.unknown(_FIELDS) + of_volumes)


def placed(class_: Class, zone: str) -> str:
    """Returns the `providerSpec` of a class in this zone and no other."""
    read(replace(class_, zones=[zone]))
    return json.dumps(_root(class_).fields | {"zone": zone})


def asks_for_initialize(class_: Class) -> bool:
    """Reads the only field that matters once the VM exists. An unreadable class asks for nothing."""
    try:
        return _flag(_root(class_), "initialize")
    except Failure:
        return False


def _root(class_: Class) -> Fields:
    try:
        value = read_json(class_.spec)
    except NotJson as error:
        raise invalid(f"providerSpec is not JSON (line {error.line}, column {error.column})") from None
    if value is not None and not isinstance(value, dict):
        raise invalid("providerSpec must be an object")
    return Fields("providerSpec", value or {})


def _zones(root: Fields, alternatives: Sequence[str]) -> list[str]:
    first = root.text("zone")
    zones = list(dict.fromkeys(zone for zone in [first, *alternatives] if zone))
    if not zones:
        raise root.invalid("zone", "is required")
    return zones


def _flag(root: Fields, name: str) -> bool:
    value = root.get(name)
    if value is not None and not isinstance(value, bool):
        raise root.unfit(name, "true or false", value)
    return value is True


def _tags(root: Fields) -> dict[str, str]:
    tags = root.get("tags")
    if tags is None:
        return {}
    if not isinstance(tags, dict):
        raise root.unfit("tags", "an object of texts", tags)
    if len(tags) > _MOST_TAGS:
        raise root.invalid("tags", f"has {len(tags)} entries: at most {_MOST_TAGS} fit")
    for key, value in tags.items():
        at = f'tags["{quoted(key)}"]'
        if key in _OWN_TAGS:
            raise root.invalid(at, "is set by the driver: use another key")
        if not 1 <= len(key.encode()) <= _TAG_KEY_BYTES or ":" in key:
            raise root.invalid(at, f"must have a key of 1 to {_TAG_KEY_BYTES} bytes without a colon")
        if not isinstance(value, str) or len(value.encode()) > _TAG_VALUE_BYTES:
            raise root.unfit(at, f"a text of at most {_TAG_VALUE_BYTES} bytes", value)
    return tags


def _volumes(root: Fields) -> tuple[list[VolumeSpec], list[str]]:
    entries = root.get("volumes")
    if entries is None:
        return [], []
    if not isinstance(entries, list):
        raise root.unfit("volumes", "a list", entries)
    volumes: list[VolumeSpec] = []
    warnings: list[str] = []
    for index, entry in enumerate(entries):
        fields = root.inside(f"volumes[{index}]", entry)
        volumes.append(VolumeSpec(_size(fields), fields.text("name")))
        warnings += fields.unknown(_VOLUME_FIELDS)
    return volumes, warnings


def _size(fields: Fields) -> int:
    size = fields.get("sizeGib")
    if size is None:
        raise fields.invalid("sizeGib", "is required")
    # True is a number for Python, and none for JSON.
    if type(size) is not int or not 1 <= size <= _MOST_GIB:
        raise fields.unfit("sizeGib", "a whole number from 1 on", size)
    return size
