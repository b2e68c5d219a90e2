"""The simulated cloud as far as the driver's tests need it: VMs, their volumes, keys, tags, pages, and faults."""

import copy
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from machinist_sdk.driver import HttpAnswer, HttpRequest, NoAnswerReason
from machinist_sdk.testing.driver import json_answer

TYPES = {
    "sim.small": {"cpus": 2, "memoryGib": 4, "gpus": 0},
    "sim.gpu": {"cpus": 8, "memoryGib": 64, "gpus": 1},
}
TOKEN = "sim-token"
READ_TOKEN = "sim-read-token"
CREATED = "2026-01-02T03:04:05.678Z"

# Replaces an answer. The fake may do the work before or not.
Fault = Callable[[Callable[[], HttpAnswer]], HttpAnswer | NoAnswerReason]


class Refused(Exception):
    """An error in the API's own form."""

    def __init__(self, status: int, code: str, **headers: str) -> None:
        super().__init__(code)
        self.status = status
        self.code = code
        self.headers = headers


class FakeCloud:
    """Answers requests by `tests/clouds/simcloud/API.md`. Without a clock: the test calls `lag` and `complete`."""

    def __init__(self) -> None:
        self.vms: dict[str, dict[str, Any]] = {}
        self.volumes: dict[str, dict[str, Any]] = {}
        self.user_data: dict[str, str | None] = {}
        self.full_zones: set[str] = set()
        # Ids of VMs that reads do not show yet.
        self.hidden: set[str] = set()
        self.faults: dict[tuple[str, str], Fault] = {}
        self._keys: dict[str, tuple[str, str]] = {}
        self._made = 0

    def __call__(self, request: HttpRequest) -> HttpAnswer | NoAnswerReason:
        parts = urlsplit(request.url)
        fault = self.faults.get((request.method, self._shape(parts.path)))
        if fault is None:
            return self._answer(request, parts.path, parts.query)
        return fault(lambda: self._answer(request, parts.path, parts.query))

    def fault(self, method: str, path: str, fault: Fault) -> None:
        """Sets a fault for this method and path, in which `*` matches an id."""
        self.faults[method, path] = fault

    def live(self) -> list[dict[str, Any]]:
        """Returns the VMs that are not being deleted."""
        return [vm for vm in self.vms.values() if vm["state"] in ("pending", "running")]

    def complete(self) -> None:
        """Lets all VMs boot or shut down, and reads show everything."""
        self.hidden.clear()
        for vm in self.vms.values():
            vm["state"] = {"pending": "running", "stopping": "terminated"}.get(vm["state"], vm["state"])
        gone = {vm["id"] for vm in self.vms.values() if vm["state"] == "terminated"}
        self.volumes = {id: volume for id, volume in self.volumes.items() if volume.get("attachedTo") not in gone}

    def add_volume(self, name: str, tags: dict[str, str]) -> None:
        """Adds a volume without a VM."""
        self.volumes[name] = {"id": name, "tags": tags}

    def kill(self, id: str) -> None:
        self.vms[id]["state"] = "terminated"

    @staticmethod
    def _shape(path: str) -> str:
        segments = path.split("/")
        return "/".join("*" if index == 3 else segment for index, segment in enumerate(segments))

    def _answer(self, request: HttpRequest, path: str, query: str) -> HttpAnswer:
        headers = {name.lower(): value for name, value in request.headers.items()}
        body = json.loads(request.body) if request.body else {}
        try:
            self._authorize(headers.get("authorization"), request.method)
            return self._route(request.method, [unquote(part) for part in path.split("/")[2:]], query, headers, body)
        except Refused as refused:
            error = {"code": refused.code, "message": "because", "requestId": "req-1"}
            return json_answer(refused.status, error, **refused.headers)

    @staticmethod
    def _authorize(authorization: str | None, method: str) -> None:
        if authorization not in (f"Bearer {TOKEN}", f"Bearer {READ_TOKEN}"):
            raise Refused(401, "unauthorized")
        if method != "GET" and authorization.endswith(READ_TOKEN):
            raise Refused(403, "forbidden")

    def _route(
        self, method: str, path: list[str], query: str, headers: dict[str, str], body: dict[str, Any]
    ) -> HttpAnswer:
        match method, path:
            case "POST", ["vms"]:
                return self._create(body, headers.get("idempotency-key"))
            case "GET", ["regions"]:
                return json_answer(200, {"types": TYPES})
            case "GET", ["vms"]:
                return json_answer(200, self._page("vms", list(self.vms.values()), query))
            case "GET", ["vms", id] if id not in self.hidden:
                return json_answer(200, self._vm(id))
            case "DELETE", ["vms", id]:
                if self._vm(id)["state"] != "terminated":
                    self._vm(id)["state"] = "stopping"
                return json_answer(202, self._vm(id))
            case "POST", ["vms", id, "initialize"]:
                self._vm(id).update(initialized=True, sourceDestCheck=body["sourceDestCheck"])
                return json_answer(200, self._vm(id))
            case "POST", ["vms", id, "reboot"]:
                self._vm(id)["bootId"] += 1
                return json_answer(202, self._vm(id))
            case "GET", ["volumes"]:
                return json_answer(200, self._page("volumes", list(self.volumes.values()), query))
            case "DELETE", ["volumes", id]:
                self.volumes.pop(id)
                return json_answer(202, {})
        raise Refused(404, "not_found")

    def _vm(self, id: str) -> dict[str, Any]:
        if id not in self.vms:
            raise Refused(404, "not_found")
        return self.vms[id]

    def _create(self, body: dict[str, Any], key: str | None) -> HttpAnswer:
        text = json.dumps(body, sort_keys=True)
        if key is not None and key in self._keys:
            id, of_before = self._keys[key]
            if of_before != text:
                raise Refused(409, "idempotency_mismatch")
            if self.vms[id]["state"] in ("stopping", "terminated"):
                raise Refused(410, "idempotency_gone")
            return json_answer(200, self.vms[id])
        if body["zone"] in self.full_zones:
            raise Refused(409, "capacity_exhausted")
        vm = self._make(body)
        if key is not None:
            self._keys[key] = (vm["id"], text)
        return json_answer(201, vm)

    def _make(self, body: dict[str, Any]) -> dict[str, Any]:
        self._made += 1
        id = f"vm-{self._made:016x}"
        for index, _ in enumerate(body.get("volumes", [])):
            name = f"vol-{self._made:x}-{index}"
            self.volumes[name] = {"id": name, "tags": body["tags"], "attachedTo": id}
        address = {"type": "InternalIP", "address": "10.0.0.1"}
        vm = {
            **{field: copy.deepcopy(body[field]) for field in ("name", "zone", "type", "image", "tags")},
            "id": id, "state": "pending", "addresses": [address], "bootId": 1, "created": CREATED,
            "sourceDestCheck": True, "initialized": not body.get("needsInitialize", False),
        }
        self.user_data[id] = body.get("userData")
        self.vms[id] = vm
        return vm

    def _page(self, kind: str, objects: list[dict[str, Any]], query: str) -> dict[str, Any]:
        fields = parse_qsl(query)
        asked = dict(fields)
        tags = [value.split(":", 1) for name, value in fields if name == "tag"]
        states = [value for name, value in fields if name == "state"]
        fitting = [
            each
            for each in objects
            if each["id"] not in self.hidden
            and all(each["tags"].get(key) == value for key, value in tags)
            and (not states or each["state"] in states)
        ]
        start, limit = int(asked.get("cursor", 0)), int(asked["limit"])
        page: dict[str, Any] = {kind: fitting[start : start + limit]}
        if start + limit < len(fitting):
            page["nextCursor"] = str(start + limit)
        return page
