"""The calls of the cloud's API, one method each. Reads may be stale; changes and idempotency keys are not."""

import json
from collections.abc import Callable
from typing import Any, TypeVar

from machinist_sdk.driver import Attempt, Failure, Host, HttpRequest, NoAnswer, escaped
from sim_driver.answer import CLUSTER_TAG, UID_TAG, NotOne, SimPage, SimVm, SimVolume, Size
from sim_driver.endpoint import Endpoint
from sim_driver.refusal import NOT_FOUND, refusal

# The key of the Secret with the API token.
TOKEN_KEY = "token"
# Entries of one page: with every tag at its maximum length, a page stays below the host's limit of 4 MiB.
PAGE_ENTRIES = 200
# Pages of one search. No machine has this many VMs: a cloud that returns more pages is broken.
PAGES = 100

_STATES = "state=pending&state=running&state=stopping"

Entry = TypeVar("Entry")


class Cloud:
    """The cloud's API, as one account sees it."""

    def __init__(self, host: Host, endpoint: Endpoint, authorization: str) -> None:
        self._host = host
        self._endpoint = endpoint
        self._authorization = authorization

    @staticmethod
    def open(host: Host) -> "Cloud":
        """Reads the settings and gets a placeholder for the token."""
        endpoint = Endpoint.of_settings(host.settings)
        token = host.secrets.needed(TOKEN_KEY, "the cloud's API token")
        return Cloud(host, endpoint, f"Bearer {token.placeholder()}")

    def create(self, body: dict[str, Any], idempotency_key: str) -> SimVm:
        """Creates a VM, or returns the one that was created with the key."""
        attempt = self._change("create the VM")
        answer = self._send(attempt, "POST", "/v1/vms", body, {"idempotency-key": idempotency_key})
        return _parsed(attempt, answer)

    def get(self, id: str) -> SimVm | None:
        """Returns a VM. `None`: there is no such VM, or reads do not show it yet."""
        attempt = self._read("read the VM")
        answer = self._unless_absent(attempt, "GET", f"/v1/vms/{escaped(id)}")
        return None if answer is None else _parsed(attempt, answer)

    def initialize(self, id: str) -> SimVm | None:
        """Completes the VM. May be repeated. `None`: there is no such VM."""
        attempt = self._change("initialize the VM")
        target = f"/v1/vms/{escaped(id)}/initialize"
        answer = self._unless_absent(attempt, "POST", target, {"sourceDestCheck": False})
        return None if answer is None else _parsed(attempt, answer)

    def reboot(self, id: str) -> bool:
        """Restarts the VM. False: there is no such VM."""
        attempt = self._change("reboot the VM")
        return self._unless_absent(attempt, "POST", f"/v1/vms/{escaped(id)}/reboot") is not None

    def delete(self, id: str) -> None:
        """Deletes the VM. If it does not exist, that is success."""
        self._unless_absent(self._change("delete the VM"), "DELETE", f"/v1/vms/{escaped(id)}")

    def delete_volume(self, id: str) -> None:
        """Deletes the volume. If it does not exist, that is success."""
        self._unless_absent(self._change("delete the machine's volume"), "DELETE", f"/v1/volumes/{escaped(id)}")

    def page(self, cluster: str, cursor: str | None) -> SimPage[SimVm]:
        """Returns one page of the cluster's VMs that exist.

        A repeated cursor is an error: the listing would never end.
        """
        attempt = self._read("list VMs")
        target = f"/v1/vms?tag={CLUSTER_TAG}:{escaped(cluster)}&{_STATES}"
        page = self._page(attempt, target, cursor, "vms", SimVm.parse)
        if page.next is not None and page.next == cursor:
            raise attempt.unexpected("repeats a cursor of its listing")
        return page

    def find(self, cluster: str, uid: str) -> list[SimVm]:
        """Returns the VMs of the cluster that exist and have this uid."""
        target = f"/v1/vms?{_marks(cluster, uid)}&{_STATES}"
        vms = self._all(self._read("look for the VM"), target, "vms", SimVm.parse)
        # The cloud filters; a VM that passes wrongly is still not ours.
        return [vm for vm in vms if vm.exists and vm.is_of(cluster) and vm.tag(UID_TAG) == uid]

    def volumes(self, cluster: str, uid: str) -> list[SimVolume]:
        """Returns the volumes of the cluster with this uid."""
        target = f"/v1/volumes?{_marks(cluster, uid)}"
        volumes = self._all(self._read("look for the machine's volumes"), target, "volumes", SimVolume.parse)
        return [volume for volume in volumes if volume.is_of(cluster, uid)]

    def size(self, kind: str) -> Size | None:
        """Returns the size of a type of VMs. `None`: there is no such type."""
        attempt = self._read("read the types of VMs")
        answer = self._send(attempt, "GET", "/v1/regions")
        try:
            return Size.of(kind, answer)
        except NotOne:
            raise attempt.unexpected("has no types with cpus and memoryGib") from None

    def _read(self, doing: str) -> Attempt:
        return Attempt(doing, self._endpoint.host, changes=False)

    def _change(self, doing: str) -> Attempt:
        return Attempt(doing, self._endpoint.host, changes=True)

    def _send(
        self, attempt: Attempt, method: str, target: str, body: Any = None, more_headers: dict[str, str] | None = None
    ) -> Any:
        """Returns the body of a success."""
        headers = {"accept": "application/json", "authorization": self._authorization, **(more_headers or {})}
        content = None
        if body is not None:
            headers["content-type"] = "application/json"
            content = json.dumps(body).encode()
        try:
            answer = self._host.send(HttpRequest(method, self._endpoint.base + target, headers, content))
        except NoAnswer as error:
            raise attempt.no_answer(error) from error
        if answer.is_html:
            raise attempt.foreign(answer, "an HTML page")
        if not answer.is_success:
            raise refusal(attempt, answer) or attempt.foreign(answer, "something that is not the cloud's")
        return attempt.json(answer)

    def _page(
        self, attempt: Attempt, target: str, cursor: str | None, field: str, parse: Callable[[Any], Entry]
    ) -> SimPage[Entry]:
        at = f"&cursor={escaped(cursor)}" if cursor is not None else ""
        answer = self._send(attempt, "GET", f"{target}&limit={PAGE_ENTRIES}{at}")
        try:
            return SimPage.parse(answer, field, parse)
        except NotOne:
            raise attempt.unexpected("is not a listing") from None

    def _all(self, attempt: Attempt, target: str, field: str, parse: Callable[[Any], Entry]) -> list[Entry]:
        entries: list[Entry] = []
        cursors: list[str | None] = [None]
        while len(cursors) <= PAGES:
            page = self._page(attempt, target, cursors[-1], field, parse)
            entries += page.entries
            if page.next is None:
                return entries
            if page.next in cursors:
                raise attempt.unexpected("repeats a cursor of its listing")
            cursors.append(page.next)
        raise attempt.unexpected("is a listing without end")

    def _unless_absent(self, attempt: Attempt, method: str, target: str, body: Any = None) -> Any:
        """Only the cloud's own `not_found` is an answer: `None`."""
        try:
            value = self._send(attempt, method, target, body)
        except Failure as failure:
            if failure.cloud_code == NOT_FOUND:
                return None
            raise
        # A success without a value is not `None`.
        return {} if value is None else value


def _parsed(attempt: Attempt, answer: Any) -> SimVm:
    try:
        return SimVm.parse(answer)
    except NotOne:
        raise attempt.unexpected("lacks a field that its kind of object always has") from None


def _marks(cluster: str, uid: str) -> str:
    return f"tag={CLUSTER_TAG}:{escaped(cluster)}&tag={UID_TAG}:{escaped(uid)}"
